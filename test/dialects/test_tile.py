"""Buffer sizes, and how tile and npu operations are built and read from Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E8M0FNUType,
    IndexType,
    MemRefType,
    bf16,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.ir import SSAValue

from pyptoc.dialects import npu, tile
from pyptoc.dialects.expr import Expr
from pyptoc.dialects.npu import Access, AccessMode, Selector
from pyptoc.dialects.tile import BufType, Pipe, Space, bytes_of
from pyptoc.dialects.tile_vector import Form, vector_op

F8 = Float8E4M3FNType()
SCALE = Float8E8M0FNUType()
INDEX = IndexType()


def values(*types) -> list[SSAValue]:
    return list(test.TestOp(result_types=types).results)


def buf(rows, columns, element, space) -> BufType:
    return BufType((rows, columns), element, space)


# Sizes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns", "element", "space", "size"),
    [
        # ub: each row a multiple of 32 B; i1 takes a byte, f4 half of one
        (16, 256, f32, "ub", 16 * 1024),
        (16, 1, f32, "ub", 16 * 32),
        (1, 9, f32, "ub", 64),
        (3, 33, i1, "ub", 3 * 64),
        (1, 65, Float4E2M1FNType(), "ub", 64),
        (1, 64, Float4E2M1FNType(), "ub", 32),
        (1, 17, bf16, "bias", 64),
        (1, 17, bf16, "fb", 64),
        # l1, l0a: fractals of 16 rows x 32 B
        (16, 32, F8, "l1", 512),
        (1, 1, F8, "l1", 512),
        (17, 33, F8, "l1", 4 * 512),
        (17, 16, bf16, "l0a", 2 * 512),
        (16, 9, f32, "l0a", 2 * 512),
        # l0b holds [k, n]: 32 B along k, 16 columns
        (32, 16, F8, "l0b", 512),
        (33, 17, F8, "l0b", 4 * 512),
        (8, 16, f32, "l0b", 512),
        # M = 16 with i32: what counts is the padded size
        (16, 16, i32, "l0c", 1024),
        (1, 17, i32, "l0c", 2 * 1024),
        (256, 256, f32, "l0c", 256 * 1024),
        # scales: fractals of 16 x 2
        (16, 2, SCALE, "scale_a", 32),
        (17, 8, SCALE, "scale_b", 4 * 2 * 32),
        (128, 8, SCALE, "scale_a", 1024),
    ],
)
def test_bytes_of(rows, columns, element, space, size):
    assert bytes_of(buf(rows, columns, element, space)) == size


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from([f32, BFloat16Type(), i8, F8]),
    st.sampled_from(list(Space)),
)
def test_bytes_of_grows_and_holds_the_elements(rows, columns, element, space):
    size = bytes_of(buf(rows, columns, element, space))
    assert size >= rows * columns * element.bitwidth // 8
    assert size % 32 == 0
    assert bytes_of(buf(rows + 1, columns, element, space)) >= size
    assert bytes_of(buf(rows, columns + 1, element, space)) >= size


def test_allocation_counts_its_slots():
    op = tile.AllocOp.make(buf(16, 16, f32, "ub"), slots=3)
    assert op.total_bytes == 3 * 16 * 64
    assert op.address is None
    op.set_address(64)
    op.set_slots(1)
    assert (op.address, op.slot_count) == (64, 1)
    slot = tile.SlotOp.make(op.results[0], 0)
    assert tile.allocation_of(slot.results[0]) is op
    assert tile.allocation_of(op.results[0]) is op


# Instructions ------------------------------------------------------------------------


def test_pipes():
    gm, ub, l1, l0a, l0b, l0c = values(
        npu.gm_memref(f32, [16, 16]),
        *(buf(16, 16, f32, space) for space in ("ub", "l1", "l0a", "l0b", "l0c")),
    )
    box = ([0, 0], [16, 16])
    pipes = {
        tile.LoadOp.make(gm, *box, ub): Pipe.MTE2,
        tile.LoadOp.make(gm, *box, l1): Pipe.MTE2,
        tile.StoreOp.make(ub, [16, 16], gm, [0, 0]): Pipe.MTE3,
        tile.StoreOp.make(l0c, [16, 16], gm, [0, 0]): Pipe.FIX,
        tile.MoveOp.make(l1, *box, l0a): Pipe.MTE1,
        tile.MatmulOp.make(l0a, l0b, l0c, [16, 16, 16]): Pipe.M,
        vector_op("exp", [ub], ub, [16, 16]): Pipe.V,
        tile.SetFlagOp.make("v", "mte3", 0): Pipe.V,
        tile.WaitFlagOp.make("v", "mte3", 0): Pipe.MTE3,
        tile.BarrierOp.make(): Pipe.S,
    }
    for op, pipe in pipes.items():
        op.verify()
        assert op.pipe is pipe, op.name


def test_reads_and_writes():
    gm, ub, row, l0a, l0b, l0c, scalar, condition = values(
        npu.gm_memref(f32, [16, 16]),
        buf(16, 16, f32, "ub"),
        buf(16, 1, f32, "ub"),
        *(buf(16, 16, f32, space) for space in ("l0a", "l0b", "l0c")),
        f32,
        i1,
    )
    load = tile.LoadOp.make(gm, [0, 0], [16, 16], ub)
    assert (load.reads(), load.writes()) == ([gm], [ub])
    op = vector_op("clip", [ub, (row, "row"), scalar], ub, [16, 16])
    assert (op.reads(), op.writes()) == ([ub, row], [ub])
    assert op.args == ((ub, Form.FULL), (row, Form.ROW), (scalar, Form.SCALAR))
    extents = [16, 16, 16]
    first = tile.MatmulOp.make(l0a, l0b, l0c, extents)
    assert (first.accumulate, first.reads()) == (False, [l0a, l0b])
    more = tile.MatmulOp.make(l0a, l0b, l0c, extents, accumulate=True)
    assert (more.accumulate, more.reads()) == (True, [l0a, l0b, l0c])
    maybe = tile.MatmulOp.make(l0a, l0b, l0c, extents, accumulate=condition)
    assert (maybe.accumulate, maybe.reads()) == (condition, [l0a, l0b, l0c])
    assert maybe.writes() == [l0c]


def test_mixed_offsets_and_extents_survive():
    gm, ub, i, m = values(
        npu.gm_memref(f32, [-(2**63), 16]), buf(16, 16, f32, "ub"), INDEX, INDEX
    )
    op = tile.LoadOp.make(gm, [i, 0], [m, 16], ub)
    op.verify()
    assert (op.mixed_offsets, op.extents) == ([i, 0], [m, 16])
    assert op.box_dims == (0, 1)
    assert (op.source, op.dest) == (gm, ub)
    transposed = tile.LoadOp.make(gm, [0, i], [16, m], ub, dims=(1, 0))
    assert transposed.box_dims == (1, 0)


# Tasks -------------------------------------------------------------------------------


def test_tasks_fields():
    n, a, y, s, e = values(
        INDEX,
        npu.gm_memref(f32, [4, 4]),
        npu.gm_memref(f32, [4, 4]),
        f32,
        npu.EVENTS,
    )
    d0 = Expr.sym("d0")
    access = Access(AccessMode.READ, 1, (d0, Expr.const(0)), (d0 + 1, d0))
    op = npu.TasksOp.make(
        [n, 28],
        "cube",
        buffers=[a, y],
        scalars=[s],
        waits=[e],
        selectors=[Selector.box(d0, None)],
        accesses=[access],
        seq=[1],
    )
    op.verify()
    assert op.grid == [n, 28]
    assert op.ordered_axes == (1,)
    assert op.is_memory_form
    assert len(op.grid_args) == 2
    assert op.out_args == ()
    assert op.access_list == [access]
    assert op.wait_list == [(e, Selector.box((d0, d0 + 1), None))]


def test_kernel_and_launch_fields():
    memory = npu.gm_memref(f32, [4, 4])
    kernel = npu.KernelOp.make("k", 2, [memory, memory, INDEX, f32], "vector")
    kernel.verify()
    assert [len(kernel.grid_args), len(kernel.buffer_args)] == [2, 2]
    assert [p.type for p in kernel.scalar_args] == [INDEX, f32]
    n, a, y, s, e = values(INDEX, memory, memory, f32, npu.EVENTS)
    launch = npu.LaunchOp.make("k", [n, 4], [a, y, n, s], waits=[e])
    launch.verify()
    launch.verify_against(kernel)
    assert launch.callee_name == "k"
    assert (launch.grid, launch.buffers, launch.scalars) == ([n, 4], [a, y], [n, s])
    assert launch.wait_list == [(e, npu.ALL)]


def test_load_infers_its_type():
    n, i, memory = values(INDEX, INDEX, npu.gm_memref(f32, [-(2**63), 8, 16]))
    op = npu.LoadOp.make(memory, [i, (0, n), None], bounds=[4, 16])
    op.verify()
    assert str(op.results[0].type) == "tensor<?x16xf32, #npu.max<4, 16>>"
    assert op.mixed_sizes == [1, n, None]
    assert op.dropped_dims == (0,)


def test_memref_in_gm():
    assert isinstance(npu.gm_memref(f32, [4]), MemRefType)
    assert str(npu.gm_memref(f32, [4])) == 'memref<4xf32, "gm">'


def test_each_wait_has_a_selector():
    (e,) = values(npu.EVENTS)
    with pytest.raises(ValueError, match="2 selectors for 1 waits"):
        npu.LaunchOp.make("k", [1], [], waits=[e], selectors=[npu.ALL, npu.ALL])
