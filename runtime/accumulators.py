"""
Accumulators in l0c that need not be filled: what they would hold lies elsewhere.

    scf.for %k = .. { .. matmul .. into %acc }       v5 = g9.finish(pieces, g2[:v3], ..)
    tile.store %acc [%m, 64] into %y[..]        ->   b2[..] = v5

Where a product was computed ahead (`ahead.py`), or is kept (`kept_work.py`), a copy
into its accumulator is left out if stores and pushes of just that box are all that
reads it. They come before the next matmul, which may use the memory of what was found
again. No other buffer shares the bytes of the accumulator: what is wrong with addresses
still shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdsl.ir import Block, Operation

from pyptoc.dialects.npu_kernel import KernelOp
from pyptoc.dialects.tile import allocation_of, uses_of
from pyptoc.dialects.tile_alloc import Allocation
from pyptoc.dialects.tile_mixed import PushOp
from pyptoc.dialects.tile_transfer import StoreOp
from pyptoc.runtime.matmul_groups import MATMULS
from pyptoc.runtime.memory import sharing_in


def blocks_of_readers(
    kernel: KernelOp, matmuls: Iterable[Any]
) -> dict[Operation, Block]:
    """The matmuls whose sums need not lie in their buffer, each with the block of what
    reads them."""
    near = sharing_in(kernel)
    found: dict[Operation, Block] = {}
    for matmul in matmuls:
        alloc = allocation_of(matmul.dest)
        block = None if near[alloc] else _block_of_readers(matmul, alloc)
        if block is not None:
            found[matmul] = block
    return found


def _block_of_readers(matmul: Any, alloc: Allocation) -> Block | None:
    """The block of the stores and pushes that read what a matmul alone writes."""
    readers: set[Operation] = set()
    for user, value in uses_of(alloc):
        if user is matmul:
            continue
        if not isinstance(user, StoreOp | PushOp) or value is not matmul.dest:
            return None
        if list(user.extents) != list(matmul.extents[:2]):
            return None
        readers.add(user)
    blocks = {user.parent for user in readers}
    if len(blocks) != 1:
        return None
    (block,) = blocks
    assert block is not None
    op = block.find_ancestor_op_in_block(matmul)
    while op is not None and readers:
        op = op.next_op
        if op is not None and any(inner.name in MATMULS for inner in op.walk()):
            return None
        readers.discard(op)  # pyright: ignore[reportArgumentType]
    return None if readers else block
