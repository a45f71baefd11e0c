"""
`@NAME` and `--case`: operators of the corpus, and named sizes and data of a run.

A case of the corpus has the static sizes of the text, all inputs and the golden. A case
of a file of one's own is a set of bindings in the module or its function:

    module attributes {pypto.cases = {decode = {t = 8}, prefill = {t = 4096}}} {
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from pyptoc.dialects.record import record
from pyptoc.files import atomic_file, is_operator, operator_name
from pyptoc.options import Options, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute

    from pyptoc.runtime.bindings import Bindings
    from pyptoc.runtime.signature import Signature

Arrays = dict[str, Any]

CASES = "pypto.cases"


@record
class Given:
    """What the command line gives a run."""

    arrays: Arrays
    bound: Bindings
    source: str
    """What gave it, for errors."""
    golden: Callable[[], Arrays] | None = None
    """The results of a case of the corpus."""


def case_names(module: ModuleOp, file: str) -> list[str]:
    """The cases of an operator of the corpus, or those that a file names."""
    if is_operator(file):
        return [str(case) for case in _corpus_cases(file)[1]]
    return list(_file_cases(module))


def _corpus_cases(name: str) -> tuple[Any, list[Any]]:
    """The module of an operator, and its cases."""
    from pyptoc.operators import load

    operator = load(operator_name(name))
    cases = [*operator.CASES]
    if str(operator.TINY) not in map(str, cases):
        cases.append(operator.TINY)
    return operator, cases


def corpus_case(name: str, case: str) -> tuple[Any, Any]:
    """
    The module of an operator of the corpus and one of its cases.

    Raises `UsageError` PTO500 for a case that is not there.
    """
    operator, cases = _corpus_cases(name)
    for each in cases:
        if str(each) == case:
            return operator, each
    _no_case(name, case, map(str, cases))


def _no_case(name: str, case: str, cases: Iterable[str]) -> NoReturn:
    from pyptoc.dialects.diagnostics import did_you_mean

    listed = list(cases)
    hint = did_you_mean(case, listed) or f"cases: {', '.join(listed) or 'none'}"
    raise UsageError(f"{name} has no case '{case}'", hint)


def read_given(options: Options, module: ModuleOp, signature: Signature) -> Given:
    """
    Arrays from `--inputs` or a case, sizes and values from a case and `--bind`.

    What `--bind` gives wins over a case. Raises `CompileError` (PTO501, PTO502) for
    what cannot be read or names nothing, `UsageError` for a case that is not there.
    """
    from pyptoc.runtime.bindings import parse_bindings
    from pyptoc.runtime.inputs import load_npz

    source = options.inputs or ("--bind" if options.bind else "inputs")
    arrays = load_npz(options.inputs) if options.inputs is not None else {}
    texts, golden = list(options.bind), None
    if options.case is not None:
        source = f"--case={options.case}"
        if is_operator(options.input):
            operator, case = corpus_case(options.input or "", options.case)
            arrays = operator.inputs(case)
            golden = partial(operator.golden, **arrays)
        else:
            texts[:0] = file_case(module, options.input or "", options.case)
    return Given(arrays, parse_bindings(texts, signature), source, golden)


def file_case(module: ModuleOp, name: str, case: str) -> list[str]:
    """The bindings of a case that the file itself names, as texts of `--bind`."""
    from xdsl.dialects.builtin import DictionaryAttr

    cases = _file_cases(module)
    values = cases.get(case)
    if not isinstance(values, DictionaryAttr):
        _no_case(name, case, cases)
    return [f"{key}={_value(value)}" for key, value in values.data.items()]


def _file_cases(module: ModuleOp) -> dict[str, Attribute]:
    """What `pypto.cases` of the module and its functions names."""
    from xdsl.dialects.builtin import DictionaryAttr

    cases: dict[str, Attribute] = {}
    for op in (module, *module.ops):
        found = op.attributes.get(CASES)
        if isinstance(found, DictionaryAttr):
            cases |= found.data
    return cases


def _value(value: Attribute) -> str:
    """A number or a list of them, as `--bind` spells it."""
    from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr

    if isinstance(value, ArrayAttr):
        return f"[{', '.join(map(_value, value.data))}]"
    if isinstance(value, IntegerAttr | FloatAttr):
        return repr(value.value.data)
    return str(value)


def write_case(options: Options, module: ModuleOp) -> None:
    """
    `--write-inputs` and `--write-golden`: the arrays of a run as .npz files.

    A golden comes from an operator's definition: only those of the corpus have one.
    """
    from pyptoc.runtime.inputs import accept, complete
    from pyptoc.runtime.outputs import write_npz
    from pyptoc.runtime.signature import read_signature

    signature = read_signature(module, options.entry)
    given = read_given(options, module, signature)
    inputs = accept(signature, given.arrays, given.source, given.bound)
    inputs = complete(signature, inputs, given.source, options.random_inputs)
    if options.write_inputs is not None:
        with atomic_file(options.write_inputs) as stream:
            write_npz(stream, inputs.values)
    if options.write_golden is not None and given.golden is not None:
        with atomic_file(options.write_golden) as stream:
            write_npz(stream, given.golden())
