"""What operations of other libraries are called here: of numpy, PyTorch and MLIR.

Only where no name is alike: `pypto.multiply` is near to `pypto.mul` anyway.
"""

from __future__ import annotations

OTHER_NAMES = {
    "astype": "pypto.cast",
    "bmm": "pypto.matmul",
    "cat": "pypto.concat",
    "clamp": "pypto.clip",
    "convert": "pypto.cast",
    "def": "func.func",
    "dot": "pypto.matmul",
    "gemm": "pypto.matmul",
    "linear": "pypto.matmul",
    "max": "pypto.amax of an axis, pypto.maximum of two tensors",
    "min": "pypto.amin of an axis, pypto.minimum of two tensors",
    "mm": "pypto.matmul",
    "mod": "pypto.rem",
    "ones": "pypto.full 1.0[..]",
    "ones_like": "pypto.full 1.0[..]",
    "permute": "pypto.transpose",
    "power": "pypto.pow",
    "repeat": "pypto.expand",
    "return": "func.return",
    "slice": "pypto.view",
    "sort": "pypto.argsort",
    "split": "pypto.view, once for each part",
    "squeeze": "pypto.reshape",
    "stack": "pypto.concat",
    "swish": "pypto.silu",
    "tile": "pypto.expand",
    "unsqueeze": "pypto.reshape",
    "zeros": "pypto.full 0.0[..]",
    "zeros_like": "pypto.full 0.0[..]",
}
"""A name without its dialect to the help text."""
