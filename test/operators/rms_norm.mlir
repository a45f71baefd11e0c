// RMSNorm of DeepSeek-V3's rows of 7168, bf16 in and out, f32 inside.
func.func @rms_norm(
    %x: tensor<?x7168xbf16> {pypto.dims = ["t"]},
    %gamma: tensor<7168xbf16> {pypto.data = #pypto.data<uniform 0.5 to 1.5>})
    -> (tensor<?x7168xbf16> {pypto.name = "y", pypto.tol = #pypto.tol<atol = 1.0e-4, rtol = 0.0078125, outliers = 0.005>}) {
  %y = pypto.rms_norm %x, %gamma eps 1.0e-5
  func.return %y : tensor<?x7168xbf16>
}

// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s
// CHECK-LABEL: func.func @rms_norm(
// CHECK: func.return %y
