// RUN: pyptoc %s --run --bind=n=2,s=3 --random-inputs=1 2>%t.err | filecheck %s
// RUN: filecheck %s --input-file=%t.err --check-prefix=ERR

// A probe has a line of its own in the table; a print goes to standard error.
// CHECK:      result   type
// CHECK-NEXT: result0  f32[2,4]
// CHECK-NEXT: mid      i8[2,4]
// ERR: s = 3
func.func @f(%x: tensor<?x4xf32> {pypto.dims = ["n"]}, %s: index) -> tensor<?x4xf32> {
  pypto.print "s" %s
  %y = pypto.cast %x to i8
  pypto.probe %y "mid"
  %z = pypto.add %x, 1.0
  func.return %z : tensor<?x4xf32>
}
