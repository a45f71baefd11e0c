// RUN: pyptoc %s --pipeline=decompose,partition{force=true},infer-tiles,form-tasks,tile --check-each --random-inputs=1 --remarks 2>&1 | filecheck %s

// Rows without elements have no column tile that could store a part of the sum.
func.func @none(%x: tensor<3x0xf32>) -> tensor<3x1xf32> {
  %s = pypto.sum %x axis -1 {keepdim}
  func.return %s : tensor<3x1xf32>
}
// CHECK: remark[PTO323]: rows are not cut into columns: there is no column, so no tile would store a part
// CHECK: 5 passes, every result as in the source
