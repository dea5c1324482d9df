"""What compiled code raises, and what that is in NumPy's terms."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import numpy as np
import torch

from npaccel import _floating_errors

#: Why a piece can't run on copies.
SHARED = "a reversed array shares memory with an array that is written to, or with a result"
#: How an assumption about elements, not sizes, begins.
ELEMENTS = "there is an element for which "
#: The same, for what NumPy itself doesn't take.
REFUSED = "NumPy doesn't take these values: "


def refusal(error: Exception) -> str:
    """Return what compiled code raises where NumPy raises an error for values."""
    return f"Runtime assertion failed: {REFUSED}{error}"


@contextlib.contextmanager
def refusing(kind: type[Exception]) -> Iterator[None]:
    """Raise what compiled code raises for an error of NumPy's about values."""
    try:
        yield
    except kind as error:
        raise RuntimeError(refusal(error)) from error


#: How the user's own assertions begin in compiled code.
ASSERTION = "assertion in compiled code: "
#: What compiled code raises where it can't do what NumPy does.
FAILURES = (RuntimeError, IndexError)


class CompiledCodeError(Exception):
    """Compiled code has raised an error; what it wrote to has its old values again.

    Errors of code that NumPy or Python runs beside it are none.

    Parameters
    ----------
    error : Exception
        What it raised.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def is_assumption(error: Exception) -> bool:
    """Whether an error says that something isn't as the code was compiled for."""
    text = str(error)
    if text in (_floating_errors.CAUSE, SHARED) or ASSERTION in text or _lacks_kernel(error):
        return True
    return "Runtime assertion failed" in text or re.search(r"\bu\d+\b", text) is not None


def _lacks_kernel(error: Exception) -> bool:
    """Whether torch has something for other dtypes only."""
    return isinstance(error, NotImplementedError) and "not implemented for" in str(error)


def assumption_and_advice(error: Exception) -> tuple[str, str]:
    """Return what isn't as the code was compiled for, and what to write instead."""
    if str(error) == _floating_errors.CAUSE:
        return _floating_errors.CAUSE, _floating_errors.ADVICE
    if str(error) == SHARED:
        return f"{SHARED}, so this call runs in NumPy", "copy one of them before it's written to"
    if _lacks_kernel(error):
        return f"{error}, so this call runs in NumPy", "cast its arrays to another dtype"
    translated = as_numpy_error(error)
    if translated is not None:
        return (
            "compiled code stops at an error that the function catches, or that NumPy doesn't "
            f"have ({type(translated).__name__}), so this call runs in NumPy",
            "look for what causes the error before the compiled function is called, or catch it "
            "outside of it",
        )
    if ASSERTION in str(error):
        return (
            "an assertion fails in compiled code that the function catches, or that holds in "
            "NumPy, so this call runs in NumPy",
            "assert it before the compiled function is called",
        )
    said = re.search(f"{ELEMENTS}.*", str(error))
    if said is not None:
        return (
            f"{said.group()}, so this call runs in NumPy",
            "write it with whole arrays, numpy.where, and functions that accept such elements",
        )
    said = re.search(f"{REFUSED}.*", str(error))
    if said is not None:
        return (
            f"{said.group()}; so this call runs in NumPy",
            "look for such values before the compiled function is called",
        )
    return (
        "a size that depends on the data isn't one that the code was compiled for, so this "
        "call runs in NumPy",
        "write it without the size: np.where(mask, a, b) instead of a[mask]",
    )


def as_numpy_error(error: BaseException) -> Exception | None:
    """Translate an error of a compiled kernel into the one NumPy raises."""
    if isinstance(error, torch.linalg.LinAlgError):  # type: ignore[attr-defined]
        text = "Singular matrix" if "singular" in str(error) else str(error)
        return np.linalg.LinAlgError(text)
    if "zero-size array to reduction" in str(error) or "indexing assignment" in str(error):
        return ValueError(str(error).splitlines()[0])
    if "out of bounds" in str(error):
        return IndexError(str(error).splitlines()[0])
    if "must match the size of tensor" in str(error):
        return ValueError(f"operands could not be broadcast together: {error}")
    return None
