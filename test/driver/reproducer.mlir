// A pass that rejects its input leaves a file that runs itself.
// RUN: not pyptoc %s --machine=ascend910b --pipeline=decompose,tile,schedule --mlir-pass-pipeline-crash-reproducer=%t.mlir --mlir-pass-pipeline-local-reproducer --mlir-disable-threading 2>&1 | filecheck %s --check-prefix=ERROR
// RUN: filecheck %s --input-file=%t.mlir --check-prefix=FILE
// RUN: not pyptoc %t.mlir --run-reproducer --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not pyptoc %s --run-reproducer 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not pyptoc %t.mlir --run-reproducer --pipeline=inline 2>&1 | filecheck %s --check-prefix=TWO
// RUN: not pyptoc %t.mlir --run-reproducer --tile 2>&1 | filecheck %s --check-prefix=TWO

// ERROR: error[PTO504]: 'pypto.exp' has no tile yet
// ERROR: note: {{.*}}.mlir holds the IR before the pass: pyptoc {{.*}}.mlir --run-reproducer
// FILE: {{^}}// configuration: --machine=ascend910b --pipeline=tile,schedule{{$}}
// FILE-NEXT: builtin.module
// AGAIN: {{^}}tile,schedule{{$}}
// AGAIN-NEXT: {{.*}}error[PTO504]: 'pypto.exp' has no tile yet
// NONE: error[PTO500]: {{.*}}reproducer.mlir has no line '// configuration: ..'
// TWO: --run-reproducer and --pipeline exclude each other

func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = pypto.exp %x {npu.group = 0 : i64, npu.unit = "vector"}
  func.return %y : tensor<4x64xf32>
}
