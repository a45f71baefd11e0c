"""
`grouped_matmul` as a loop over the experts, each with its rows.

    %y = pypto.grouped_matmul %a, %b groups %g scales %sa, %sb

becomes

    %m = pypto.dim %a, 0
    %y0 = pypto.empty[%m, 7168] : tensor<?x7168xf32>
    %end, %y = scf.for %e = %c0 to %c2 step %c1 iter_args(%begin = %c0, %y1 = %y0) {
      %rows = pypto.read %g[%e]
      pypto.assert 0 <= %rows, "expert {0}: negative group {1}", %e, %rows
      %next = pypto.index %begin + %rows
      pypto.assert %next <= %m, "expert {0} of 2: rows {1} +: {2} end at {3}, ..."
      %x = pypto.view %a[%begin +: %rows, :]
      %w = pypto.view %b[%e, :, :]
      ...
      %p = pypto.scaled_mm %x, %w scales %sx, %sw
      %y2 = pypto.assemble %p into %y1[%begin, 0]
      scf.yield %next, %y2
    } {npu.parallel}
    pypto.assert %end == %m, "the groups sum to {0}, %a has {1} rows"

With `group_kind = "ends"` the groups say where each expert's rows end. The sum cannot
be checked before the rows are read; a result that was not fully written is an error in
any case, so the assert stands after the loop.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.expr import Compare, Expr
from pyptoc.dialects.pypto.matmul import GroupedMatmulOp, MatmulOp, ScaledMmOp
from pyptoc.dialects.pypto.scalars import ReadOp
from pyptoc.dialects.pypto.shape import AssembleOp, EmptyOp, ViewOp
from pyptoc.dialects.record import record
from pyptoc.passes.builder import Builder
from pyptoc.passes.obligations import value_name
from pyptoc.passes.shapes import Shapes
from pyptoc.passes.steps import Steps
from pyptoc.passes.typed import tensor_rank

CODE = "PTO402"


def grouped_matmul(op: GroupedMatmulOp, shapes: Shapes) -> None:
    """Rows [begin, begin + g[e]) of A times B[e], for each expert e."""
    step = Steps.replacing(op, shapes, op.result)
    build = step.build
    rows, experts = shapes.dims(op.lhs)[0], shapes.dims(op.rhs)[0]
    _check_shapes(op, build, shapes)
    columns = shapes.dims(op.rhs)[1 if op.b_trans else 2]
    sizes = [build.index_or_int(size) for size in (rows, columns)]
    empty = build.value(EmptyOp.make(sizes, result_type=op.result.type))
    first = build.constant(0)
    loop, body = build.loop(0, experts, 1, [first, empty], parallel=True, name="e")
    expert, begin, into = loop.body.block.args
    begin.name_hint, into.name_hint = "begin", op.result.name_hint
    size, end = _group(op, body, expert, begin)
    group = _Group(expert, begin, size, end)
    _check_group(op, body, group, rows, experts)
    product = body.value(_product(op, body, group))
    if "tile" in op.attributes:
        product.op.attributes["tile"] = op.attributes["tile"]
    written = body.value(
        AssembleOp.make(product, into, [begin, 0]), op.result.name_hint
    )
    body.yield_(end, written)
    name = value_name(op.lhs)
    loop.results[0].name_hint = "total"
    total = Expr.sym(loop.results[0])
    build.require(
        Compare("==", total, rows),
        f"the groups sum to {{0}}, {name} has {{1}} rows",
        (total, rows),
        CODE,
    )
    step.finish([loop.results[1]])


@record
class _Group:
    """The rows of one expert, as values of the loop's body."""

    expert: SSAValue
    begin: SSAValue
    size: SSAValue
    end: SSAValue


def _group(
    op: GroupedMatmulOp, body: Builder, expert: SSAValue, begin: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """How many rows the expert has, and where they end."""
    read = body.value(ReadOp.make(op.groups, [expert]))
    start, value = Expr.sym(begin), Expr.sym(read)
    if op.group_kind is not None and op.group_kind.data == "ends":
        read.name_hint = "end"
        return body.index(value - start, "rows"), read
    read.name_hint = "rows"
    return read, body.index(start + value, "end")


def _check_group(
    op: GroupedMatmulOp, body: Builder, group: _Group, rows: Expr, experts: Expr
) -> None:
    """The group is not negative and ends inside A."""
    expert, begin = Expr.sym(group.expert), Expr.sym(group.begin)
    size, end = Expr.sym(group.size), Expr.sym(group.end)
    body.require(
        Compare("<=", Expr.const(0), size),
        "expert {0}: negative group {1}",
        (expert, size),
        CODE,
    )
    name = value_name(op.lhs)
    body.require(
        Compare("<=", end, rows),
        f"expert {{0}} of {{1}}: view of {name} rows {{2}} +: {{3}} ends at {{4}}, "
        f"{name} has {{5}} rows",
        (expert, experts, begin, size, end, rows),
        CODE,
    )


def _product(op: GroupedMatmulOp, body: Builder, group: _Group) -> Operation:
    """The rows of the group times the expert's matrix."""
    b = _expert(body, op.rhs, group)
    if op.scale_lhs is None or op.scale_rhs is None:
        return MatmulOp.make(_rows(body, op.lhs, group), b, b_trans=bool(op.b_trans))
    return ScaledMmOp.make(
        _rows(body, op.lhs, group),
        b,
        _rows(body, op.scale_lhs, group),
        _expert(body, op.scale_rhs, group),
        b_trans=bool(op.b_trans),
        scales_b_trans=bool(op.scales_b_trans),
    )


def _rows(body: Builder, value: SSAValue, group: _Group) -> SSAValue:
    """`%value[%begin +: %rows, :, ...]`"""
    part = (group.begin, group.size)
    return body.value(ViewOp.make(value, [part, *[None] * (tensor_rank(value) - 1)]))


def _expert(body: Builder, value: SSAValue, group: _Group) -> SSAValue:
    """`%value[%e, :, ...]`"""
    whole = [None] * (tensor_rank(value) - 1)
    return body.value(ViewOp.make(value, [group.expert, *whole]))


def _check_shapes(op: GroupedMatmulOp, build: Builder, shapes: Shapes) -> None:
    """Dynamic sizes that the loop alone would not compare."""
    pairs = [(op.rhs, 0, op.groups)]
    if op.scale_lhs is not None and op.scale_rhs is not None:
        pairs += [(op.lhs, 0, op.scale_lhs), (op.rhs, 0, op.scale_rhs)]
    for a, axis, b in pairs:
        have, want = shapes.dims(b)[axis], shapes.dims(a)[axis]
        if have != want:
            build.require(
                Compare("==", have, want),
                f"{value_name(b)} is for {{0}} of dimension {axis}, "
                f"{value_name(a)} has {{1}}",
                (have, want),
                CODE,
            )
