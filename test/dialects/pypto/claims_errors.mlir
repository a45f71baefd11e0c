// RUN: not pyptoc %s --compile-to=tensor 2>&1 | filecheck %s

func.func @claims(%m: index) {
  %c = pypto.claims "o"[%m, 64]
  // CHECK: :[[# @LINE + 1]]:3: error[PTO131]: a box of 2 offsets and 1 size
  pypto.claim %c at %m from[%m, 0] size[4]
  // CHECK: :[[# @LINE + 1]]:24: error[PTO133]: -4 is not a size
  %d = pypto.claims "o"[-4]
  func.return
}
