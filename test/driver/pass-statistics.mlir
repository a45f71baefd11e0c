// Where the time goes, and what the passes do.
// RUN: pyptoc %s --timing -o %t.mlir 2>&1 | filecheck %s --check-prefix=TREE
// RUN: pyptoc %s --mlir-timing --mlir-timing-display=list -o %t.mlir 2>&1 | filecheck %s --check-prefix=LIST
// RUN: pyptoc %s --mlir-pass-statistics --machine=ascend910b -o %t.mlir 2>&1 | filecheck %s --check-prefix=COUNTS
// RUN: pyptoc %s --pipeline=decompose,decompose --timing -o %t.mlir 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not pyptoc %s --timing-display=forest 2>&1 | filecheck %s --check-prefix=WRONG

// TREE: {{^}}step {{ *}}seconds {{ *}}share
// TREE-NEXT: {{^}}parse {{ +[0-9.]+ +[0-9.]+}} %
// TREE-NEXT: {{^}}verify {{ +[0-9.]+ +[0-9.]+}} %
// TREE-NEXT: {{^}}load passes
// TREE-NEXT: {{^}}passes {{ +[0-9.]+ +[0-9.]+}} %
// TREE-NEXT: {{^}}  inline {{ +[0-9.]+ +[0-9.]+}} %
// TREE-NEXT: {{^}}    verify {{ +[0-9.]+ +[0-9.]+}} %
// TREE-NEXT: {{^}}  desugar
// TREE: {{^}}  schedule
// TREE: {{^}}print
// TREE-NEXT: {{^}}rest
// TREE-NEXT: {{^}}total {{ +[0-9.]+}}  100.0 %

// LIST-NOT: {{^}}passes
// LIST: {{^}}total {{ +[0-9.]+}}  100.0 %

// COUNTS: {{^}}pass {{ +}}before  after  created  erased  counted
// COUNTS-NEXT: {{^}}inline {{ +}}5 {{ +}}5 {{ +}}0 {{ +}}0{{$}}
// COUNTS: {{^}}decompose {{ +}}5 {{ +}}11 {{ +}}7 {{ +}}1 {{ +}}1 decomposed
// COUNTS: {{^}}fuse-epilogue {{.*}} 0 fused
// COUNTS: {{^}}partition {{.*}} 2 groups, 6 fused
// COUNTS: {{^}}infer-tiles {{.*}} 2 tiles
// COUNTS: {{^}}split-k {{.*}} 1 split
// COUNTS: {{^}}plan-memory {{.*}} 0 lowered, 0 raised
// COUNTS: {{^}}insert-sync {{.*}} {{[1-9][0-9]*}} flags

// TWICE: {{^}}  decompose {{ }}
// TWICE: {{^}}  decompose #2 {{ }}
// WRONG: invalid choice: 'forest'

func.func @f(%a: tensor<64x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<64x64xf32> {
  %y = pypto.matmul %a, %b
  %s = pypto.softmax %y axis -1
  func.return %s : tensor<64x64xf32>
}
