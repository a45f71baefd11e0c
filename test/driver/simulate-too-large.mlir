// RUN: not pyptoc %s --simulate --bind=M=8589934592 2>&1 | filecheck %s
// RUN: pyptoc %s --simulate --bind=M=4

// Sizes whose tasks do not fit this computer's memory are refused before they are placed.
func.func @f(%x: tensor<?x8xf32> {pypto.dims = ["M"]}) -> tensor<?x8xf32> {
  %z = pypto.softmax %x axis -1
  func.return %z : tensor<?x8xf32>
}
// CHECK: {{.*}}:6:8: error[PTO507]: too many tasks to simulate
// CHECK: rule: at most 8388608 tasks (2^23) of all launches together, a launch counts for 256 or more
// CHECK-NEXT: here: {{[0-9]+}} with launch 1, of {{[0-9]+}}
