// RUN: not pyptoc %s --split-input-file --pipeline= 2>&1 | filecheck %s

// CHECK: :[[# @LINE + 1]]:{{[0-9]+}}: error[PTO100]: expected ')', found '>'
func.func private @f() attributes {a = #npu.expr<min(s0, 3>}

// -----

// CHECK: :[[# @LINE + 1]]:{{[0-9]+}}: error[PTO100]
func.func private @f() attributes {a = #npu.expr<s0 s1>}

// -----

// CHECK: :[[# @LINE + 1]]:{{[0-9]+}}: error[PTO100]: Expected `read`, `write`, or `accumulate`
func.func private @f() attributes {a = #npu.access<use, buffer = 0, [] [], exact>}

// -----

// CHECK: :[[# @LINE + 1]]:{{[0-9]+}}: error[PTO100]
func.func private @f() attributes {a = #npu.max<16, -1>}
