"""
The inputs of a run: from an .npz, from `--bind`, from defaults, or made up.

What `--bind` gives wins over the file, the file over `pypto.default`, and with a seed
everything still missing is made up (`runtime/random_inputs.py`). All sizes must agree.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.npyio import NpzFile
from xdsl.dialects.builtin import Float8E8M0FNUType, IndexType
from xdsl.ir import Attribute, Operation

from pyptoc.dialects.diagnostics import CompileError, Diagnostic, Note, error, place_of
from pyptoc.dialects.near import did_you_mean
from pyptoc.dialects.record import record
from pyptoc.runtime.bindings import Bindings
from pyptoc.runtime.numerics import storage_dtype
from pyptoc.runtime.signature import Argument, Signature, type_name

Array = npt.NDArray[Any]
Input = Array | int | float


@record(frozen=False)
class Inputs:
    """Complete inputs: values by argument name, and the sizes they imply."""

    values: dict[str, Input]
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])


def load_npz(name: str) -> dict[str, Array]:
    """
    The arrays of an .npz file, without running anything stored in it.

    Raises `CompileError`: PTO502 for a file that is missing or no .npz.
    """
    try:
        with open(name, "rb") as stream:
            start = stream.read(6)
        if start == b"\x93NUMPY":
            _unreadable(name, "one array (.npy); an .npz names its arrays")
        if not start.startswith(b"PK"):
            _unreadable(name, "not an .npz file")
        with np.load(name, allow_pickle=False) as archive:
            return {key: _member(archive, key) for key in archive.files}
    except OSError as problem:
        _unreadable(name, problem.strerror or "not an .npz file")
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as problem:
        pickled = "allow_pickle" in str(problem)
        reason = "arrays of Python objects" if pickled else "not a complete .npz file"
        _unreadable(name, reason)


def _member(archive: NpzFile, key: str) -> Array:
    try:
        return archive[key]
    except ValueError as problem:
        if "'<f1'" not in str(problem):
            raise
    # So numpy writes the float8_e5m2 of ml_dtypes, and then cannot read it.
    assert archive.zip is not None
    data = archive.zip.read(f"{key}.npy").replace(b"'<f1'", b"'|V1'", 1)
    return np.load(io.BytesIO(data), allow_pickle=False)


def _unreadable(name: str, reason: str) -> NoReturn:
    error(
        None,
        "PTO502",
        f"cannot read {name}: {reason}",
        help="write it with numpy.savez(path, name=array, ...)",
    )


def as_storage(
    name: str,
    element_type: Attribute,
    shape: tuple[int | None, ...],
    array: Array,
) -> tuple[Array | None, str]:
    """
    The array in the storage type and shape, and a hint how to convert it if it is not.

    Values are never converted. Bits are taken as they are: for a float type of one or
    two bytes also from unsigned integers or raw void of that width.
    """
    dtype = storage_dtype(element_type)
    if array.dtype != dtype:
        if array.dtype.newbyteorder("=") == dtype:
            array = array.astype(dtype)
        elif _holds_bits(array.dtype, dtype):
            array = np.ascontiguousarray(array).view(dtype).reshape(array.shape)
        else:
            return None, f"{name}.astype({_numpy_name(dtype)})"
    if not _fits(array.shape, shape):
        return None, _shape_hint(name, array.shape, shape)
    # ascontiguousarray makes an array of rank 1 from one of rank 0.
    return np.ascontiguousarray(array).reshape(array.shape), ""


def _holds_bits(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether an array of type `given` may hold the bits of a small float type."""
    return (
        given.itemsize == wanted.itemsize <= 2
        and wanted.kind not in "iub"
        and (given.kind == "u" or (given.kind == "V" and given == f"V{given.itemsize}"))
    )


def as_input(argument: Argument, array: Array) -> tuple[Input | None, str]:
    """The value of an argument from an array, or None and a hint (`as_storage`)."""
    if argument.shape is None:
        return _as_scalar(argument, array)
    return as_storage(argument.name, argument.element_type, argument.shape, array)


def _numpy_name(dtype: np.dtype[Any]) -> str:
    module = "np" if dtype.kind in "iubf" else "ml_dtypes"
    return f"{module}.{dtype.name}" if dtype.kind != "b" else "bool"


def _as_scalar(argument: Argument, array: Array) -> tuple[Input | None, str]:
    integer = isinstance(argument.element_type, IndexType) or (
        storage_dtype(argument.element_type).kind in "iub"
    )
    if array.ndim or array.dtype.kind not in ("iub" if integer else "iubf"):
        return None, f"a single {'integer' if integer else 'number'}"
    return (int(array) if integer else float(array)), ""


def _fits(given: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(given) == len(wanted) and all(
        want is None or have == want for have, want in zip(given, wanted)
    )


def _shape_hint(
    name: str, given: tuple[int, ...], wanted: tuple[int | None, ...]
) -> str:
    """
    `np.reshape(a, (16, 8, 2))` where the elements fit, else the empty string.

    An array of the right rank is rather transposed than to be reshaped: `a.T`.
    """
    if len(given) == len(wanted):
        if not _fits((*given[:-2], *given[:-3:-1]), wanted):
            return ""
        return f"{name}.T" if len(given) == 2 else f"np.swapaxes({name}, -2, -1)"
    count = int(np.prod(given, dtype=object))
    fixed = int(np.prod([size for size in wanted if size is not None], dtype=object))
    unknown = wanted.count(None)
    if unknown == 1 and fixed and count % fixed == 0:
        sizes = tuple(count // fixed if size is None else size for size in wanted)
    elif unknown == 0 and count == fixed:
        sizes = tuple(size for size in wanted if size is not None)
    else:
        return ""
    return f"np.reshape({name}, {sizes})"


def _axes_that_differ(argument: Argument, array: Array) -> str:
    """`axis 1 is 1000, not 1024`, for an array of the right rank."""
    wanted = argument.shape or ()
    if len(wanted) != array.ndim:
        return ""
    return ", ".join(
        f"axis {axis} is {have}, not {want}"
        for axis, (have, want) in enumerate(zip(array.shape, wanted))
        if want not in (None, have)
    )


def mismatch(source: str, argument: Argument, array: Array, hint: str) -> Diagnostic:
    """The error for an array of the wrong shape or type."""
    where = place_of(argument.location)
    what = f"'{argument.name}' has shape {array.shape} {array.dtype.name}"
    wanted = f"%{argument.name} is {argument.type_text}"
    bits = ""
    dtype = storage_dtype(argument.element_type)
    if _holds_bits(array.dtype, dtype):
        bits = (
            f"the bits of {array.dtype.name} are taken as "
            f"{type_name(argument.element_type)}"
        )
    scales = isinstance(argument.element_type, Float8E8M0FNUType)
    return Diagnostic(
        "PTO501",
        f"{source}: {what}; {wanted}" + (f" ({where})" if where else ""),
        rule=(
            "two scales side by side for each 64 elements of K: a last axis of 2"
            if scales and (argument.shape or (0,))[-1] == 2
            else ""
        ),
        here=_axes_that_differ(argument, array),
        help="; ".join(text for text in (hint, bits) if text),
    )


def accept(
    signature: Signature, given: Mapping[str, Array], source: str, bound: Bindings
) -> Inputs:
    """
    The arrays of a file (or of a Python call), checked against the signature.

    `source` names them in errors. Raises `CompileError` PTO501 with every array that
    does not fit; a key that names nothing is a warning.
    """
    inputs = Inputs({}, dict(bound.sizes))
    names = [argument.name for argument in signature.arguments]
    problems: list[Diagnostic] = []
    for key, array in given.items():
        if key not in names:
            hint = did_you_mean(key, [name for name in names if name not in given])
            text = f"{source}: '{key}' names no argument and is not used"
            inputs.warnings.append(
                Diagnostic("PTO301", text, severity="warning", help=hint)
            )
            continue
        if key in bound.values:
            continue
        argument = signature.argument(key)
        value, hint = as_input(argument, np.asarray(array))
        if value is None:
            problems.append(mismatch(source, argument, np.asarray(array), hint))
        else:
            inputs.values[key] = value
    if problems:
        unused = ", ".join(repr(key) for key in given if key not in names)
        missing = ", ".join(
            repr(each.name)
            for each in signature.arguments
            if each.name not in given
            and each.name not in bound.values
            and each.default is None
        )
        raise CompileError(_with_others(problems, missing, unused))
    for name, value in bound.values.items():
        argument, case = signature.argument(name), bound.cases.get(name)
        inputs.values[name] = from_binding(argument, value, case)
    unify_sizes(signature, inputs, source)
    return inputs


def _with_others(
    problems: list[Diagnostic], missing: str, unused: str
) -> list[Diagnostic]:
    from dataclasses import replace

    texts = [
        f"{label}: {names}."
        for label, names in (("Also missing", missing), ("Not used", unused))
        if names
    ]
    if texts:
        last = problems[-1]
        help = " ".join([*([last.help + "."] if last.help else []), *texts])
        problems[-1] = replace(last, help=help)
    return problems


def from_binding(
    argument: Argument, value: Any, case: tuple[str, Operation] | None = None
) -> Input:
    """
    A bound number or list as the argument's value; PTO501 where it does not fit.

    case: where a case of the file binds it, what it is called and what has the case.
    """
    try:
        return _from_binding(argument, value)
    except (ValueError, OverflowError) as problem:
        bound = f"{argument.name}={value}".replace(" ", "")
        shown, place = case or (f"--bind {bound}", None)
        what = f"%{argument.name} is {argument.type_text}"
        error(place, "PTO501", f"{shown}: {problem}", here=what)


def _from_binding(argument: Argument, value: Any) -> Input:
    shape, numbers = _flatten(value)
    dtype = storage_dtype(argument.element_type)
    if dtype.kind in "iub":
        if not all(isinstance(number, int) for number in numbers):
            raise ValueError("not an integer")
        low, high = (0, 1) if dtype.kind == "b" else _limits(dtype)
        if not all(low <= number <= high for number in numbers):
            raise ValueError(f"out of the range {low} to {high}")
    if argument.shape is None:
        if shape:
            raise ValueError("a list for a single number")
        return int(numbers[0]) if dtype.kind in "iub" else float(numbers[0])
    if not _fits(shape, argument.shape):
        raise ValueError(f"has shape {shape}")
    wide = dtype if dtype.kind in "iub" else np.dtype(np.float64)
    return np.array(numbers, wide).astype(dtype).reshape(shape)


def _flatten(value: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists and their numbers; ValueError where rows differ."""
    if not isinstance(value, list):
        return (), [value]
    rows = [_flatten(row) for row in cast("list[Any]", value)]
    shapes = {shape for shape, _ in rows}
    if len(shapes) > 1:
        raise ValueError("lists of different lengths")
    numbers = [number for _, row in rows for number in row]
    return (len(rows), *(shapes.pop() if shapes else ())), numbers


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def unify_sizes(signature: Signature, inputs: Inputs, source: str) -> None:
    """Takes the named sizes from the arrays; PTO501 where two of them disagree."""
    seen: dict[str, str] = dict.fromkeys(inputs.sizes, "--bind")
    for argument in signature.arguments:
        value = inputs.values.get(argument.name)
        if argument.shape is None or value is None:
            continue
        for axis, dim in enumerate(argument.dims):
            size = np.shape(value)[axis]
            if not dim:
                continue
            if inputs.sizes.setdefault(dim, size) != size:
                error(
                    None,
                    "PTO501",
                    f"{source}: {dim} is {inputs.sizes[dim]} in {seen[dim]} and "
                    f"{size} in '{argument.name}' (axis {axis})",
                    rule=f"sizes of the same name in pypto.dims are equal: {dim}",
                )
            seen.setdefault(dim, f"'{argument.name}'")


def complete(
    signature: Signature, inputs: Inputs, source: str, seed: int | None
) -> Inputs:
    """
    Fills in defaults and, with a seed, made-up values.

    Raises `CompileError`: PTO501 for missing inputs, PTO503 for sizes that are not
    known and cannot be made up.
    """
    for argument in signature.arguments:
        if argument.name not in inputs.values and argument.default is not None:
            inputs.values[argument.name] = argument.default
    missing = [a for a in signature.arguments if a.name not in inputs.values]
    if not missing:
        return inputs
    if seed is None:
        names = ", ".join(f"'{argument.name}'" for argument in missing)
        types = ", ".join(f"%{a.name} is {a.type_text}" for a in missing)
        notes = [
            Note(f"{each.message}. {each.help}".strip(". ")) for each in inputs.warnings
        ]
        error(
            None,
            "PTO501",
            f"{source}: missing: {names}",
            here=types,
            notes=notes,
            help="give them with --inputs F.npz or --bind, "
            "or make them up with --random-inputs=1",
        )
    from pyptoc.runtime.random_inputs import make_up

    make_up(signature, inputs, missing, seed)
    return inputs
