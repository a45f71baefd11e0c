"""
Cube tiles: what fits the buffers of a machine, and a simple legal choice.

A cube tile says how a matmul is cut: L1 tiles of mL1 x kL1 and kL1 x nL1 are cut into
L0 tiles of mL0 x kL0 and kL0 x nL0 that feed the matrix unit. Whether it fits is asked
of `bytes_of`, the size function that plan-memory uses, so that what is chosen here can
be placed there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import Float8E8M0FNUType, IntegerType, f32, i32
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.diagnostics import error
from pyptoc.dialects.pypto.attrs import CubeTileAttr
from pyptoc.dialects.tile_types import BufType, bytes_of, element_bits
from pyptoc.runtime.machine import Machine

MX_BLOCK = 64
"""Elements of K that share one pair of scales."""


@dataclass(frozen=True)
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
    def n_multiple(self) -> int:
        """nL0 is a multiple of this: 16 elements and 32 bytes."""
        return max(16, 256 // element_bits(self.rhs))


@dataclass(frozen=True)
class CubeTile:
    """L0 and L1 tile sizes in elements, and the split factor of K."""

    m0: int
    m1: int
    k0: int
    ka1: int
    kb1: int
    n0: int
    n1: int
    split: int = 1
    atomic: bool = False
    """Whether the parts of K are added into the result, in any order."""

    @property
    def k1(self) -> int:
        """The k step of the loop over L1 tiles: both operands' tiles are full."""
        return min(self.ka1, self.kb1)

    @classmethod
    def of(cls, attribute: CubeTileAttr) -> CubeTile:
        """The tile that an attribute spells; a missing kBL1 equals kAL1."""
        m, k, n = attribute.m, attribute.k, attribute.n
        sizes = m[0], m[1], k[0], k[1], k[-1], n[0], n[1]
        return cls(*sizes, attribute.split_k, attribute.atomic)

    def attribute(self) -> CubeTileAttr:
        """The same tile as an attribute."""
        k = [self.k0, self.ka1]
        if self.kb1 != self.ka1:
            k.append(self.kb1)
        m, n = [self.m0, self.m1], [self.n0, self.n1]
        atomic = self.atomic and self.split != 1
        return CubeTileAttr(m, k, n, self.split, atomic=atomic)

    def clamped(self, c: Contraction) -> CubeTile:
        """No larger than the matmul itself, in whole alignment units."""

        def clamp(
            inner: int, outer: int, size: int | None, unit: int
        ) -> tuple[int, int]:
            if size is None:
                return inner, outer
            inner = min(inner, round_up(max(size, 1), unit))
            return inner, min(outer, round_up(max(size, 1), inner))

        m0, m1 = clamp(self.m0, self.m1, c.m, 16)
        n0, n1 = clamp(self.n0, self.n1, c.n, c.n_multiple)
        k0, ka1 = clamp(self.k0, self.ka1, c.k, c.k_multiple)
        _, kb1 = clamp(self.k0, self.kb1, c.k, c.k_multiple)
        return replace(self, m0=m0, m1=m1, n0=n0, n1=n1, k0=k0, ka1=ka1, kb1=kb1)


@dataclass(frozen=True)
class Need:
    """What one memory space must hold for a tile."""

    space: str
    bytes: int
    formula: str
    numbers: str
    helps: str


def needs(tile: CubeTile, c: Contraction) -> list[Need]:
    """What `tile` takes of each space, every buffer once."""
    scale = Float8E8M0FNUType()

    def size(rows: int, columns: int, element: Attribute, space: str) -> int:
        return bytes_of(BufType((rows, columns), element, space))

    left = size(tile.m0, tile.k0, c.lhs, "l0a")
    right = size(tile.k0, tile.n0, c.rhs, "l0b")
    result = size(tile.m0, tile.n0, c.accumulator, "l0c")
    one = size(tile.m0, tile.ka1, c.lhs, "l1") + size(tile.kb1, tile.n0, c.rhs, "l1")
    pairs_a, pairs_b = (2 * -(-k // MX_BLOCK) for k in (tile.ka1, tile.kb1))
    pairs0 = 2 * -(-tile.k0 // MX_BLOCK)
    found = [
        Need("l0a", left, "mL0 * kL0", f"{tile.m0} * {tile.k0} = {left} B", "m or k"),
        Need("l0b", right, "kL0 * nL0", f"{tile.k0} * {tile.n0} = {right} B", "k or n"),
        Need(
            "l0c",
            result,
            "mL0 * nL0 * 4 B",
            f"{tile.m0} * {tile.n0} * 4 = {result} B",
            "m or n",
        ),
    ]
    if c.scaled:
        one += size(tile.m0, pairs_a, scale, "l1")
        one += size(pairs_b, tile.n0, scale, "l1")
        a = size(tile.m0, pairs0, scale, "scale_a")
        b = size(tile.n0, pairs0, scale, "scale_b")
        found += [
            Need("scale_a", a, "mL0 * kL0 / 32", f"{a} B", "m or k"),
            Need("scale_b", b, "nL0 * kL0 / 32", f"{b} B", "n or k"),
        ]
    if c.output_scales:
        row = size(1, tile.n0, f32, "fb")
        one += size(1, tile.n0, f32, "l1")
        found.append(Need("fb", row, "nL0 * 4 B", f"{tile.n0} * 4 = {row} B", "n"))
    if c.bias:
        row = size(1, tile.n0, c.accumulator, "bias")
        one += size(1, tile.n0, c.accumulator, "l1")
        found.append(Need("bias", row, "nL0 * 4 B", f"{tile.n0} * 4 = {row} B", "n"))
    numbers = f"{tile.m0} * {tile.ka1} + {tile.kb1} * {tile.n0}, {one} B"
    found.append(Need("l1", one, "mL0 * kAL1 + kBL1 * nL0", numbers, "k"))
    return found


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
        tile = _smaller(tile, c, need.space)
    return tile


def _smaller(tile: CubeTile, c: Contraction, space: str) -> CubeTile:
    if space == "l1" and tile.k1 > tile.k0:
        half = max(tile.k0, tile.k1 // 2 // tile.k0 * tile.k0)
        return replace(tile, ka1=half, kb1=half)
    if space in ("l1", "l0a", "l0b", "scale_a", "scale_b") and tile.k0 > c.k_multiple:
        half = max(c.k_multiple, tile.k0 // 2 // c.k_multiple * c.k_multiple)
        return replace(tile, k0=half, ka1=half, kb1=half)
    if tile.n0 > c.n_multiple and (tile.n0 >= tile.m0 or tile.m0 <= 16):
        half = max(c.n_multiple, tile.n0 // 2 // c.n_multiple * c.n_multiple)
        return replace(tile, n0=half, n1=half)
    half = max(16, tile.m0 // 2 // 16 * 16)
    return replace(tile, m0=half, m1=half)


def choose(c: Contraction, machine: Machine) -> CubeTile:
    """
    A legal tile that double-buffers L0A, L0B and L1: 128 x 256 where it fits, the
    longest power-of-two kL0 up to 256, then four k steps a load.
    """
    tile = CubeTile(128, 128, 256, 256, 256, 256, 256).clamped(c)
    half = {space: machine.space(space).bytes // 2 for space in ("l0a", "l0b", "l1")}

    def too_large(tile: CubeTile) -> str | None:
        for need in needs(tile, c):
            if need.bytes > half.get(need.space, machine.space(need.space).bytes):
                return need.space
        return None

    while (space := too_large(tile)) is not None:
        tile = _smaller(tile, c, space)
    for steps in (4, 3, 2):
        longer = replace(tile, ka1=tile.k0 * steps, kb1=tile.k0 * steps).clamped(c)
        if too_large(longer) is None:
            return longer
    return tile


def round_up(value: int, multiple: int) -> int:
    """`value` rounded up to a multiple of `multiple`."""
    return -(-value // multiple) * multiple
