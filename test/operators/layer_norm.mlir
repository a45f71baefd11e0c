// LayerNorm of rows of 5120, bf16 in and out, f32 inside.
func.func @layer_norm(
    %x: tensor<?x5120xbf16> {pypto.dims = ["t"]},
    %gamma: tensor<5120xbf16> {pypto.data = #pypto.data<uniform 0.5 to 1.5>},
    %beta: tensor<5120xbf16>)
    -> (tensor<?x5120xbf16> {pypto.name = "y", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>}) {
  %y = pypto.layer_norm %x, %gamma, %beta eps 1.0e-6
  func.return %y : tensor<?x5120xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @layer_norm(
// CHECK: func.return %y
