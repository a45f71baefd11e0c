// RUN: pyptoc %s --compile-to=tensor | filecheck %s
// RUN: pyptoc %s --compile-to=tensor | pyptoc - --compile-to=tensor | filecheck %s

// CHECK-LABEL: @topk
func.func @topk(%x: tensor<?x256xf32>, %row: tensor<?xf32>, %n: tensor<?xi32>) {
  // CHECK: pypto.topk %x k 8 axis -1 : tensor<?x256xf32> -> (tensor<?x8xf32>, tensor<?x8xi32>)
  %0, %1 = pypto.topk %x k 8 axis -1
  // CHECK: pypto.topk %row k 2048 axis -1 {pad_index = -1, pad_value = -inf} : tensor<?xf32> -> (tensor<2048xf32>, tensor<2048xi32>)
  %2, %3 = pypto.topk %row k 2048 axis -1 {pad_index = -1, pad_value = -inf}
  // CHECK: pypto.topk %x k 8 axis -1 lengths %n {pad_index = -1} : tensor<?x256xf32>, tensor<?xi32> -> (tensor<?x8xf32>, tensor<?x8xi32>)
  %4, %5 = pypto.topk %x k 8 axis -1 lengths %n {pad_index = -1}
  func.return
}

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x512xi8>, %cache: tensor<?x128x1x512xi8>, %i: tensor<?xi32>, %t: tensor<?xi32>) {
  // CHECK: pypto.gather_rows %x at %i {pad = -1} : tensor<?x512xi8>, tensor<?xi32> -> tensor<?x512xi8>
  %0 = pypto.gather_rows %x at %i {pad = -1}
  // CHECK: pypto.gather_rows %x at %i through %t page 128 : tensor<?x512xi8>, tensor<?xi32>, tensor<?xi32> -> tensor<?x512xi8>
  %1 = pypto.gather_rows %x at %i through %t page 128
  // CHECK: pypto.scatter_rows %x into %cache at %i {rows = [0, 1, 2], skip = -1} : tensor<?x512xi8>, tensor<?x128x1x512xi8>, tensor<?xi32> -> tensor<?x128x1x512xi8>
  %2 = pypto.scatter_rows %x into %cache at %i {rows = [0, 1, 2], skip = -1}
  // CHECK: pypto.scatter_rows %x into %x at %i {unique} : {{.*}} -> tensor<?x512xi8>
  %3 = pypto.scatter_rows %x into %x at %i {unique}
  func.return
}

// CHECK-LABEL: @gather
func.func @gather(%x: tensor<?x256xf32>, %i: tensor<?x8xi32>, %j: tensor<?xi64>, %d: tensor<100x256xf32>) {
  // CHECK: pypto.gather %x, %i axis -1 : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
  %0 = pypto.gather %x, %i axis -1
  // CHECK: pypto.index_select %d at %j axis 0 : tensor<100x256xf32>, tensor<?xi64> -> tensor<?x256xf32>
  %1 = pypto.index_select %d at %j axis 0
  // CHECK: pypto.index_add %x into %d at %j axis 0 : tensor<?x256xf32>, tensor<100x256xf32>, tensor<?xi64> -> tensor<100x256xf32>
  %2 = pypto.index_add %x into %d at %j axis 0
  // CHECK: pypto.one_hot %i 16 : tensor<?x8xi32> -> tensor<?x16xi1>
  %3 = pypto.one_hot %i 16
  func.return
}

// CHECK-LABEL: @put
func.func @put(%x: tensor<?x8xf32>, %d: tensor<?x256xf32>, %i: tensor<?x8xi64>, %v: tensor<?x64xf16>, %e: tensor<4x9x64xf16>, %j: tensor<?xi32>, %k: tensor<?xi64>) {
  // CHECK: pypto.scatter %x into %d at %i axis -1 : tensor<?x8xf32>, tensor<?x256xf32>, tensor<?x8xi64> -> tensor<?x256xf32>
  %0 = pypto.scatter %x into %d at %i axis -1
  // CHECK: pypto.scatter %x into %d at %i axis 1 {add} :
  %1 = pypto.scatter %x into %d at %i axis 1 {add}
  // CHECK: pypto.index_put %v into %e at %j, %k : tensor<?x64xf16>, tensor<4x9x64xf16>, tensor<?xi32>, tensor<?xi64> -> tensor<4x9x64xf16>
  %2 = pypto.index_put %v into %e at %j, %k
  // CHECK: pypto.index_put %v into %v at %j {accumulate} :
  %3 = pypto.index_put %v into %v at %j {accumulate}
  func.return
}

// CHECK-LABEL: @order
func.func @order(%x: tensor<?x9x256xbf16>) {
  // CHECK: pypto.argsort %x axis 1 : tensor<?x9x256xbf16> -> tensor<?x9x256xi32>
  %0 = pypto.argsort %x axis 1
  // CHECK: pypto.argsort %x axis -1 {descending} :
  %1 = pypto.argsort %x axis -1 {descending}
  func.return
}

// CHECK-LABEL: @pattern
func.func @pattern(%x: tensor<?x9xf32>, %y: tensor<3xi8>, %z: tensor<2x?xi1>) {
  // CHECK: pypto.gather_mask %x pattern P0101 : tensor<?x9xf32> -> tensor<?x5xf32>
  %0 = pypto.gather_mask %x pattern P0101
  // CHECK: pypto.gather_mask %x pattern P1010 : tensor<?x9xf32> -> tensor<?x4xf32>
  %1 = pypto.gather_mask %x pattern P1010
  // CHECK: pypto.gather_mask %x pattern P0001 : tensor<?x9xf32> -> tensor<?x3xf32>
  %2 = pypto.gather_mask %x pattern P0001
  // CHECK: pypto.gather_mask %x pattern P1000 : tensor<?x9xf32> -> tensor<?x2xf32>
  %3 = pypto.gather_mask %x pattern P1000
  // CHECK: pypto.gather_mask %y pattern P1000 : tensor<3xi8> -> tensor<0xi8>
  %4 = pypto.gather_mask %y pattern P1000
  // CHECK: pypto.gather_mask %z pattern P1111 : tensor<2x?xi1> -> tensor<2x?xi1>
  %5 = pypto.gather_mask %z pattern P1111
  func.return
}
