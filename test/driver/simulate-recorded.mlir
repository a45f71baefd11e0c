// --simulate where kernels compute sizes: with data the program is run once.
// RUN: pyptoc %s --simulate --random-inputs=1 --bind=t=6 | filecheck %s
// RUN: pyptoc @grouped_matmul_swiglu_quant_loop --simulate --case=given | filecheck %s --check-prefix=CASE
// RUN: pyptoc %s --sweep=bind.t=4,6 --random-inputs=1 | filecheck %s --check-prefix=SWEEP
// RUN: pyptoc %s --write-inputs %t.npz --random-inputs=1 --bind=t=6
// RUN: pyptoc %s --simulate --inputs %t.npz --trace %t.json --report %t.html | filecheck %s --check-prefix=FILE
// RUN: filecheck %s --input-file %t.json --check-prefix=TRACE
// RUN: filecheck %s --input-file %t.html --check-prefix=REPORT
// RUN: pyptoc %s --explore %t.html --random-inputs=1 --bind=t=6 -o -
// RUN: filecheck %s --input-file %t.html --check-prefix=EXPLORE
// RUN: not pyptoc %s --simulate --case=six 2>&1 | filecheck %s --check-prefix=SIZES
// RUN: not pyptoc %s --sweep=bind.t=4,6 2>&1 | filecheck %s --check-prefix=SIZES
// RUN: not pyptoc %s --check --case=six 2>&1 | filecheck %s --check-prefix=CHECKED
// RUN: pyptoc %s --run --check --case=six --random-inputs=1

module attributes {pypto.cases = {six = {t = 6}}} {
  func.func @f(
      %keep: tensor<?xi32> {pypto.dims = ["t"], pypto.data = #pypto.data<integer 1 to 2>},
      %x: tensor<?x64xf32> {pypto.dims = ["t"]})
      -> (tensor<?x64xf32> {pypto.name = "y"})
      attributes {pypto.tiles = #pypto.tiles<vec = [2, 64]>} {
    %n = pypto.cumsum %keep axis 0
    %k = pypto.read %n[3]
    %v = pypto.view %x[0 +: %k, :]
    %y = pypto.exp %v {tag = "exp"}
    func.return %y : tensor<?x64xf32>
  }
}

// CHECK: {{exp +exp_2 +1 +2 }}
// CHECK: assumed   values of keep, x are made up
// CHECK-NEXT: recorded  values of %n are from a run of the program

// CASE: total
// CASE: recorded  values of %end are from a run of the program
// CASE-NOT: assumed

// SWEEP: assumed   values of keep, x are made up
// SWEEP-NEXT: recorded  values of %n are from runs of the program

// FILE-NOT: assumed
// FILE: recorded  values of %n are from a run of the program
// TRACE: "recorded": "%n"
// REPORT: Values of %n are from a run of the program.
// EXPLORE: "recorded":["%n"]

// SIZES: :[[#]]:10: error[PTO503]: a size or offset comes from %n, which a kernel computes
// SIZES: rule: only a run tells what that is, and a run needs all inputs
// SIZES-NEXT: here: not given: 'keep', 'x'
// SIZES-NEXT: help: give them with --inputs=F.npz or --case=NAME, or make them up with --random-inputs=1

// CHECKED: error[PTO503]: a size or offset comes from %n, which a kernel computes
// CHECKED: help: --run --check checks a run
