"""
Results as files, and expected results from files.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from pyptoc.dialects.diagnostics import CompileError, Diagnostic
from pyptoc.dialects.near import did_you_mean
from pyptoc.runtime.inputs import as_storage, load_npz
from pyptoc.runtime.numerics import storage_dtype
from pyptoc.runtime.signature import Result

Array = npt.NDArray[Any]


def write_npz(stream: IO[bytes], results: Mapping[str, Any]) -> None:
    """
    Writes results as an .npz; the same results give the same bytes.

    Types that numpy does not have (bf16, f8) become unsigned integers of their width.
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, value in results.items():
            array = np.asarray(value)
            if not _has_numpy(array.dtype):
                array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _has_numpy(dtype: np.dtype[Any]) -> bool:
    """Whether a type is one of numpy's, so that every reader of an .npz knows it."""
    return dtype.kind in "iubf" and "float8" not in dtype.name


def written_as(results: Mapping[str, Any]) -> str:
    """
    What `write_npz` writes as integers, and how that is read back; "" if nothing.

        y: uint16, .view(ml_dtypes.bfloat16)
    """
    types = {name: np.asarray(value).dtype for name, value in results.items()}
    return "; ".join(
        f"{name}: uint{8 * dtype.itemsize}, .view(ml_dtypes.{dtype.name})"
        for name, dtype in types.items()
        if not _has_numpy(dtype)
    )


def load_expected(
    name: str, results: Sequence[Result]
) -> tuple[dict[str, Array], list[Diagnostic]]:
    """
    Expected results by name, and warnings for keys that name nothing.

    Besides the storage type and its bits, wider types of the same kind are fine: a
    golden in f64 for a bf16 result. Raises `CompileError` PTO501 for arrays that do
    not fit or are missing.
    """
    return accept_expected(name, load_npz(name), results)


def accept_expected(
    name: str, given: Mapping[str, Array], results: Sequence[Result]
) -> tuple[dict[str, Array], list[Diagnostic]]:
    """Expected results that are arrays already (`load_expected`); `name` is theirs."""
    names = [result.name for result in results]
    warnings = [
        Diagnostic(
            "PTO301",
            f"{name}: '{key}' names no result and is not used",
            severity="warning",
            help=did_you_mean(key, [n for n in names if n not in given]),
        )
        for key in given
        if key not in names
    ]
    expected: dict[str, Array] = {}
    problems: list[Diagnostic] = []
    for result in results:
        if result.name not in given:
            text = f"{name}: no expected value for the result '{result.name}'"
            here = "the file has " + (", ".join(given) or "no arrays")
            help = _misspelt(result.name, [key for key in given if key not in names])
            problems.append(Diagnostic("PTO501", text, here=here, help=help))
            continue
        array = given[result.name]
        value, hint = _as_expected(result, array)
        if value is None:
            what = f"'{result.name}' has shape {array.shape} {array.dtype.name}"
            text = f"{name}: {what}; the result is {result.type_text}"
            problems.append(Diagnostic("PTO501", text, help=hint))
        else:
            expected[result.name] = value
    if problems:
        raise CompileError(problems)
    return expected, warnings


def _misspelt(name: str, spare: Iterable[str]) -> str:
    hints = ((key, did_you_mean(key, [name])) for key in spare)
    return next((f"'{key}': {hint}" for key, hint in hints if hint), "")


def _as_expected(result: Result, array: Array) -> tuple[Array | None, str]:
    shape = result.shape or ()
    value, hint = as_storage(result.name, result.element_type, shape, array)
    if value is not None or not hint.endswith(")") or ".astype(" not in hint:
        return value, hint
    integer = storage_dtype(result.element_type).kind in "iu"
    same_kind = array.dtype.kind in "iu" if integer else array.dtype.kind == "f"
    # Distances in codes need the codes.
    if same_kind and not result.tolerance.codes and array.ndim == len(shape):
        return array, ""
    return None, hint
