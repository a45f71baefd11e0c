// RUN: not pyptoc %s --compile-to=tensor 2>&1 | filecheck %s

// All errors of a file are reported, in the order of the text.  What uses the result of
// a rejected operation is passed over in silence, and so is what stands in the body of
// a loop whose header was rejected.
func.func @recovers(%x: tensor<4xf32>, %h: tensor<4xbf16>) -> tensor<4xf32> {
  // CHECK: :[[# @LINE + 1]]:18: error[PTO112]: operand types differ: f32 and bf16
  %a = pypto.mul %x, %h
  // CHECK-NOT: mlir:[[# @LINE + 1]]:
  %b = pypto.exp %a
  %c = pypto.add %b, %h
  // CHECK: :[[# @LINE + 1]]:29: error[PTO103]: %m is not defined here
  %d = pypto.for (%i = 0 to %m) iter(%k = %x) {
    // CHECK-NOT: mlir:[[# @LINE + 1]]:
    %e = pypto.exp %nowhere
    pypto.yield %e
  }
  %r = pypto.forall (%i = 0 to 4) outs(%o = %d) {
    // CHECK: :[[# @LINE + 1]]:25: error[PTO100]: a type is expected at the end of this line
    %f = pypto.cast %c to
    pypto.store %f into %o[0]
  }
  func.return %r : tensor<4xf32>
}

func.func @next(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: :[[# @LINE + 1]]:8: error[PTO105]: there is no operation pypto.expp
  %y = pypto.expp %x
  func.return %y : tensor<4xf32>
}
