// Pipelines as mlir-opt takes them: nested in operations, and passes as options.
// RUN: pyptoc %s --pass-pipeline='builtin.module(inline, func.func(decompose, partition{fuse = false cut=false}))' --dump-pass-pipeline 2>&1 | filecheck %s --check-prefixes=DUMP,IR
// RUN: pyptoc %s --inline --decompose --partition='fuse=false cut=false' --dump-pass-pipeline 2>&1 | filecheck %s --check-prefixes=DUMP,IR
// RUN: pyptoc %s -inline -decompose '-partition=fuse=false cut=false' --dump-pass-pipeline 2>&1 | filecheck %s --check-prefixes=DUMP,IR
// RUN: pyptoc %s --decompose --inline --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: not pyptoc %s --pipeline='func.func(inline)' 2>&1 | filecheck %s --check-prefix=INNER
// RUN: not pyptoc %s --pipeline='func.func(plan-memory)' 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not pyptoc %s --pipeline='func.fun(decompose)' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not pyptoc %s --pipeline='func.func(builtin.module(inline))' 2>&1 | filecheck %s --check-prefix=TURNED
// RUN: not pyptoc %s --pipeline='func.func(decompose' 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not pyptoc %s --decompse 2>&1 | filecheck %s --check-prefix=TYPO
// RUN: not pyptoc %s --tile=size=4 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not pyptoc %s --tile --pipeline=inline 2>&1 | filecheck %s --check-prefix=BOTH

// DUMP: {{^}}inline,decompose,partition{fuse=false cut=false}{{$}}
// IR: func.func @f
// IR-NOT: softmax %
// IR: npu.group = 0

// ORDER: {{^}}decompose,inline{{$}}

// INNER: {{^}}error[PTO504]: pass 'inline' works on builtin.module, not on func.func
// INNER-NEXT: help: builtin.module(inline,func.func(..))
// OTHER: pass 'plan-memory' works on npu.kernel, not on func.func
// OTHER-NEXT: help: npu.kernel(plan-memory)
// NAME: passes cannot be nested in 'func.fun'
// NAME: help: did you mean func.func?
// TURNED: there is no builtin.module in a func.func
// OPEN: expected a comma or ) at its end
// TYPO: unknown option '--decompse'
// TYPO-NEXT: help: did you mean --decompose?
// OPTION: pass 'tile' has no option 'size'
// BOTH: --pipeline and --tile exclude each other
// BOTH-NEXT: help: --pipeline='inline,tile'

func.func @f(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<4x64xf32>
}
