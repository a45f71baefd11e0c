"""
Runs passes and watches them: verification, dumps, timing, reproducers.

A watcher is told before and after every pass; the manager knows nothing about what
they do. Dumps go to standard error, so that standard output stays a program.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from pyptoc.dialects.diagnostics import CompileError
from pyptoc.dialects.record import record
from pyptoc.files import FileError, write_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from pyptoc.dialects.context import PyptocContext
    from pyptoc.options import Options
    from pyptoc.passes.base import PyptocPass


class Watcher:
    """Told what the pass manager does; the base class does nothing."""

    def start(self, module: ModuleOp) -> None:
        """Called once, before the first pass."""

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Called before a pass."""

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Called after a pass, its result verified."""


@record(frozen=False)
class Timing:
    """Seconds of every step, in the order in which they first happened."""

    rows: dict[str, float] = field(default_factory=dict[str, float])

    def add(self, name: str, seconds: float) -> None:
        """Adds to the row `name`."""
        self.rows[name] = self.rows.get(name, 0.0) + seconds

    def table(self) -> str:
        """The table of `--timing`."""
        total = sum(self.rows.values())
        width = max(len(name) for name in (*self.rows, "total"))
        lines = [f"{'step':<{width}}  seconds   share"]
        for name, seconds in (*self.rows.items(), ("total", total)):
            share = 100 * seconds / total if total else 0.0
            lines.append(f"{name:<{width}}  {seconds:7.4f}  {share:4.0f} %")
        return "\n".join(lines) + "\n"


def run_passes(
    passes: Sequence[PyptocPass],
    context: PyptocContext,
    module: ModuleOp,
    watchers: Sequence[Watcher] = (),
    *,
    verify_each: bool = True,
    timing: Timing | None = None,
) -> None:
    """Applies the passes in order, in place; each result is verified."""
    from pyptoc.dialects.verify import Verified, verify_module

    verified = Verified()
    timing = timing or Timing()
    for watcher in watchers:
        watcher.start(module)
    for each in passes:
        for watcher in watchers:
            watcher.before(each, module)
        started = time.perf_counter()
        try:
            each.apply(context, module)
        except CompileError:
            raise
        except Exception as problem:
            problem.add_note(f"in the pass '{each.name}'")
            raise
        applied = time.perf_counter()
        timing.add(each.name, applied - started)
        if verify_each:
            try:
                verify_module(module, verified)
            except Exception as problem:
                raise BrokenIRError(each.name, problem) from problem
            timing.add("verify", time.perf_counter() - applied)
        for watcher in watchers:
            watcher.after(each, module)


class BrokenIRError(Exception):
    """A pass left IR that does not verify: an internal error, whatever the input."""

    def __init__(self, name: str, problem: Exception) -> None:
        super().__init__(f"the pass '{name}' left IR that does not verify: {problem}")


class Dump(Watcher):
    """The `--print-ir-before`, `-after`, `-all` and `-after-change` options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.last: str | None = None

    def start(self, module: ModuleOp) -> None:
        """Remembers the text of the source, to see whether a pass changes it."""
        if self.options.print_ir_after_change:
            self.last = self._text(module)

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Dumps before a pass that was asked for."""
        if (
            self.options.print_ir_before_all
            or each.name in self.options.print_ir_before
        ):
            self._dump("Before", each, self._text(module))

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Dumps after a pass that was asked for, or that changed something."""
        options = self.options
        wanted = options.print_ir_after_all or each.name in options.print_ir_after
        if not wanted and not options.print_ir_after_change:
            return
        text = self._text(module)
        if options.print_ir_after_change:
            wanted = text != self.last
            self.last = text
        if wanted:
            self._dump("After", each, text)

    def _text(self, module: ModuleOp) -> str:
        from pyptoc.printing import module_text

        return module_text(module, self.options)

    def _dump(self, when: str, each: PyptocPass, text: str) -> None:
        header = f"// -----// IR Dump {when} {each.name} //----- //"
        sys.stderr.write(f"{header}\n{text}\n")


class TreeDump(Watcher):
    """`--print-ir-tree-dir`: one file for the source and one after each pass."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.count = 0

    def start(self, module: ModuleOp) -> None:
        """Creates the folder and writes the source."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot create {self.folder}: {error.strerror}") from error
        self._write("source", module)

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Writes `NN_pass.mlir`."""
        self._write(each.name, module)

    def _write(self, name: str, module: ModuleOp) -> None:
        from pyptoc.printing import module_text

        file = self.folder / f"{self.count:02d}_{name}.mlir"
        write_text(str(file), module_text(module, self.options))
        self.count += 1


class Reproducer(Watcher):
    """Keeps the IR before the current pass, for `--crash-reproducer`."""

    def __init__(self, passes: Sequence[PyptocPass]) -> None:
        self.passes = list(passes)
        self.index = 0
        self.text = ""

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Takes the text; a pass that fails leaves IR that may not print."""
        from pyptoc.printing import module_text

        self.text = module_text(module)

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Moves on to the next pass."""
        self.index += 1

    def remaining(self) -> list[PyptocPass]:
        """The passes from the current one on."""
        return self.passes[self.index :]
