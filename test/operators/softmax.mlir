// Softmax of rows of 32768, bf16 in and out, f32 inside; where the unified buffer does not hold a row, it is read three times.
// A row of -inf alone gives zeros.
func.func @softmax(%x: tensor<?x32768xbf16> {pypto.dims = ["t"], pypto.data = #pypto.data<uniform -8.0 to 8.0>})
    -> (tensor<?x32768xbf16> {pypto.name = "y", pypto.tol = #pypto.tol<atol = 1.0e-9, rtol = 0.0078125, outliers = 0.005>}) {
  %y = pypto.softmax %x axis -1
  func.return %y : tensor<?x32768xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @softmax(
// CHECK: func.return %y
