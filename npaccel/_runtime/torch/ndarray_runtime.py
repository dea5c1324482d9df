"""Functions for generated code on arrays, which `ndarray_codegen` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npaccel._runtime.arguments import Alias
from npaccel._runtime.opaque import TORCH_DTYPES

#: The function's name in the generated module.
ON_ARRAYS = "call_on_arrays"
#: NumPy's dtypes by the names that torch's have in generated code.
DTYPES = {f"torch.{dtype.name}": dtype for dtype in TORCH_DTYPES}


def names() -> dict[str, Any]:
    """Return what rewritten code calls, by the names that it has there."""
    dtypes = {name_of(name): dtype for name, dtype in DTYPES.items()}
    return {"np_empty": np.empty, "view_of": view_of, "again": again} | dtypes


def name_of(dtype: str) -> str:
    """Return the name that rewritten code has for a dtype."""
    return dtype.replace("torch.", "np_")


def again(value: Any) -> Any:
    """Another array of the same memory, or what is no array itself."""
    return value.view() if isinstance(value, np.ndarray) else value


def view_of(
    x: np.ndarray[Any, Any], shape: Sequence[int], strides: Sequence[int], offset: int
) -> np.ndarray[Any, Any]:
    """Return a view of the memory of an array, all in elements."""
    size = x.itemsize
    steps = tuple([size * step for step in strides])
    if x.flags.c_contiguous and 0 not in shape:
        return np.ndarray(shape, x.dtype, x, size * offset, steps)
    interface = x.__array_interface__
    address, is_read_only = interface["data"]
    placed = {"data": (address + size * offset, is_read_only), "shape": shape, "strides": steps}
    return np.asarray(Alias(interface | placed, x))


def compiled_on_arrays(text: str, scope: dict[str, Any]) -> Callable[..., Any] | None:
    """Return the function of a text that `ndarray_codegen.on_arrays` made, None where it made none.

    Parameters
    ----------
    text : str
    scope : dict
        The generated module's names.
    """
    if not text:
        return None
    scope.update(names())
    exec(compile(text, "<npaccel code on arrays>", "exec"), scope)
    function: Callable[..., Any] = scope[ON_ARRAYS]
    return function


__all__ = ["DTYPES", "ON_ARRAYS", "again", "compiled_on_arrays", "name_of", "names", "view_of"]
