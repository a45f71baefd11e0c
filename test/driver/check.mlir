// What hardware would corrupt or hang on is an error: on a run, or for sizes alone.

// RUN: pyptoc %s --check | filecheck %s
// RUN: pyptoc %s --check=trips | filecheck %s --check-prefix=TRIPS
// RUN: pyptoc %s --run --check --random-inputs=1 | filecheck %s --check-prefix=DONE
// RUN: pyptoc %s --run --check --seed=3 --random-inputs=1 | filecheck %s --check-prefix=DONE
// RUN: pyptoc %s --run --check=nan --random-inputs=1 | filecheck %s --check-prefix=NAN
// RUN: pyptoc %s --run --check=overflow --random-inputs=1 | filecheck %s --check-prefix=OVERFLOW
// RUN: not pyptoc %s --seed=3 --run 2>&1 | filecheck %s --check-prefix=SEED
// RUN: not pyptoc %s --compile-to=tensor --run --check --random-inputs=1 2>&1 | filecheck %s --check-prefix=LEVEL

// CHECK: compiled  f  for ascend950
// CHECK-NEXT: check {{.*}} hazards checked: 0 races, 0 uninitialised, 0 out of bounds
// CHECK-SAME: (1 launch, 2 tasks of 1 kind)
// TRIPS: hazards checked
// TRIPS-SAME: and at 0 other sizes
// DONE: run {{.*}} hazards checked: 0 races
// DONE-NOT: made
// DONE: result0
// NAN: run {{.*}} hazards checked: 0 races{{.*}}; 0 NaN, 0 infinities made
// OVERFLOW: run {{.*}} hazards checked: 0 races{{.*}}; 0 casts saturated
// SEED: --seed needs --run --check
// LEVEL: error[PTO290]: there are no kernels to check

func.func @f(%x: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %y = pypto.exp %x {tile = #pypto.vec<8, 64>}
  func.return %y : tensor<16x64xf32>
}
