// What the driver knows of passes and dialects.
// RUN: pyptoc --show-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: pyptoc --list-passes | filecheck %s --check-prefix=LIST
// RUN: pyptoc --help-pass=split-k | filecheck %s --check-prefix=HELP
// RUN: pyptoc --docs-passes | filecheck %s --check-prefix=PAGE
// RUN: not pyptoc --help-pass=split 2>&1 | filecheck %s --check-prefix=TYPO

// DIALECTS: {{^}}Available Dialects: arith, builtin, func, math, npu, pypto, scf, tile{{$}}

// LIST: {{^}}split-k {{ +}}spread the K loop of a matmul over tasks
// LIST-NEXT: {{^}} {{ +}}factor: int | None = none
// LIST-NEXT: {{^}} {{ +}}Split every matmul into so many parts instead
// LIST: {{^}}plan-memory
// LIST-NEXT: slots: int = 2

// HELP: {{^}}split-k: spread the K loop of a matmul over tasks, sum the parts
// HELP: %y = npu.tasks
// HELP: ->
// HELP: %p = npu.tasks
// HELP: {{^}}works on  func.func
// HELP-NEXT: {{^}}results   float sums may be added in another order
// HELP: {{^}}options:
// HELP-NEXT: factor: int | None = none
// HELP: {{^}}--pass-statistics:
// HELP-NEXT: split  products whose K is spread over tasks

// PAGE: {{^}}| `inline` | replace calls of private functions by their bodies | builtin.module | | |

// TYPO: error[PTO500]: there is no pass 'split'
// TYPO-NEXT: help: did you mean split-k?
