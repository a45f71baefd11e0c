// RUN: pyptoc %s --pipeline=inline --split-input-file | filecheck %s

// A helper is replaced by its body, also where a helper calls a helper, and goes away.
// CHECK-LABEL: func.func @calls
// CHECK-SAME:  (%x: tensor<?x8xf32>
// CHECK-NEXT:  [[A:%.*]] = pypto.add %x, %x
// CHECK-NEXT:  [[B:%.*]] = pypto.add [[A]], [[A]]
// CHECK-NEXT:  %r = pypto.sub [[B]], %x
// CHECK-NEXT:  func.return %r
// CHECK-NOT:   func.func
func.func private @twice(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = pypto.add %x, %x
  func.return %y : tensor<?x8xf32>
}
func.func private @four(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %y = func.call @twice(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %z = func.call @twice(%y) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %z, %x : tensor<?x8xf32>, tensor<?x8xf32>
}
func.func @calls(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %a, %b = func.call @four(%x)
    : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %r = pypto.sub %a, %b
  func.return %r : tensor<?x8xf32>
}

// -----
// A call inside a loop; several public functions stay, also one that is called.
// CHECK-LABEL: func.func @public
// CHECK:       pypto.exp
// CHECK-LABEL: func.func @loops
// CHECK:       pypto.for
// CHECK-NEXT:    [[E:%.*]] = pypto.exp %c
// CHECK-NEXT:    pypto.yield [[E]]
func.func @public(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = pypto.exp %x
  func.return %y : tensor<8xf32>
}
func.func @loops(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = pypto.for (%i = 0 to 3) iter(%c = %x) {
    %y = func.call @public(%c) : (tensor<8xf32>) -> tensor<8xf32>
    pypto.yield %y
  }
  func.return %r : tensor<8xf32>
}

// -----
// The helper's default tiles stay with its ops; an op keeps a default of its own.
// CHECK-LABEL: func.func @tiles
// CHECK:       pypto.exp %x {pypto.tiles = #pypto.tiles<vec = [8]>}
// CHECK:       pypto.abs %x :
func.func private @tiled(%x: tensor<64xf32>) -> tensor<64xf32>
    attributes {pypto.tiles = #pypto.tiles<vec = [8]>} {
  %y = pypto.exp %x
  func.return %y : tensor<64xf32>
}
func.func @tiles(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {pypto.tiles = #pypto.tiles<vec = [16]>} {
  %y = func.call @tiled(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %z = pypto.abs %x
  func.return %y, %z : tensor<64xf32>, tensor<64xf32>
}
