"""What ops whose positions come from data reject, and those that show values.

The columns are those of `test_rejected_programs.py`.
"""

from __future__ import annotations

X = "%x: tensor<4x8xf32>"
INDICES = f"{X}, %i: tensor<3xi32>"

INDEXING: dict[str, list[tuple[str, str, str, str, str]]] = {
    "topk": [
        (X, "topk %x k 9 axis -1", "PTO138", "topk of 9 among 8", "pad_index = -1"),
        (X, "topk %x k -1 axis -1", "PTO138", "topk of -1 among 8", "k is at least 0"),
        (
            f"{X}, %n: tensor<3xi32>",
            "topk %x k 2 axis -1 lengths %n",
            "PTO113",
            "%n of [3] does not broadcast to [4]",
            "align",
        ),
    ],
    "gather_rows": [
        (
            INDICES,
            "gather_rows %x at %i through %i page 0",
            "PTO138",
            "pages of 0 rows",
            "at least 1",
        ),
        (X, "gather_rows %x at %x", "PTO111", "of f32 elements: %x", "i32 or i64"),
    ],
    "scatter_rows": [
        (
            INDICES,
            "scatter_rows %x into %x at %i",
            "PTO138",
            "rows of [4, 8] into [4, 8]: wanted [3, 8]",
            "a row for each index",
        ),
        (
            INDICES,
            "scatter_rows %x into %x at %i {rows = [1]}",
            "PTO138",
            "rows = [1] are not the leading dimensions of %x",
            "in order",
        ),
        (
            INDICES,
            "scatter_rows %x into %x at %i {rows = [0.5]}",
            "PTO143",
            "rows of scatter_rows cannot be",
            "a list of integers",
        ),
    ],
    "gather": [
        (
            f"{X}, %i: tensor<3x2xi32>",
            "gather %x, %i axis -1",
            "PTO138",
            "gather along axis 1: dimension 0 is 4 and 3",
            "but along the axis",
        ),
        (INDICES, "gather %x, %i axis 0", "PTO135", "rank 2, %i has rank 1", "<3xi32>"),
    ],
    "index_select": [
        (
            f"{X}, %i: tensor<3x2xi32>",
            "index_select %x at %i axis 0",
            "PTO135",
            "takes rank 1, %i has rank 2",
            "tensor<3x2xi32>",
        ),
        (INDICES, "index_select %x at %i axis 2", "PTO135", "axis 2 of", "-2 to 1"),
    ],
    "index_add": [
        (
            INDICES,
            "index_add %x into %x at %i axis 0",
            "PTO138",
            "index_add of [4, 8] into [4, 8]: wanted [3, 8]",
            "one slice for each index",
        ),
    ],
    "scatter": [
        (
            f"{X}, %i: tensor<3x2xi32>",
            "scatter %x into %x at %i axis 1",
            "PTO138",
            "scatter along axis 1: dimension 0 is 4 and 3",
            "equal sizes, but along the axis",
        ),
        (
            f"{X}, %i: tensor<4x2xi32>",
            "scatter %x into %x at %i axis 1",
            "PTO138",
            "scatter of [4, 8] into [4, 8]: wanted [4, 2]",
            "an element for each index",
        ),
        (
            INDICES,
            "scatter %x into %x at %i axis 0",
            "PTO135",
            "rank 2, %i has rank 1",
            "<3xi32>",
        ),
        (X, "scatter %x into %x at %x axis 2", "PTO111", "of f32", "i32 or i64"),
        (
            f"{X}, %i: tensor<4x8xi32>",
            "scatter %x into %x at %i axis 2",
            "PTO135",
            "axis 2 of a tensor of rank 2",
            "-2 to 1",
        ),
        (
            "%x: tensor<4xi1>, %i: tensor<4xi32>",
            "scatter %x into %x at %i axis 0 {add}",
            "PTO111",
            "scatter of i1 elements",
            "f16, bf16 or an integer",
        ),
    ],
    "index_put": [
        (
            INDICES,
            "index_put %x into %x at %i",
            "PTO138",
            "index_put of [4, 8] into [4, 8]: wanted [3, 8]",
            "a value for each index",
        ),
        (
            f"{INDICES}, %j: tensor<5xi32>",
            "index_put %x into %x at %i, %j",
            "PTO138",
            "index_put at 3 and 5 indices",
            "as many indices for each leading dimension",
        ),
        (
            INDICES,
            "index_put %x into %x at %i, %i, %i",
            "PTO135",
            "rank at least 3, %x has rank 2",
            "<4x8xf32>",
        ),
        (X, "index_put %x into %x at %x", "PTO111", "of f32 elements", "i32 or i64"),
    ],
    "argsort": [
        (X, "argsort %x axis 2", "PTO135", "axis 2 of a tensor of rank 2", "-2 to 1"),
        ("%x: tensor<4xi1>", "argsort %x axis 0", "PTO111", "of i1", "an integer"),
    ],
    "gather_mask": [
        (X, "gather_mask %x pattern P0011", "PTO143", "cannot be 'P0011'", "P0101"),
        (
            "%x: tensor<f32>",
            "gather_mask %x pattern P0101",
            "PTO135",
            "rank at least 1, %x has rank 0",
            "tensor<f32>",
        ),
    ],
    "one_hot": [
        (INDICES, "one_hot %i -3", "PTO138", "one_hot of -3 columns", "at least 0"),
        (X, "one_hot %x 8", "PTO111", "one_hot of f32 elements", "i32 or i64"),
    ],
    "probe": [
        (
            "%n: index",
            'probe %n "a"',
            "PTO110",
            "probe takes a tensor, %n is",
            "scalars",
        ),
        (X, "probe %x", "PTO100", "a text in quotes is expected", 'pypto.probe %x "'),
    ],
    "print": [
        (
            "%n: f64",
            'print "a" %n',
            "PTO110",
            "print takes a tensor or a scalar, %n is f64",
            "a scalar is f32, index or an integer",
        ),
        (X, "print %x", "PTO100", "a text in quotes is expected", "pypto.print"),
    ],
}
