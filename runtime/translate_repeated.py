"""Work that tasks repeat, in the generated source (see `repeated.py`, `kept_work.py`).

    tile.gather ..                     v8 = g7.get((v4, v6))
    tile.mul %c, %s row into %c        if v8 is None:
    tile.push %c into %d          ->       v9 = g7.new()
                                           gather(..); multiply(..)
                                           v10 = g7.keep(g5[:v3], v9)
                                           g7.put((v4, v6), v9)
                                       else: v10 = v8[0]
                                       g3.push(v1, v10)

An output that is not read as a whole is copied into its buffer instead. With `check`,
and out of program order, each task does all its work.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from pyptoc.dialects.record import record
from pyptoc.runtime.kept_work import KeptPiece, Store
from pyptoc.runtime.memory import Apart
from pyptoc.runtime.repeated import Piece, Run, pieces_of

if TYPE_CHECKING:
    from pyptoc.runtime.translate import KernelTranslator


@record(frozen=False, eq=False)
class _Place:
    """A run of a piece, and the locals of the piece."""

    piece: Piece
    run: Run
    names: dict[str, str]
    """`site`, `key`, `found` and `parts`: those of the piece."""
    boxes: dict[str, str]
    """Slices that were cut out by members before, by their text."""


class RepeatedWork:
    """The pieces of a kernel."""

    def __init__(self, to: KernelTranslator) -> None:
        self.to, self.store = to, Store()
        self.pieces: list[Piece] = []
        self.runs: dict[Operation, _Place] = {}
        """By each member."""
        self.boxes: dict[str, str] = {}
        self.written: set[Operation] = set()
        """Operations that were written before their turn."""
        self.sites: dict[Hashable, str] = {}
        """The globals of what is kept, by signature."""
        self.parts: dict[SSAValue, str] = {}
        """By a buffer that an output stands in for: the text of whether it is kept."""
        self.known_by: dict[SSAValue, Hashable] = {}
        """By a buffer that an output stands in for: the same for the same work."""
        if not to.core.is_plain:
            return
        self.pieces = pieces_of(to.kernel, to.stored)
        for piece in self.pieces:
            names: dict[str, str] = {}
            boxes: dict[str, str] = {}
            for run in piece.runs:
                place = _Place(piece, run, names, boxes)
                self.runs.update(dict.fromkeys(run.members, place))
            outputs = [output for run in piece.runs for output in run.outputs]
            for number, output in enumerate(outputs):
                if output.stands_in:
                    self.known_by[output.buffer] = piece.signature, number

    def outputs(self, stand_in: bool = False) -> set[SSAValue]:
        """The buffers that others read as well; those that an output stands in for."""
        return {
            output.buffer
            for piece in self.pieces
            for run in piece.runs
            for output in run.outputs
            if output.stands_in or not stand_in
        }

    def begin_launch(self) -> None:
        """Write what comes before the tasks."""
        to = self.to
        if not self.pieces:
            return
        to.at_launch.append(self.store.forget)
        stored = frozenset(to.stored)
        for piece in self.pieces:
            if piece.signature in self.sites:
                continue
            alike = [p for p in self.pieces if p.signature == piece.signature]
            site = KeptPiece(
                self.store,
                [Apart(number, stored) for number in sorted(piece.memories)],
                frozenset(axis for one in alike for axis in one.free_axes),
                len(alike) > 1,
            )
            self.sites[piece.signature] = to.bind(site)
            to.line(f"{to.bind(site.begin_launch)}(memories, grid)")

    def takes(self, op: Operation) -> bool:
        """Write a member, with what is around it. False: it is none."""
        if op in self.written:
            return True
        place = self.runs.get(op)
        if place is None:
            return False
        run, to = place.run, self.to
        if op is run.members[0]:
            self._begin(place)
        to.perform(op)
        if op is run.members[-1]:
            self._end(place)
        return True

    def _begin(self, place: _Place) -> None:
        to, piece, names = self.to, place.piece, place.names
        first = place.run is piece.runs[0]
        for op in (*(piece.early if first else ()), *place.run.between):
            if op not in self.written:
                to.perform(op)
                self.written.add(op)
        to.op = place.run.members[0]
        if first:
            names["site"] = self.sites[piece.signature]
            for name in ("key", "found", "parts"):
                names[name] = to.fresh()
            to.line(f"{names['key']} = {to.tuple_of(piece.key)}")
            to.line(f"{names['found']} = {names['site']}.get({names['key']})")
        to.line(f"if {names['found']} is None:")
        to.depth += 1
        self.boxes = dict(to.boxes)
        to.boxes |= place.boxes
        if first:
            to.line(f"{names['parts']} = {names['site']}.new()")

    def _end(self, place: _Place) -> None:
        to, names, runs = self.to, place.names, place.piece.runs
        before = runs[: runs.index(place.run)]
        number = sum(len(run.outputs) for run in before)
        to.op = place.run.members[-1]
        keep = f"{names['site']}.keep"
        taken: list[str] = []
        stand_ins: dict[SSAValue, str] = {}
        for at, output in enumerate(place.run.outputs, number):
            corner = to.corner(output.buffer, *output.box)
            name = to.fresh()
            to.line(f"{name} = {keep}({corner}, {names['parts']})")
            if output.stands_in:
                stand_ins[output.buffer] = name
                self.parts[output.buffer] = f"{names['found']} or {names['parts']}"
                taken.append(f"{name} = {names['found']}[{at}]")
            else:
                box = to.slice(output.buffer, *output.box)
                taken.append(f"{box}[...] = {names['found']}[{at}]")
        if place.run is runs[-1]:
            site = names["site"]
            to.line(f"{site}.put({names['key']}, {names['parts']})")
        to.depth -= 1
        place.boxes.update(to.boxes)
        to.boxes = self.boxes
        if taken:
            to.line(f"else: {'; '.join(taken)}")
        to.stand_ins |= stand_ins
