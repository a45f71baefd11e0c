// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// CHECK-LABEL: @shown
func.func @shown(%x: tensor<?x4xf32>, %y: tensor<4xbf16>, %n: index, %s: f32, %c: i1) {
  // CHECK: pypto.probe %x "scores" : tensor<?x4xf32>
  pypto.probe %x "scores"
  // CHECK: pypto.print "x" %x {tag = "t"} : tensor<?x4xf32>
  pypto.print "x" %x {tag = "t"}
  // CHECK: pypto.print "a \22b\22" %n : index
  pypto.print "a \"b\"" %n
  // CHECK: pypto.print "" %s : f32
  pypto.print "" %s : f32
  scf.if %c {
    // CHECK: pypto.print "c" %c : i1
    pypto.print "c" %c
    // CHECK: pypto.probe %y "row" : tensor<4xbf16>
    pypto.probe %y "row"
  }
  func.return
}
