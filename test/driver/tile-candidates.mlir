// RUN: pyptoc %s --print-tile-candidates --machine=ascend910b | filecheck %s
// RUN: pyptoc %s --print-tile-candidates --run --random-inputs=1 | filecheck %s --check-prefix=VALUES
// RUN: pyptoc %s --mlir-print-tile-candidates -o %t.mlir | filecheck %s --check-prefix=FILE
// RUN: filecheck %s --check-prefix=PROGRAM --input-file=%t.mlir
// RUN: not pyptoc %s --print-tile-candidates --compile-to=tensor 2>&1 | filecheck %s --check-prefix=NONE

// The program is not printed to where the tables go, unless it goes to a file.

// CHECK: mm at {{.*}}tile-candidates.mlir:[[# @LINE + 19]]:8: m 96, n 64, k 32768, f16 to f32, ascend910b
// CHECK-NEXT: {{^}}      tile {{ +}}split  slots {{ +}}walk {{ +}}us  bound {{ +}}tasks  waves  against the first
// CHECK-NEXT: {{^}}   1  m [{{[0-9, ]+}}] k [{{[0-9, ]+}}] n [{{[0-9, ]+}}] {{ +[0-9]+}}  L1 2 L0 {{[12]}}  row {{ +[0-9.]+}}  {{[a-z0-9]+}} {{ +[0-9]+ +[0-9]+}}  chosen
// CHECK-NEXT: {{^}}   2  m [{{.*}} {{[+-][0-9.]+}} %
// CHECK: {{^}}  10  m [
// CHECK-NEXT: {{^}}  (within 2.5 %, whole K first, then one L0 tile a task, {{.*}})
// CHECK-NEXT: {{^$}}
// CHECK-NEXT: exp at {{.*}}tile-candidates.mlir:[[# @LINE + 13]]:8: 1 op on 96 rows of 64, ascend910b
// CHECK-NEXT: {{^}}      rows  columns  phases  UB bytes {{ +}}us  bound {{ +}}tasks  waves  against the first
// CHECK-NEXT: {{^}}   1 {{ +}}2 {{ +}}64  no {{ +}}{{[0-9]+ +[0-9.]+}}  {{.*}}  chosen
// CHECK: gather_rows at {{.*}}tile-candidates.mlir:[[# @LINE + 11]]:8: indexing, ascend910b
// CHECK-NEXT: 8 rows x 64 columns, the largest tile that fits UB
// CHECK-NOT: npu.kernel
// VALUES: mm at
// VALUES: result0  f32[96,64]
// FILE-NOT: npu.kernel
// PROGRAM: npu.kernel @mm_0
// NONE: error[PTO500]: --print-tile-candidates: no pass 'infer-tiles' in the pipeline
func.func @f(%a: tensor<96x32768xf16>, %b: tensor<32768x64xf16>, %x: tensor<96x64xf32>, %i: tensor<8xi32> {pypto.data = #pypto.data<integer 0 to 96>}) -> (tensor<96x64xf32>, tensor<96x64xf32>, tensor<8x64xf32>) {
  %y = pypto.matmul %a, %b {tag = "mm"}
  %e = pypto.exp %x
  %g = pypto.gather_rows %e at %i
  func.return %y, %e, %g : tensor<96x64xf32>, tensor<96x64xf32>, tensor<8x64xf32>
}
