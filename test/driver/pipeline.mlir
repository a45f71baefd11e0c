// Pipelines: none, some passes, two halves piped together, and what is wrong with one.
// RUN: pyptoc %s --pipeline= | filecheck %s --check-prefixes=ALL,SOURCE
// RUN: pyptoc %s --compile-to=tensor | filecheck %s --check-prefixes=ALL,SOURCE
// RUN: pyptoc %s --pipeline=inline,desugar | filecheck %s --check-prefixes=ALL,DONE
// RUN: pyptoc %s --pipeline=inline | pyptoc - --pipeline=desugar | filecheck %s --check-prefixes=ALL,DONE
// RUN: pyptoc %s --pipeline=inline --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: not pyptoc %s --pipeline=desuger 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not pyptoc %s --pipeline='inline{deep=true}' 2>&1 | filecheck %s --check-prefix=OPTION

// ALL-LABEL: func.func @sum
// SOURCE: pypto.for
// DONE-NOT: pypto.for
// DONE: scf.for

// DUMP: {{^}}inline{{$}}
// DUMP-NEXT: builtin.module

// UNKNOWN: {{^}}error[PTO504]: unknown pass 'desuger'
// UNKNOWN-NEXT: help: did you mean desugar?

// OPTION: error[PTO504]: pass 'inline' has no option 'deep'

func.func @sum(%x: tensor<100x8xf32>) -> tensor<1x8xf32> {
  %zero = pypto.full 0.0[1, 8] : tensor<1x8xf32>
  %sum = pypto.for (%i = 0 to 100 step 1) iter(%s = %zero) {
    %row = pypto.view %x[%i +: 1, :]
    %next = pypto.add %s, %row
    pypto.yield %next
  }
  func.return %sum : tensor<1x8xf32>
}
