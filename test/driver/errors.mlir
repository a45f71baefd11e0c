// Bad command lines and files: one line that says what, one that says what to do.
// RUN: not pyptoc 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not pyptoc --no-such 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not pyptoc %t.missing 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not pyptoc %S 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not pyptoc %s --machine=ascend95 2>&1 | filecheck %s --check-prefix=MACHINE
// RUN: not pyptoc %s --compile-to=task 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not pyptoc %s --entry=@g --describe 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not pyptoc %s --run --inputs %s 2>&1 | filecheck %s --check-prefix=INPUTS

// NOTHING: {{^}}error[PTO500]: no input file
// OPTION: {{^}}error[PTO500]: unknown option '--no-such'
// FILE: {{^}}error[PTO502]: cannot read {{.*}}.missing: No such file or directory
// FOLDER: {{^}}error[PTO502]: cannot read {{.*}}: Is a directory
// MACHINE: {{^}}error[PTO510]: unknown machine 'ascend95'
// MACHINE-NEXT: help: did you mean 'ascend950'?
// LEVEL: {{^}}error[PTO500]: --compile-to: invalid choice: 'task'
// ENTRY: {{^}}error[PTO505]: no function @g in this file
// INPUTS: {{^}}error[PTO502]: cannot read {{.*}}errors.mlir: not an .npz file

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
