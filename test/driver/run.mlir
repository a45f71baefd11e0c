// --run: inputs made up or bound, results written and compared.
// RUN: pyptoc %s --run --compile-to=tensor --random-inputs=3 --bind=n=2 --outputs %t.npz | filecheck %s
// RUN: pyptoc %s --run --compile-to=tensor --random-inputs=3 --bind=n=2 --expect %t.npz | filecheck %s --check-prefix=PASS
// RUN: not pyptoc %s --run --compile-to=tensor --random-inputs=4 --bind=n=2 --expect %t.npz 2>&1 | filecheck %s --check-prefix=FAIL
// RUN: pyptoc %s --run --compile-to=tensor --random-inputs=4 --bind=n=2 --expect %t.npz --tol y=100 | filecheck %s --check-prefix=LOOSE
// RUN: pyptoc %s --run --compile-to=tensor --bind='x=[[1,2,3,-inf]],factor=2' | filecheck %s --check-prefix=BOUND
// RUN: not pyptoc %s --run --compile-to=tensor --random-inputs=3 2>&1 | filecheck %s --check-prefix=SIZES
// RUN: not pyptoc %s --run --compile-to=tensor 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: pyptoc %s --describe | filecheck %s --check-prefix=DESCRIBE

// CHECK: compiled  scale  for ascend950 {{.*}} interpreted at the tensor level
// CHECK-NEXT: inputs    x f32[2,4]  factor f32 0.5   seed 3
// CHECK-NEXT: run
// CHECK-NEXT: outputs   {{.*}}.npz{{$}}
// CHECK-NEXT: result  type {{ *}} min {{ *}} max {{ *}} mean
// CHECK-NEXT: y       f32[2,4]

// PASS: y       f32[2,4]  |d| <= 1e-05 + 1e-05*|ref|  - {{ *}} 100.00 %  ok
// PASS-NEXT: {{^}}PASS{{$}}

// FAIL: y       f32[2,4] {{.*}} at [{{[01]}}, {{[0-3]}}] (got {{.*}}, ref {{.*}}) {{.*}} FAIL
// FAIL-NEXT: {{^}}FAIL{{$}}
// FAIL-NEXT: help: --check-each names a pass that changes results

// LOOSE: |d| <= 100
// LOOSE: {{^}}PASS{{$}}

// BOUND: inputs    x f32[1,4]  factor f32 2
// BOUND: y       f32[1,4]  2    6    4   (1 not finite)

// SIZES: error[PTO503]: sizes to choose: n
// SIZES: help: --bind=n=4

// MISSING: error[PTO501]: inputs: missing: 'x'
// MISSING: here: %x is tensor<?x4xf32>

// DESCRIBE: {{^}}@scale
// DESCRIBE: x         tensor<?x4xf32>  n      uniform -1 to 1
// DESCRIBE-NEXT: factor    f32              -      default 0.5
// DESCRIBE: y       tensor<?x4xf32>  |d| <= 1e-05 + 1e-05*|ref|
// DESCRIBE: sizes to bind: n
// DESCRIBE-NEXT: try: pyptoc {{.*}}run.mlir --run --random-inputs=1 --bind=n=4

func.func @scale(%x: tensor<?x4xf32> {pypto.dims = ["n"]},
                 %factor: f32 {pypto.default = 0.5 : f32})
    -> (tensor<?x4xf32> {pypto.name = "y"}) {
  %y = pypto.mul %x, %factor
  func.return %y : tensor<?x4xf32>
}
