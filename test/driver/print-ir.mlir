// Dumps go to standard error, in the order in which the passes run.
// RUN: pyptoc %s --pipeline=inline,desugar --print-ir-after-all 2>&1 >%t.out | filecheck %s --check-prefix=AFTER
// RUN: filecheck %s --input-file=%t.out --check-prefix=OUT
// RUN: pyptoc %s --pipeline=inline,desugar --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: pyptoc %s --pipeline=inline,desugar --print-ir-before=desugar 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: pyptoc %s --pipeline=inline,desugar --print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: pyptoc %s --pipeline=inline,desugar --print-ir-tree-dir=%t.dir
// RUN: filecheck %s --input-file=%t.dir/00_source.mlir --check-prefix=TREE0
// RUN: filecheck %s --input-file=%t.dir/01_inline.mlir --check-prefix=TREE1
// RUN: filecheck %s --input-file=%t.dir/02_desugar.mlir --check-prefix=TREE1
// RUN: not pyptoc %s --pipeline=inline --print-ir-after=desugar 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: not pyptoc %s --pipeline=inline --print-ir-after=tile 2>&1 | filecheck %s --check-prefix=OTHER

// AFTER: // -----// IR Dump After inline //----- //
// AFTER-NOT: call @helper
// AFTER: // -----// IR Dump After desugar //----- //

// OUT-NOT: IR Dump
// OUT: pypto.exp

// BEFORE-NOT: After
// BEFORE: // -----// IR Dump Before desugar //----- //
// BEFORE-NOT: IR Dump

// CHANGE: // -----// IR Dump After inline //----- //
// CHANGE-NOT: IR Dump

// TREE0: call @helper
// TREE1: func.func @f
// TREE1-NOT: call @helper

// ABSENT: error[PTO500]: --print-ir-after: no pass 'desugar' in the pipeline

// A pass that there is was not meant to be another one.
// OTHER: no pass 'tile' in the pipeline
// OTHER-NEXT: help: its passes: inline

func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<4xf32>
}

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @helper(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
