"""The `pypto` dialect: operators on tensors, as their authors write them.

A file a family; `base.py` shows how an operation is defined, `infer*.py` says which
types come out, `attrs.py` has the attributes.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from pyptoc.dialects.pypto.attrs import (
    CubeTileAttr,
    DataAttr,
    TilesAttr,
    TolAttr,
    VecTileAttr,
)
from pyptoc.dialects.pypto.claims import CLAIM_OPS, ClaimsType
from pyptoc.dialects.pypto.composite import COMPOSITE_OPS
from pyptoc.dialects.pypto.control import CONTROL_OPS
from pyptoc.dialects.pypto.debug import DEBUG_OPS
from pyptoc.dialects.pypto.elementwise import ELEMENTWISE_OPS
from pyptoc.dialects.pypto.indexing import INDEXING_OPS
from pyptoc.dialects.pypto.matmul import MATMUL_OPS
from pyptoc.dialects.pypto.quantising import QUANTISING_OPS
from pyptoc.dialects.pypto.reduce import REDUCE_OPS
from pyptoc.dialects.pypto.scalar_expr import ScalarExprAttr
from pyptoc.dialects.pypto.scalars import SCALAR_OPS
from pyptoc.dialects.pypto.shape import SHAPE_OPS

Pypto = Dialect(
    "pypto",
    [
        *ELEMENTWISE_OPS,
        *REDUCE_OPS,
        *MATMUL_OPS,
        *COMPOSITE_OPS,
        *QUANTISING_OPS,
        *INDEXING_OPS,
        *SHAPE_OPS,
        *SCALAR_OPS,
        *CONTROL_OPS,
        *DEBUG_OPS,
        *CLAIM_OPS,
    ],
    [
        CubeTileAttr,
        VecTileAttr,
        TilesAttr,
        TolAttr,
        DataAttr,
        ScalarExprAttr,
        ClaimsType,
    ],
)
