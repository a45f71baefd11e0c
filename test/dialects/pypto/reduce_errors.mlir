// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

func.func @axis(%x: tensor<4x8xf32>) {
  // CHECK: error[PTO135]: axis 2 of a tensor of rank 2
  // CHECK: %x has axes -2 to 1
  %0 = pypto.sum %x axis 2
  func.return
}

// -----

func.func @negative_axis(%x: tensor<4x8xf32>) {
  // CHECK: error[PTO135]: axis -3 of a tensor of rank 2
  %0 = pypto.amax %x axis -3
  func.return
}

// -----

func.func @no_axes(%x: tensor<f32>) {
  // CHECK: error[PTO135]: axis -1 of a tensor of rank 0
  // CHECK: %x has no axis
  %0 = pypto.cumsum %x axis -1
  func.return
}

// -----

func.func @small_integers(%x: tensor<4x8xi8>) {
  // CHECK: error[PTO114]: sum of i8 overflows i8
  // CHECK: help: pypto.sum %x ... to i32
  %0 = pypto.sum %x axis -1
  func.return
}

// -----

func.func @narrower(%x: tensor<4x8xi64>) {
  // CHECK: error[PTO117]: sum to i32
  // CHECK: rule: the type after `to` is i64
  %0 = pypto.sum %x axis -1 to i32
  func.return
}

// -----

func.func @to_integer(%x: tensor<4x8xbf16>) {
  // CHECK: error[PTO117]: mean to i32
  // CHECK: rule: the type after `to` is bf16 or f32
  %0 = pypto.mean %x axis -1 to i32
  func.return
}

// -----

func.func @mean(%x: tensor<4x8xi32>) {
  // CHECK: error[PTO111]: mean of i32 elements
  // CHECK: rule: elements are f32, f16 or bf16
  %0 = pypto.mean %x axis -1
  func.return
}

// -----

func.func @truth(%x: tensor<4x8xi1>) {
  // CHECK: error[PTO111]: amax of i1 elements
  %0 = pypto.amax %x axis -1
  func.return
}

// -----

func.func @cumsum(%x: tensor<4xi1>) {
  // CHECK: error[PTO111]: cumsum of i1 elements
  %0 = pypto.cumsum %x axis 0
  func.return
}
