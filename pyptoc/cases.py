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
from pyptoc.files import atomic_file, operator_name
from pyptoc.options import Options
from pyptoc.usage import UsageError, is_operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute, Operation

    from pyptoc.runtime.bindings import Bindings
    from pyptoc.runtime.inputs import Inputs
    from pyptoc.runtime.signature import Signature

Arrays = dict[str, Any]

_NO_CASES = "a file names them: module attributes {pypto.cases = {decode = {t = 8}}}"


@record
class Given:
    """What the command line gives a run."""

    inputs: Inputs
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
    from pyptoc.dialects.near import did_you_mean

    listed = list(cases)
    known = f"cases: {', '.join(listed)}" if listed else _NO_CASES
    hint = did_you_mean(case, listed) or known
    raise UsageError(f"{name} has no case '{case}'", hint)


def read_given(options: Options, module: ModuleOp, signature: Signature) -> Given:
    """
    Arrays from `--inputs` or a case, sizes and values from a case and `--bind`.

    What `--bind` gives wins over a case. Raises `CompileError` (PTO501, PTO502) for
    what cannot be read or names nothing, `UsageError` for a case that is not there.
    """
    from pyptoc.runtime.bindings import Bindings, parse_bindings
    from pyptoc.runtime.inputs import accept, load_npz

    source = options.inputs or ("--bind" if options.bind else "inputs")
    arrays = load_npz(options.inputs) if options.inputs is not None else {}
    bound, golden = Bindings(), None
    if options.case is not None:
        source = f"--case={options.case}"
        if is_operator(options.input):
            operator, case = corpus_case(options.input or "", options.case)
            arrays = operator.inputs(case)
            golden = partial(operator.golden, **arrays)
        else:
            bind_case(bound, module, signature, options.input or "", options.case)
    parse_bindings(options.bind, signature, bound)
    return Given(accept(signature, arrays, source, bound), source, golden)


def bind_case(
    bound: Bindings, module: ModuleOp, signature: Signature, name: str, case: str
) -> None:
    """
    Add the bindings of a case that the file itself names.

    Raises as `file_case` does, and `CompileError` PTO501 for names that the function
    does not have.
    """
    from pyptoc.runtime.bindings import bind
    from pyptoc.sweep_spec import show

    found = file_case(module, name, case)
    op, _ = _file_cases(module)[case]
    for key, value in found.items():
        shown = f"case '{case}': {key} = {show(value)}"
        bind(bound, signature, key, value, shown, op)


def file_case(module: ModuleOp, name: str, case: str) -> dict[str, Any]:
    """
    The numbers, and lists of them, that a case of the file `name` binds.

    Raises `UsageError` PTO500 for a case that is not there, `CompileError` PTO501 for
    one that binds anything else.
    """
    from xdsl.dialects.builtin import DictionaryAttr

    from pyptoc.dialects.diagnostics import error

    cases = _file_cases(module)
    if case not in cases:
        _no_case(name, case, cases)
    (op, values), shown = cases[case], f"case '{case}'"
    help = "pypto.cases = {decode = {t = 8, group_list = [3, 5]}}"
    if not isinstance(values, DictionaryAttr):
        error(op, "PTO501", f"{shown} is {values}: no names and values", help=help)
    found: dict[str, Any] = {}
    for key, attribute in values.data.items():
        try:
            found[key] = _value(attribute)
        except ValueError:
            binding = f"{shown}: {key} = {attribute}"
            error(op, "PTO501", f"{binding}: no number, no list of them", help=help)
    return found


def _file_cases(module: ModuleOp) -> dict[str, tuple[Operation, Attribute]]:
    """What `pypto.cases` of the module and its functions names, and which of them."""
    from xdsl.dialects.builtin import DictionaryAttr

    from pyptoc.dialects.case_names import CASES

    cases: dict[str, tuple[Operation, Attribute]] = {}
    for op in (module, *module.ops):
        found = op.attributes.get(CASES)
        if isinstance(found, DictionaryAttr):
            cases |= {case: (op, values) for case, values in found.data.items()}
    return cases


def _value(value: Attribute) -> Any:
    """A number or a list of them, as it is bound; ValueError for all else."""
    from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, IntegerType

    if isinstance(value, ArrayAttr):
        return [_value(each) for each in value.data]
    if isinstance(value, IntegerAttr):
        is_bool = value.type == IntegerType(1)
        return bool(value.value.data) if is_bool else value.value.data
    if isinstance(value, FloatAttr):
        return value.value.data
    raise ValueError(value)


def write_case(options: Options, module: ModuleOp) -> None:
    """
    `--write-inputs` and `--write-golden`: the arrays of a run as .npz files.

    A golden comes from an operator's definition: only those of the corpus have one.
    """
    from pyptoc.runtime.inputs import complete
    from pyptoc.runtime.outputs import write_npz
    from pyptoc.runtime.signature import read_signature

    signature = read_signature(module, options.entry)
    given = read_given(options, module, signature)
    inputs = complete(signature, given.inputs, given.source, options.random_inputs)
    if options.write_inputs is not None:
        with atomic_file(options.write_inputs) as stream:
            write_npz(stream, inputs.values)
    if options.write_golden is not None and given.golden is not None:
        with atomic_file(options.write_golden) as stream:
            write_npz(stream, given.golden())
