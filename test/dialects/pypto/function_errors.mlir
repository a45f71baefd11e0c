// RUN: not pyptoc %s --split-input-file --compile-to=tensor 2>&1 | filecheck %s

// Arguments and results.

// CHECK: :[[# @LINE + 3]]:17: error[PTO163]: pypto.dims of %x has 2 names, the type has 1 ?
// CHECK: tensor<?xf32>
// CHECK: rule: one name for each ?, in order
func.func @dims(%x: tensor<?xf32> {pypto.dims = ["a", "b"]}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 1]]:22: error[PTO163]: pypto.dims of %x is a list of strings
func.func @dims_kind(%x: tensor<?xf32> {pypto.dims = "a"}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 3]]:24: error[PTO143]: %x has no attribute 'pypto.dim'
// CHECK: rule: it has pypto.name, pypto.dims, pypto.data, pypto.default
// CHECK: help: did you mean pypto.dims?
func.func @unknown_key(%x: tensor<?xf32> {pypto.dim = ["a"]}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 3]]:1: error[PTO143]: a function has no attribute 'tile'
// CHECK: rule: it has pypto.tiles
// CHECK: help: did you mean pypto.tiles?
func.func @unknown_own_key() attributes {tile = #pypto.tiles<vec = [8]>} {
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:1: error[PTO143]: pypto.tiles of a function is #pypto.vec<8>
// CHECK: rule: it is #pypto.tiles<cube = .., vec = ..>
func.func @kind_of_own_key() attributes {pypto.tiles = #pypto.vec<8>} {
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:25: error[PTO164]: pypto.default of %x is i32, the argument is f32
// CHECK: help: write the type: pypto.default = 1.0 : f32
func.func @default_type(%x: f32 {pypto.default = 1 : i32}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 3]]:1: error[PTO162]: result 'y' is tensor<4xf32>, the argument it updates is tensor<5xf32>
// CHECK: rule: a result with the name of an argument is that argument, in place
// CHECK: help: give the result a name of its own with pypto.name
func.func @in_place_type(%x: tensor<4xf32>, %y: tensor<5xf32>)
    -> (tensor<4xf32> {pypto.name = "y"}) {
  func.return %x : tensor<4xf32>
}

// -----

// CHECK: :[[# @LINE + 1]]:1: error[PTO161]: two arguments have the name 'x'
func.func @same_names(%x: tensor<4xf32>, %y: tensor<5xf32> {pypto.name = "x"}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 1]]:22: error[PTO161]: pypto.name of %x is a string
func.func @name_kind(%x: tensor<4xf32> {pypto.name = 3}) {
  func.return
}

// -----

func.func @returned_type(%x: tensor<4xf32>) -> tensor<4xbf16> {
  // CHECK: :[[# @LINE + 2]]:3: error[PTO165]: result 0 is tensor<4xf32>, the function declares tensor<4xbf16>
  // CHECK: note: the function is declared at {{.*}}:1
  func.return %x : tensor<4xf32>
}

// -----

func.func @returned_count(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: :[[# @LINE + 2]]:3: error[PTO165]: 1 value returned, the function has 2 results
  // CHECK: note: the function is declared at {{.*}}:1
  func.return %x : tensor<4xf32>
}

// -----

func.func @operand_type(%x: tensor<4xf32>) -> tensor<5xf32> {
  // CHECK: :[[# @LINE + 2]]:15: error[PTO141]: %x is tensor<4xf32>, not tensor<5xf32>
  // CHECK: note: %x is defined at {{.*}}:25
  func.return %x : tensor<5xf32>
}

// -----

// CHECK: :[[# @LINE + 3]]:1: error[PTO165]: the function does not end with func.return
// CHECK: note: it ends with pypto.exp ({{.*}}:8)
// CHECK: help: func.return %0 : tensor<4xf32>
func.func @no_return(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = pypto.exp %x
}

// -----

// CHECK: :[[# @LINE + 2]]:1: error[PTO165]: the function does not end with func.return
// CHECK: help: func.return{{$}}
func.func @empty_body(%x: tensor<4xf32>) {
}

// -----

func.func @untyped_return(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: :[[# @LINE + 2]]:16: error[PTO100]: ':' is expected at the end of this line
  // CHECK: help: write the types: func.return %x, %y : tensor<..>, tensor<..>
  func.return %x
}

// -----

func.func @after_return(%x: tensor<4xf32>) {
  func.return
  // CHECK: :[[# @LINE + 1]]:3: error[PTO100]: a new operation begins here
  %y = pypto.exp %x
}

// -----

// CHECK: :[[# @LINE + 1]]:20: error[PTO163]: pypto.dims of %x has a name of no letters
func.func @no_name(%x: tensor<?xf32> {pypto.dims = [""]}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:22: error[PTO143]: %x has no attribute 'dims'
// CHECK: help: did you mean pypto.dims?
func.func @no_prefix(%x: tensor<?xf32> {dims = ["M"]}) {
  func.return
}

// -----

// CHECK: error[PTO143]: pypto.cases is 3 : i64
// CHECK: help: pypto.cases = {decode = {t = 8}}
module attributes {pypto.cases = 3} {
}

// -----

// CHECK: error[PTO143]: a module has no attribute 'pypto.case'
// CHECK: help: did you mean pypto.cases?
module attributes {pypto.case = {a = {t = 3}}} {
}

// -----

// CHECK: :[[# @LINE + 2]]:22: error[PTO143]: pypto.data of %x is "uniform"
// CHECK: rule: it is #pypto.data<..>
func.func @data_text(%x: tensor<4xf32> {pypto.data = "uniform"}) {
  func.return
}

// -----

// CHECK: :[[# @LINE + 2]]:1: error[PTO143]: pypto.tol of result 0 is "loose"
// CHECK: rule: it is #pypto.tol<..>
func.func @tol_number(%x: tensor<4xf32>) -> (tensor<4xf32> {pypto.tol = "loose"}) {
  func.return %x : tensor<4xf32>
}
