"""What ops that move elements, scalars and loops reject.

The columns are those of `test_rejected_programs.py`.
"""

from __future__ import annotations

X = "%x: tensor<4x8xf32>"
ROW = f"{X}, %g: tensor<8xf32>"
ABSENT = "%x: tensor<4x8xf32>, %n: index"
BYTES = "%x: tensor<4x8xi8>"
CLAIMS = "%c: !pypto.claims"
LOOP = "%n: index, %x: tensor<4xf32>"

SHAPES: dict[str, list[tuple[str, str, str, str, str]]] = {
    "view": [
        (X, "view %x[0]", "PTO131", "1 subscript for a tensor of rank 2", "%x[%i, :]"),
        (
            X,
            "view %x[0, 9]",
            "PTO132",
            "9 +: 1 ends at 10, dimension 1",
            "offset + size",
        ),
        (X, "view %x[-1, :]", "PTO133", "offset -1 is negative", "count from 0"),
        (X, "view %x[0 +: -1, :]", "PTO133", "size -1 is negative", "at least 0"),
        (ABSENT, "view %x[:, %x]", "PTO134", "%x is tensor<4x8xf32>, not", "numbers"),
        (
            ABSENT,
            "view %x[0 +: %n, :] {max = [4]}",
            "PTO131",
            "max has 1 bound, the result has rank 2",
            "one bound for each dimension",
        ),
        (
            ABSENT,
            "view %x[0 +: %n, :] {max = [-4, 8]}",
            "PTO133",
            "bound -4 is negative",
            "at least 0",
        ),
        (
            BYTES,
            "view %x[:, 0] to bf16",
            "PTO131",
            "view to bf16 drops the last dimension",
            "offset +: size keeps it",
        ),
        (
            BYTES,
            "view %x[:, 3 +: 4] to bf16",
            "PTO134",
            "view to bf16 starts at byte 3, which is no multiple of 2",
            "element 3 of 1 B",
        ),
        (
            BYTES,
            "view %x[:, 0 +: 3] to bf16",
            "PTO134",
            "the last dimension of %x has 3 elements of 1 B: 3 B are no multiple of",
            "whole elements of bf16 in each row",
        ),
    ],
    "reinterpret": [
        (
            "%x: tensor<4x3xi8>",
            "reinterpret %x to bf16",
            "PTO134",
            "a row of %x has 3 elements of 1 B: 3 B are no multiple of the 2 B of bf16",
            "whole elements of bf16 in each row",
        ),
        (BYTES, "reinterpret %x to i1", "PTO111", "of i8 elements to i1", "cast %x"),
        (
            "%x: tensor<4xi1>",
            "reinterpret %x to i8",
            "PTO111",
            "reinterpret of i1 elements to i8",
            "only types of whole bytes",
        ),
        (
            "%x: tensor<f32>",
            "reinterpret %x to i8",
            "PTO131",
            "reinterpret to i8 of a tensor without dimensions",
            "the bytes of the last dimension",
        ),
        (BYTES, "reinterpret %x", "PTO142", "reinterpret needs 'to ...'", "write to"),
    ],
    "claims": [
        (
            "%m: index",
            "claims[%m]",
            "PTO100",
            "a text in quotes is exp",
            "pypto.claims",
        ),
        ("", 'claims "o"[-4]', "PTO133", "-4 is not a size", "at least 0"),
    ],
    "claim": [
        (
            f"{CLAIMS}, %i: index",
            "claim %c at %i from[0, 0] size[1]",
            "PTO131",
            "a box of 2 offsets and 1 size",
            "one offset and one size for each dimension",
        ),
        (
            "%c: index",
            "claim %c at %c from[0] size[1]",
            "PTO110",
            "claim takes claims, %c is index",
            "pypto.claims",
        ),
        (
            CLAIMS,
            "claim %c at %c from[0] size[1]",
            "PTO134",
            "%c is !pypto.claims, not index",
            "an iteration is a value of type index",
        ),
    ],
    "reshape": [
        (X, "reshape %x[5, -1]", "PTO130", "32 is no multiple of 5", "number of elem"),
        (X, "reshape %x[5, 5]", "PTO130", "32 and 25", "number of elements"),
        (X, "reshape %x[-2, 4]", "PTO133", "-2 is not a size", "at least 0"),
        (
            X,
            "reshape %x[-1, -1]",
            "PTO130",
            "[-1, -1] has 2 sizes of -1",
            "at most one",
        ),
        (
            "%x: tensor<?x6xf32>",
            "reshape %x[-1, 4]",
            "PTO130",
            "6 and 4 do not divide",
            "as an operand",
        ),
    ],
    "transpose": [
        (X, "transpose %x perm [0, 0]", "PTO139", "perm [0, 0] does not", "once"),
        (X, "transpose %x perm [0]", "PTO139", "the 2 dimensions of %x", "once"),
        (X, "transpose %x perm [-1, 0]", "PTO139", "perm [-1, 0] does not", "from 0"),
    ],
    "expand": [
        (X, "expand %x[8]", "PTO139", "[4, 8] to [8]: too few sizes", "one size for"),
        (X, "expand %x[4, 9]", "PTO113", "8 against 9", "only a static size of 1"),
        (X, "expand %x[-2, 8]", "PTO133", "-2 is not a size", "at least 0"),
    ],
    "concat": [
        (ROW, "concat %x, %g axis 0", "PTO135", "rank 2, %g has rank 1", "<8xf32>"),
        (
            f"{X}, %y: tensor<3x4xf32>",
            "concat %x, %y axis 0",
            "PTO139",
            "sizes 8 and 4 of dimension 1 differ",
            "%y is [3, 4]",
        ),
        (
            X,
            "concat axis 0",
            "PTO100",
            "a value such as %x is expected",
            "pypto.concat",
        ),
    ],
    "clone": [("%x: f32", "clone %x", "PTO110", "clone takes a tensor", "scalars")],
    "empty": [
        ("", "empty[4]", "PTO142", "empty needs a result type", ": tensor<4xf32>"),
        ("", "empty[-4] : tensor<4xf32>", "PTO133", "-4 is not a size", "at least 0"),
        ("", "empty[4] : tensor<5xf32>", "PTO140", "[4] is not tensor<5", "<4xf32>"),
        (ABSENT, "empty[%n] {max = [1, 2]} : f32", "PTO131", "max has 2 bounds", "one"),
    ],
    "full": [
        ("", "full 1.5[4] : tensor<4xi32>", "PTO115", "1.5 in full of i32", "integer"),
        ("", "full 300[4] : tensor<4xi8>", "PTO115", "300 does not fit in i8", "127"),
        ("", "full 1.0[4] : tensor<4x1xf32>", "PTO140", "[4] is not", "<4xf32>"),
        (
            X,
            "full %x[4] : tensor<4xf32>",
            "PTO110",
            "full takes a number or a scalar, %x is tensor<4x8xf32>",
            "pypto.expand repeats",
        ),
        (
            "%n: index",
            "full %n[4] : index -> tensor<4xf32>",
            "PTO112",
            "a scalar of index beside f32 elements",
            "beside f32 elements is f32",
        ),
        (
            "%n: index",
            "full %n[4] : index -> tensor<4xf8E5M2>",
            "PTO112",
            "a scalar of index beside f8E5M2 elements",
            "f8E5M2 elements are made by a cast",
        ),
        (X, "full [4] : tensor<4xf32>", "PTO100", "a number is expected", "full 0.0"),
    ],
    "arange": [
        ("", "arange[129] : tensor<129xi8>", "PTO115", "0 to 128 do not", "most 127"),
        ("", "arange[4] : tensor<4xi1>", "PTO111", "arange of i1 elements", "8 bits"),
        ("", "arange[4] : tensor<3xi32>", "PTO140", "[4] is not tensor<3x", "<4xi32>"),
    ],
    "assemble": [
        (
            f"{X}, %d: tensor<4x4xf32>",
            "assemble %x into %d[0, 0]",
            "PTO132",
            "0 +: 8 ends at 8, dimension 1 of %d has 4",
            "offset + size",
        ),
        (ROW, "assemble %x into %g[0]", "PTO131", "of rank 2 into rank 1", "4x8xf32"),
        (X, "assemble %x into %x[0]", "PTO131", "1 subscript for a", "%x["),
        (
            f"{X}, %d: tensor<4x8xbf16>",
            "assemble %x into %d[0, 0]",
            "PTO112",
            "f32 and bf16",
            "cast %x to bf16",
        ),
    ],
    "store": [
        (
            X,
            "store %x into %x[0, 0]",
            "PTO152",
            "not an output of a forall",
            "assemble",
        ),
        (
            LOOP,
            "forall (%i = 0 to 4) outs(%o = %x) { pypto.store %x into %o[1] }",
            "PTO132",
            "1 +: 4 ends at 5, dimension 0 of %o has 4",
            "offset + size",
        ),
    ],
    "index": [
        (X, "index %x + 1", "PTO134", "%x is tensor<4x8xf32>, not index", "index"),
        ("%n: index", "index %n / 2", "PTO145", "no / for integers", "floordiv"),
        ("%n: index", "index %n // 2", "PTO145", "// for integers", "floordiv"),
        ("%n: index", "index %n + 1 // %n : index", "PTO145", "// for", "floordiv"),
        ("%n: index", "index %n + 1.5", "PTO145", "1.5 is no integer", "write"),
        ("%n: index", "index foo(%n)", "PTO145", "'foo' is no operator", "floordiv"),
        ("%n: index", "index %n +", "PTO145", "ends too early", "operand"),
        ("%n: index", "index %n : i32", "PTO140", "is index, not i32", "written type"),
    ],
    "scalar": [
        (X, "scalar %x + 1.0 : f32", "PTO110", "%x is tensor<4x8xf32>", "f32"),
        ("%s: f32", "scalar sqrt(%s, %s)", "PTO145", "1 argument, not 2", "sqrt"),
        ("%s: f32", "scalar sqt(%s)", "PTO145", "no function sqt", "sqrt?"),
        ("%s: f32", "scalar %s : f16", "PTO140", "is f32, not f16", "written type"),
    ],
    "read": [
        ("%x: tensor<8xbf16>", "read %x[0]", "PTO111", "read of bf16", "cast %x"),
        (X, "read %x[0]", "PTO131", "1 subscript for a tensor of rank 2", "%x["),
        (X, "read %x[0, 8]", "PTO132", "8 +: 1 ends at 9, dimension 1", "offset"),
    ],
    "dim": [
        (X, "dim %x, 2", "PTO135", "dim 2 of a tensor of rank 2", "dimensions 0 to 1"),
        (X, "dim %x, -1", "PTO135", "dim -1 of a tensor", "dimensions 0 to 1"),
        ("%n: index", "dim %n, 0", "PTO110", "takes a tensor, %n is index", "scalars"),
    ],
    "assert": [
        ("%n: index", 'assert %n, "a"', "PTO145", "needs a compare", "== ne"),
        ("%n: index", 'assert %n == 1, "{2}"', "PTO143", "names {2}", "two sides"),
        (LOOP, 'assert %n == 1, "a", %x', "PTO134", "not index", "of type index"),
    ],
    "for": [
        (
            LOOP,
            "for (%j = 0 to 4 step 0) { }",
            "PTO154",
            "step 0 is not pos",
            "least 1",
        ),
        (LOOP, "for (%j = 0 to 4, %k = 0 to 3) { }", "PTO154", "one index", "forall"),
        (LOOP, "for (%j = 0 to %x) { }", "PTO134", "not index", "numbers or"),
        (LOOP, "for (%j = 0 to 3) iter(%a = %x) { }", "PTO150", "ends with", "yield"),
        (LOOP, "for (%j = 0 to 3) outs(%a = %x) { }", "PTO154", "'outs'", "iter(%x"),
    ],
    "forall": [
        (LOOP, "forall (%j = 0 to 3) outs(%a = %n) { }", "PTO110", "is index", "part"),
        (LOOP, "forall (%j = 0 to 3) iter(%a = %x) { }", "PTO154", "'iter'", "outs(%x"),
        (
            LOOP,
            "forall (%j = 0 to 3) outs(%o = %x) { %y = pypto.exp %o }",
            "PTO153",
            "%o cannot be read",
            "sees nothing",
        ),
    ],
    "yield": [
        (
            LOOP,
            "for (%j = 0 to 3) iter(%a = %x) { pypto.yield }",
            "PTO150",
            "yield has 0 values, the loop carries 1",
            "one value for each iter",
        ),
        (
            LOOP,
            "for (%j = 0 to 3) iter(%a = %x) { pypto.yield %n }",
            "PTO151",
            "yield of index, the loop carries tensor<4xf32>",
            "same type",
        ),
        (
            LOOP,
            "forall (%j = 0 to 3) outs(%o = %x) { pypto.yield }",
            "PTO150",
            "a forall has no pypto.yield",
            "store",
        ),
    ],
}
