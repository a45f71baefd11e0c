// Several public functions: the choice is asked for.
// RUN: not pyptoc %s --describe 2>&1 | filecheck %s
// RUN: pyptoc %s --describe --entry=@g | filecheck %s --check-prefix=CHOSEN

// CHECK: error[PTO505]: 2 public functions: @f, @g
// CHECK-NEXT: rule: an operator is one public function
// CHECK-NEXT: help: choose with --entry=@f

// CHOSEN: {{^}}@g

func.func @f() {
  func.return
}
func.func @g() {
  func.return
}
func.func private @h() {
  func.return
}
