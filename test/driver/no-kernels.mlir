// A program that only returns what it is given, and counts, needs no kernels.
// RUN: pyptoc %s --run --check --random-inputs=1 --bind=n=3 | filecheck %s
// RUN: pyptoc %s --check --bind=n=3 | filecheck %s
// RUN: pyptoc %s --simulate --bind=n=3 | filecheck %s --check-prefix=TIME
// RUN: not pyptoc %s --check --bind=n=3 --compile-to=tensor 2>&1 | filecheck %s --check-prefix=TENSORS
// RUN: not pyptoc %s --run --check --random-inputs=1 --bind=n=3 --compile-to=tensor 2>&1 | filecheck %s --check-prefix=TENSORS

// CHECK: compiled  f  for ascend950 {{.*}} no kernels
// CHECK: hazards checked: 0 races, 0 uninitialised, 0 out of bounds   (0 launches, 0 tasks of 0 kinds)
// TIME: total     8.0 us   bound: dispatch
// TENSORS: error[PTO290]: there are no kernels to
func.func @f(%x: tensor<4x8xf32>, %n: index)
    -> (tensor<4x8xf32> {pypto.name = "y"}, index {pypto.name = "k"}) {
  %c0 = arith.constant 0 : index
  %r, %k = pypto.for (%i = 0 to %n) iter(%a = %x, %s = %c0) {
    %t = pypto.index %s + %i
    pypto.yield %a, %t
  }
  func.return %r, %k : tensor<4x8xf32>, index
}
