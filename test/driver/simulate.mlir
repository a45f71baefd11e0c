// --simulate: how long the program takes, from sizes alone.
// RUN: pyptoc %s --simulate --bind=n=64 | filecheck %s
// RUN: pyptoc %s --simulate=json --bind=n=64 --machine=ascend910b | filecheck %s --check-prefix=JSON
// RUN: pyptoc %s --simulate --bind=n=64 -o %t.mlir | filecheck %s
// RUN: pyptoc %t.mlir --simulate --bind=n=64 | filecheck %s
// RUN: not pyptoc %s --simulate 2>&1 | filecheck %s --check-prefix=SIZES
// RUN: not pyptoc %s --simulate --compile-to=tasks --bind=n=64 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not pyptoc %s --simulate --run --bind=n=64 2>&1 | filecheck %s --check-prefix=BOTH

// CHECK: ascend950, 32 cube + 64 vector cores, 1.65 GHz   modelled, not measured (calibration: docs/timing.md)
// CHECK-NEXT: total {{ *}}[[#]].{{[0-9]+}} us   bound: dispatch (at least 8.0 us)   launch 8.0 us
// CHECK-NEXT: tag {{ *}} kernel {{ *}} launches  tasks  cores  waves  time us  bound {{ *}} mte2 %  v % {{ *}} mte3 %  read MB  write MB  L2 hit
// CHECK-NEXT: scale {{ *}} scale_0
// CHECK-NEXT: moved     HBM read 32.77 KB, written 0 B and 32.77 KB left in L2 = 1.00 x compulsory   workspace 0 B
// CHECK-NEXT: roofs     dispatch {{[0-9]+}} %
// CHECK-NEXT: limited   {{[0-9]+}} % of the HBM roof: dispatch; scale_0 takes 100 % in 1 launch on 1 core, {{mte[23]|v}} busy {{[0-9]+}} %
// CHECK-NEXT: path      load {{.*}} -> mul {{[0-9]+}} (scale {{.*}}:[[#]]:[[#]]) -> store {{.*}} cycles
// CHECK-NOT: {{.}}

// JSON: "operator": "scale",
// JSON-NEXT: "machine": "ascend910b",
// JSON-NEXT: "seconds":
// JSON: "bound": "dispatch",
// JSON: "hbm_read": 32768

// SIZES: error[PTO503]: sizes to choose: n
// LEVEL: error[PTO290]: there are no kernels to simulate
// BOTH: error[PTO500]: --run and --simulate exclude each other
func.func @scale(%x: tensor<?x128xf32> {pypto.dims = ["n"]}) -> tensor<?x128xf32> {
  %y = pypto.mul %x, 2.0 {tag = "scale"}
  func.return %y : tensor<?x128xf32>
}
