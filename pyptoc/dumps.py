"""
Dumps of the IR while passes run: the `--print-ir-..` options.

They go to standard error, so that standard output stays a program. As with mlir-opt,
`-after-change` and `-after-failure` restrict `-after` and `-after-all`; alone they are
about all passes. A pass that was written inside `func.func(..)` or `npu.kernel(..)` is
dumped one such operation at a time, but for `--print-ir-module-scope`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr

from pyptoc.files import FileError, write_text
from pyptoc.manager import Watcher
from pyptoc.printing import module_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from pyptoc.options import Options
    from pyptoc.passes.base import PyptocPass

MODULE = "builtin.module"


class Dump(Watcher):
    """`--print-ir-before`, `-after`, `-all`, `-after-change`, `-after-failure`."""

    def __init__(self, options: Options, scopes: Sequence[str] = ()) -> None:
        self.options = options
        self.scopes = scopes
        """The anchor of each pass of the pipeline; empty: the module for all."""
        self.last: dict[str, str] = {}
        """The text of each operation, to see whether a pass changes it."""
        self.count = 0

    def start(self, module: ModuleOp) -> None:
        """Remembers the text of the source."""
        self._remember(module)

    def before(self, each: PyptocPass, module: ModuleOp) -> None:
        """Dumps before a pass that was asked for."""
        options = self.options
        if options.print_ir_before_all or each.name in options.print_ir_before:
            for about, op in self._scope(module):
                self._dump(f"Before {each.name}{about}", module_text(op, options))

    def after(self, each: PyptocPass, module: ModuleOp) -> None:
        """Dumps after a pass that was asked for, where it changed if that was, too."""
        options = self.options
        changed = options.print_ir_after_change
        wanted = options.print_ir_after_all or each.name in options.print_ir_after
        wanted = wanted or (changed and not options.print_ir_after)
        if wanted and not options.print_ir_after_failure:
            for about, op in self._scope(module):
                text = module_text(op, options)
                if not changed or text != self.last.get(about):
                    self._dump(f"After {each.name}{about}", text)
        self.count += 1
        self._remember(module)

    def failed(self, each: PyptocPass, module: ModuleOp) -> None:
        """Dumps what a pass left that failed, which may not even print."""
        if not self.options.print_ir_after_failure:
            return
        try:
            text = module_text(module, self.options)
        except Exception as problem:
            text = f"// it cannot be printed: {type(problem).__name__}: {problem}\n"
        self._dump(f"After {each.name} Failed", text)

    def _remember(self, module: ModuleOp) -> None:
        if self.options.print_ir_after_change and not self._is_last():
            scope = self._scope(module)
            self.last = {about: module_text(op, self.options) for about, op in scope}

    def _is_last(self) -> bool:
        return bool(self.scopes) and self.count == len(self.scopes)

    def _scope(self, module: ModuleOp) -> Iterator[tuple[str, Operation]]:
        """What the current pass works on, each with a text for the header."""
        scope = self.scopes[self.count] if self.scopes else MODULE
        if scope == MODULE or self.options.print_ir_module_scope:
            yield "", module
            return
        for op in module.ops:
            if op.name == scope:
                yield f" ('{scope}' operation: @{name_of(op)})", op

    def _dump(self, what: str, text: str) -> None:
        sys.stderr.write(f"// -----// IR Dump {what} //----- //\n{text}\n")


def name_of(op: Operation) -> str:
    """The symbol name of a function or kernel."""
    name = op.properties["sym_name"]
    assert isinstance(name, StringAttr)
    return name.data


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
        file = self.folder / f"{self.count:02d}_{name}.mlir"
        write_text(str(file), module_text(module, self.options))
        self.count += 1
