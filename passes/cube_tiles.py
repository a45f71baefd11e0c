"""
Cube tiles: what fits the buffers of a machine.

A cube tile says how a matmul is cut: L1 tiles of mL1 x kL1 and kL1 x nL1 are cut into
L0 tiles of mL0 x kL0 and kL0 x nL0 that feed the matrix unit. Whether it fits is asked
of `box_bytes`, the size function that plan-memory uses, so that what is chosen can be
placed there. Which tile is good is asked of `cube_cost`, and found by `tile_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.record import record
from pyptoc.dialects.tile_types import box_bytes, element_bits, round_up
from pyptoc.dialects.walk import Walk
from pyptoc.runtime.machine import Machine

STEPS = (1, 2, 4, 8)
"""kL0 in alignment units, and kL1 in kL0, of tasks that do more than a product."""
MX_BLOCK = 64
"""Elements of K that share one pair of scales."""


@record
class Contraction:
    """What a tile must know of a matmul; a size is None where it is dynamic."""

    lhs: Attribute
    rhs: Attribute
    m: int | None
    n: int | None
    k: int | None
    scaled: bool
    a_trans: bool
    output_scales: bool = False
    """Whether each column of the result has a scale of its own."""
    bias: bool = False
    """Whether the sum of each column starts at a number of its own."""
    b_trans: bool = False

    @property
    def accumulator(self) -> Attribute:
        """Element type of L0C: exact i32 for integers, else f32."""
        return i32 if isinstance(self.lhs, IntegerType) else f32

    @property
    def k_multiple(self) -> int:
        """kL0 is a multiple of this: 16 elements, 32 bytes, 64 for MX."""
        row = 256 // min(element_bits(self.lhs), element_bits(self.rhs))
        return max(16, row, MX_BLOCK if self.scaled else 0)

    @property
    def m_multiple(self) -> int:
        """mL0 is a multiple of this: 16 elements, 32 bytes of A stored transposed."""
        return max(16, 256 // element_bits(self.lhs)) if self.a_trans else 16

    @property
    def n_multiple(self) -> int:
        """nL0 is a multiple of this: 16 elements and 32 bytes."""
        return max(16, 256 // element_bits(self.rhs))


@record
class CubeTile:
    """L0 and L1 tile sizes in elements, the split factor of K, and the schedule."""

    m0: int
    m1: int
    k0: int
    ka1: int
    kb1: int
    n0: int
    n1: int
    split: int = 1
    walk: Walk | None = None
    assign: str | None = None
    atomic: bool = False
    """Whether the parts of K are added into the result, in any order."""

    @property
    def k_step(self) -> int:
        """The step of the outermost loop over K; parts of K have whole steps."""
        return max(self.ka1, self.kb1)

    @property
    def k1(self) -> int:
        """The step of K at which both operands come to L1, where there is one loop."""
        return min(self.ka1, self.kb1)

    @classmethod
    def of(cls, attribute: CubeTileAttr) -> CubeTile:
        """The tile that an attribute spells; a missing kBL1 equals kAL1."""
        m, k, n = attribute.m, attribute.k, attribute.n
        split, walk, assign = attribute.split_k, attribute.walk, attribute.assign
        sizes = m[0], m[1], k[0], k[1], k[-1], n[0], n[1]
        return cls(*sizes, split, walk, assign, attribute.atomic)

    def attribute(self) -> CubeTileAttr:
        """The same tile as an attribute."""
        m, k, n = [self.m0, self.m1], [self.k0, self.ka1], [self.n0, self.n1]
        if self.kb1 != self.ka1:
            k.append(self.kb1)
        atomic = self.atomic and self.split != 1
        return CubeTileAttr(m, k, n, self.split, self.walk, self.assign, atomic=atomic)

    def clamped(self, c: Contraction) -> CubeTile:
        """No larger than the matmul itself, in whole alignment units."""

        def clamp(
            inner: int, outer: int, size: int | None, unit: int
        ) -> tuple[int, int]:
            if size is None:
                return inner, outer
            inner = min(inner, round_up(max(size, 1), unit))
            return inner, min(outer, round_up(max(size, 1), inner))

        m0, m1 = clamp(self.m0, self.m1, c.m, c.m_multiple)
        n0, n1 = clamp(self.n0, self.n1, c.n, c.n_multiple)
        k0, ka1 = clamp(self.k0, self.ka1, c.k, c.k_multiple)
        _, kb1 = clamp(self.k0, self.kb1, c.k, c.k_multiple)
        return replace(self, m0=m0, m1=m1, n0=n0, n1=n1, k0=k0, ka1=ka1, kb1=kb1)


@record
class Need:
    """What one memory space must hold for a tile."""

    space: str
    bytes: int
    formula: str
    numbers: str


def bytes_by_space(tile: Any, c: Contraction) -> dict[str, Any]:
    """
    What `tile` takes of each space, every buffer once.

    The sizes of `tile` are numbers or numpy arrays of them (`cube_cost.Tiles`); so are
    the bytes.
    """
    m0, k0, n0 = tile.m0, tile.k0, tile.n0
    lhs, rhs, out = map(element_bits, (c.lhs, c.rhs, c.accumulator))
    found = {
        "l0a": box_bytes(m0, k0, lhs, "l0a"),
        "l0b": box_bytes(k0, n0, rhs, "l0b"),
        "l0c": box_bytes(m0, n0, out, "l0c"),
    }
    l1 = box_bytes(m0, tile.ka1, lhs, "l1") + box_bytes(tile.kb1, n0, rhs, "l1")
    if c.scaled:
        l1 += box_bytes(m0, _pairs(tile.ka1), 8, "l1")
        l1 += box_bytes(_pairs(tile.kb1), n0, 8, "l1")
        found["scale_a"] = box_bytes(m0, _pairs(k0), 8, "scale_a")
        found["scale_b"] = box_bytes(n0, _pairs(k0), 8, "scale_b")
    if c.output_scales:
        found["fb"] = box_bytes(1, n0, 32, "fb")
        l1 += box_bytes(1, n0, 32, "l1")
    if c.bias:
        found["bias"] = box_bytes(1, n0, out, "bias")
        l1 += box_bytes(1, n0, out, "l1")
    return found | {"l1": l1}


def _pairs(k: Any) -> Any:
    """Scales of `k` elements of a row: two for each block of 64."""
    return 2 * -(-k // MX_BLOCK)


def needs(tile: CubeTile, c: Contraction) -> list[Need]:
    """What `tile` takes of each space, with the rules that errors quote."""
    found = bytes_by_space(tile, c)
    m0, k0, n0 = tile.m0, tile.k0, tile.n0
    each = f"{m0} * {tile.ka1} + {tile.kb1} * {n0}"
    if tile.ka1 == tile.kb1:
        each = f"({m0} + {n0}) * {tile.ka1}"
    rules = {
        "l0a": ("mL0 * kL0", f"{m0} * {k0} = {found['l0a']} B"),
        "l0b": ("kL0 * nL0", f"{k0} * {n0} = {found['l0b']} B"),
        "l0c": ("mL0 * nL0 * 4 B", f"{m0} * {n0} * 4 = {found['l0c']} B"),
        "scale_a": ("mL0 * kL0 / 32", f"{found.get('scale_a')} B"),
        "scale_b": ("nL0 * kL0 / 32", f"{found.get('scale_b')} B"),
        "fb": ("nL0 * 4 B", f"{n0} * 4 = {found.get('fb')} B"),
        "bias": ("nL0 * 4 B", f"{n0} * 4 = {found.get('bias')} B"),
        "l1": ("mL0 * kAL1 + kBL1 * nL0", f"{each}, {found['l1']} B"),
    }
    return [Need(space, found[space], *rules[space]) for space in found]


def overflow(tile: CubeTile, c: Contraction, machine: Machine) -> Need | None:
    """The first space that `tile` does not fit, each buffer taken once."""
    for need in needs(tile, c):
        if need.bytes > machine.space(need.space).bytes:
            return need
    return None


def check_fits(tile: CubeTile, c: Contraction, machine: Machine, op: Operation) -> None:
    """PTO210 if a space cannot hold the tile; the help names a tile that fits."""
    need = overflow(tile, c, machine)
    if need is None:
        return
    capacity = machine.space(need.space).bytes
    fit = shrink(tile, c, machine)
    error(
        op,
        "PTO210",
        f"cube tile does not fit {need.space.upper()} of {machine.name}",
        rule=f"{need.formula}, padded to whole fractals, <= {capacity} B "
        f"({need.space.upper()}); {capacity // 2} B when double-buffered",
        here=need.numbers,
        help=f"this fits: m = [{fit.m0}, {fit.m1}], k = [{fit.k0}, {fit.ka1}], "
        f"n = [{fit.n0}, {fit.n1}]",
    )


def shrink(tile: CubeTile, c: Contraction, machine: Machine) -> CubeTile:
    """Halve the sizes that a too small space asks for until the tile fits."""
    while (need := overflow(tile, c, machine)) is not None:
        tile = smaller(tile, c, need.space)
    return tile


def smaller(tile: CubeTile, c: Contraction, space: str) -> CubeTile:
    """The tile with the sizes halved that a too small space asks for."""
    if space == "l1" and tile.k_step > tile.k0:
        half = max(tile.k0, tile.k_step // 2 // tile.k0 * tile.k0)
        return replace(tile, ka1=min(tile.ka1, half), kb1=min(tile.kb1, half))
    if space in ("l1", "l0a", "l0b", "scale_a", "scale_b") and tile.k0 > c.k_multiple:
        half = max(c.k_multiple, tile.k0 // 2 // c.k_multiple * c.k_multiple)
        return replace(tile, k0=half, ka1=half, kb1=half)
    if tile.n0 > c.n_multiple and (tile.n0 >= tile.m0 or tile.m0 <= c.m_multiple):
        half = max(c.n_multiple, tile.n0 // 2 // c.n_multiple * c.n_multiple)
        return replace(tile, n0=half, n1=half)
    half = max(c.m_multiple, tile.m0 // 2 // c.m_multiple * c.m_multiple)
    return replace(tile, m0=half, m1=half)


def holds(
    tile: CubeTile, parts: Sequence[Contraction], machine: Machine, often: int = 1
) -> bool:
    """Whether the cube core's memories hold a tile of each, its operands so often."""
    times = {"l0c": 1, "fb": 1, "bias": 1}
    return all(
        times.get(space, often) * size <= machine.space(space).bytes
        for c in parts
        for space, size in bytes_by_space(tile, c).items()
    )


def deepest(
    parts: Sequence[Contraction], m0: int, n0: int, k: int, machine: Machine
) -> CubeTile | None:
    """
    The L0 tile of `m0` x `n0` with the longest steps of K that L0 and L1 hold twice.

    Or else once; None: they do not. `k` is how long K is, at most.
    """
    unit = max(c.k_multiple for c in parts)
    most = round_up(max(k, 1), unit)
    for often in (2, 1):
        for k0 in [unit * step for step in reversed(STEPS) if unit * step <= most]:
            tile = CubeTile(m0, m0, k0, k0, k0, n0, n0)
            if not holds(tile, parts, machine, often):
                continue
            # A loop of one step has nothing to overlap with.
            steps = [step for step in reversed(STEPS) if 2 * step * k0 <= most]
            longer = (replace(tile, ka1=k0 * n, kb1=k0 * n) for n in steps)
            return next((t for t in longer if holds(t, parts, machine, often)), tile)
    return None


def whole_tile(c: Contraction) -> CubeTile:
    """All of a product whose sizes have bounds, before it is cut so that it fits."""
    m0, n0 = round_up(c.m or 1, c.m_multiple), round_up(c.n or 1, c.n_multiple)
    k0 = c.k_multiple
    return CubeTile(m0, m0, k0, k0, k0, n0, n0)
