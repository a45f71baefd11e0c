"""
`--check-each`: runs the IR after every pass and names the first that changes a result.

A pass must keep every bit of every result of the run before it. One that declares
`reorders_float_sums` may change floats: its results are held against those of the
source, floats within a tenth of the result's tolerance and what another order of f32
sums may change, integers within the tolerance and 99 % of them equal.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, Note, error
from pyptoc.dialects.record import record
from pyptoc.dialects.verify import Snapshot, snapshot_of
from pyptoc.dialects.words import counted
from pyptoc.manager import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.passes.base import PyptocPass
    from pyptoc.runtime.signature import Result

INTEGERS_EQUAL = 0.99
"""The share of integers that a pass which reorders sums must leave as they are."""


SUM_NOISE = 2.0**-20
"""What another order of a sum may change, as a share of the greatest sum: 8 f32 ulps.

Measured on products with K from 640 to 7168: up to a third of it.
"""


@record(frozen=False)
class CheckEach(Watcher):
    """Runs `execute` on the source and after every pass, and compares."""

    execute: Callable[[ModuleOp], dict[str, Any]]
    results: tuple[Result, ...]
    source: dict[str, Any] = field(default_factory=dict[str, Any])
    last: dict[str, Any] = field(default_factory=dict[str, Any])
    count: int = 0
    ran: Snapshot = field(default_factory=Snapshot)
    """What ran last: a pass that changed nothing changes no result."""

    def start(self, module: ModuleOp) -> None:
        """Runs the source; what fails here is the program's own error."""
        self.ran = snapshot_of(module)
        self.source = self.last = self.execute(module)

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Runs what the pass left; raises `CompileError` PTO506 if it differs."""
        self.count += 1
        snapshot = snapshot_of(module)
        if snapshot == self.ran:
            return
        self.ran = snapshot
        try:
            now = self.execute(module)
        except CompileError as problem:
            self._fails(each, problem)
        if each.reorders_float_sums:
            self._compare(each, now)
        else:
            self._compare_bits(each, now)
        self.last = now

    def summary(self) -> str:
        """What was found, for standard error."""
        return (
            f"check-each: {counted(self.count, 'pass')}, every result as in "
            "the source\n"
        )

    def _fails(self, each: PyptocPass, problem: CompileError) -> NoReturn:
        first = problem.diagnostics[0]
        error(
            None,
            "PTO506",
            f"pass '{each.name}' breaks the program: it fails, and did not before",
            notes=[Note(f"[{first.code}] {first.message}", first.location)],
            help=_help(each),
        )

    def _compare_bits(self, each: PyptocPass, now: dict[str, Any]) -> None:
        from pyptoc.runtime.compare import bit_equal, compare
        from pyptoc.runtime.signature import Tolerance

        different = bit_equal(now, self.last)
        found: list[str] = []
        for result in self.results:
            if result.name in different:
                exact = replace(result, tolerance=Tolerance())
                row = compare(exact, now[result.name], self.last[result.name])
                found.append(_difference(result.name, row.worst, row.equal))
        if found:
            rule = "this pass must keep every bit"
            raise CompileError([_changed(each, text, rule) for text in found])

    def _compare(self, each: PyptocPass, now: dict[str, Any]) -> None:
        from pyptoc.runtime.compare import compare
        from pyptoc.runtime.numerics import is_float, storage_dtype

        found: list[Diagnostic] = []
        for result in self.results:
            floats = is_float(storage_dtype(result.element_type))
            if floats:
                result = _with_noise(result, self.source[result.name])
            row = compare(result, now[result.name], self.source[result.name])
            if row.passed and (floats or row.equal >= INTEGERS_EQUAL):
                continue
            text = _difference(result.name, row.worst, row.equal)
            rule = (
                f"a tenth of the result's tolerance, and rounding: {row.tolerance}"
                if floats
                else f"{row.tolerance}, and {100 * INTEGERS_EQUAL:g} % equal"
            )
            found.append(_changed(each, text, rule))
        if found:
            raise CompileError(found)


def _with_noise(result: Result, expected: Any) -> Result:
    """The result with a tenth of its tolerance, and what rounding may change."""
    import ml_dtypes
    import numpy as np

    from pyptoc.runtime.numerics import storage_dtype

    finite = np.abs(np.asarray(expected, np.float32))
    greatest = float(np.max(finite, initial=0.0, where=np.isfinite(finite)))
    # A sum that moved a little may be rounded to the next value of a narrow type.
    ulp = float(ml_dtypes.finfo(storage_dtype(result.element_type)).eps)
    given = result.tolerance
    loose = replace(
        given, atol=given.atol / 10 + SUM_NOISE * greatest, rtol=given.rtol / 10 + ulp
    )
    return replace(result, tolerance=loose)


def _difference(name: str, worst: str, equal: float) -> str:
    share = f"{100 * (1 - equal):.3g} % of its elements differ"
    return f"result '{name}': {share}, worst {worst or 'in the sign of zero'}"


def _changed(each: PyptocPass, text: str, rule: str) -> Diagnostic:
    message = f"pass '{each.name}' changes {text}"
    return Diagnostic("PTO506", message, rule=rule, help=_help(each))


def _help(each: PyptocPass) -> str:
    return f"--print-ir-before={each.name} --print-ir-after={each.name} show the IR"
