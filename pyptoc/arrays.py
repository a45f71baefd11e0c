"""
Arrays of other libraries as numpy arrays, without a copy where they lie in memory.

Taken are numpy and ml_dtypes arrays, numbers and lists, and whatever offers DLPack or
the array interface, such as tensors of torch. numpy's DLPack knows neither bf16 nor f8:
such a tensor is looked at as integers of the same width, which stand for its bits.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pyptoc.dialects.diagnostics import error

BITS = {"bfloat16": "int16", "float8": "uint8"}
"""The beginning of the name of a type to the integers that hold its bits."""

DLPACK_CPU = 1


class OffersDLPack(Protocol):
    """An array of another library, by DLPack."""

    def __dlpack__(self) -> Any: ...


class OffersInterface(Protocol):
    """An array of another library, by numpy's array interface."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


ArrayLike: TypeAlias = "npt.ArrayLike | OffersDLPack | OffersInterface"


def as_array(name: str, value: Any) -> npt.NDArray[Any]:
    """
    The array of an argument; nothing is converted.

    Raises `CompileError` (PTO501) for what is no array, or lies on another device.
    """
    if isinstance(value, np.ndarray | np.generic | int | float | bool):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value)
    try:
        found = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        _refuse(name, value, str(problem).splitlines()[0])
    if found.dtype == object:
        _refuse(name, value, "it offers neither DLPack nor the array interface")
    return found


def _from_dlpack(name: str, value: Any) -> npt.NDArray[Any]:
    if hasattr(value, "__dlpack_device__"):
        device, number = value.__dlpack_device__()
        if int(device) != DLPACK_CPU:
            _refuse(name, value, f"it lies on device {int(device)}:{number}", ".cpu()")
    if getattr(value, "requires_grad", False):
        value = value.detach()
    bits = _bits_of(value)
    try:
        found = np.from_dlpack(value if bits is None else bits)
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        _refuse(name, value, str(problem).splitlines()[0] or "DLPack failed")
    # The bits of a float type are unsigned here (`as_storage`).
    return found if bits is None else found.view(f"u{found.dtype.itemsize}")


def _bits_of(value: Any) -> Any:
    """The value viewed as integers, for types that numpy's DLPack does not know."""
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    wanted = next((v for k, v in BITS.items() if kind.startswith(k)), None)
    if wanted is None or not hasattr(value, "view"):
        return None
    library = sys.modules.get(type(value).__module__.partition(".")[0])
    return value.view(getattr(library, wanted, wanted))


def _refuse(name: str, value: Any, reason: str, mend: str = "") -> NoReturn:
    kind = type(value).__name__
    help = f"{name}{mend}" if mend else "numpy.asarray makes arrays of most things"
    error(None, "PTO501", f"'{name}' is a {kind}, no array: {reason}", help=help)
