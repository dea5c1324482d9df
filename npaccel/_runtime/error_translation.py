"""Translate errors of compiled code to NumPy's."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator

import numpy as np
import torch

from npaccel._runtime import errstate
from npaccel._runtime.torch.compiler_errors import inner_of, output_of

#: Reason why a subgraph can't run on copies.
SHARED = "a reversed array shares memory with an array that is written to, or with a result"
#: Beginning of an assumption about elements, not sizes.
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


#: Text where NumPy answers a call for which compiled code has too little memory.
NO_MEMORY_IN_A_CALL = (
    "memory has run out in compiled code, so this call runs in NumPy",
    "give the process more memory, or pass smaller arrays",
)
NO_MEMORY_TO_COMPILE = (
    "memory has run out before it was compiled, so this call runs in NumPy",
    "give the process more memory; later calls try again",
)
#: Beginning of the user's own assertions in compiled code.
ASSERTION = "assertion in compiled code: "
#: Errors that compiled code raises where it can't do what NumPy does.
FAILURES = (RuntimeError, IndexError, MemoryError)


class CompiledCodeError(Exception):
    """Compiled code has raised an error; what it wrote to has its old values again.

    Errors of code that NumPy or Python runs beside it are none.

    Parameters
    ----------
    error : Exception
        What it raised.
    undone : bool
        Whether that holds where memory has run out too, which may be at any line of the code.
    """

    def __init__(self, error: Exception, undone: bool = True) -> None:
        super().__init__(str(error))
        self.error = error
        self.undone = undone


class UncompiledForMemoryError(Exception):
    """Memory has run out before there was compiled code. It's raised from what said so."""


#: Words for it of libraries that compiled code calls, and of C++ itself.
_ALLOCATION_FAILS = re.compile(r"DefaultCPUAllocator: can't allocate|\bbad_alloc\b|bad allocation")
#: Words of the C++ compiler and the loader.
_NO_MEMORY = re.compile(
    r"out of memory\b|\bmemory exhausted|[Cc]annot allocate memory(?! in static)"
    r"|can't start new thread|Killed signal terminated"
    r"|returned NULL without setting an exception"  # Python itself, where it's short of memory.
)
#: Words of the loader, which says no more where code may not be run.
_NOT_MAPPED = re.compile(
    r"(\S+): failed to map segment from shared object(?!: (?:Operation|Permission))"
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of compiled code says that memory has run out."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and bool(_ALLOCATION_FAILS.search(str(error)))


def comes_of_memory(error: BaseException) -> bool:
    """Whether an error of the compiler, or one on its way, says that memory has run out."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        is_systems = isinstance(found, OSError) and found.errno == errno.ENOMEM
        said = f"{found}\n{output_of(found)}"
        if is_out_of_memory(found) or is_systems or _NO_MEMORY.search(said):
            return True
        library = _NOT_MAPPED.search(said)
        if library is not None and not _forbids_code(library[1]):
            return True
        inner = inner_of(found)
        found = inner if inner is not found else found.__cause__ or found.__context__
    return False


def _forbids_code(library: str) -> bool:
    """Whether a file lies where no code may be run."""
    from npaccel._cache import room

    try:
        return room.forbids_code(os.statvfs(library))
    except (OSError, AttributeError):  # It's gone, or the system has no such call.
        return False


def as_memory_error(error: Exception) -> MemoryError | None:
    """Return what NumPy raises where memory has run out, None for another error."""
    if isinstance(error, MemoryError):
        return error
    return MemoryError(str(error)) if is_out_of_memory(error) else None


def raise_without_memory(error: Exception) -> None:
    """Raise MemoryError for an error that says that memory has run out, whatever its class."""
    translated = as_memory_error(error)
    if translated is error:
        raise error
    if translated is not None:
        raise translated from error


class Patience:
    """Number of calls until compiling again after memory has run out: 1, then 2, 4 and so on."""

    def __init__(self) -> None:
        self.calls = 0
        self._shortages = 0

    def begin(self) -> None:
        """Note that memory has run out."""
        if not self.calls:
            self.calls = min(2**self._shortages, 1024)
            self._shortages += 1

    def end(self) -> None:
        """Note that it hasn't."""
        self._shortages = 0


@contextlib.contextmanager
def before_a_call() -> Iterator[None]:
    """Have it known that nothing of a call has been made yet where memory runs out.

    Raises
    ------
    UncompiledForMemoryError
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, UncompiledForMemoryError) or not comes_of_memory(error):
            raise
        raise UncompiledForMemoryError(str(error)) from error


#: Words of torch for a number that isn't known while a function is captured.
_DEPENDS = "data-dependent expression"


def is_assumption(error: Exception) -> bool:
    """Whether an error says that something isn't as the code was compiled for."""
    text = str(error)
    if text in (errstate.CAUSE, SHARED) or ASSERTION in text or _lacks_kernel(error):
        return True
    return (
        "Runtime assertion failed" in text
        or _DEPENDS in text
        or re.search(r"\bu\d+\b", text) is not None
    )


def _lacks_kernel(error: Exception) -> bool:
    """Whether torch has something for other dtypes only."""
    return isinstance(error, NotImplementedError) and "not implemented for" in str(error)


def assumption_and_advice(error: Exception) -> tuple[str, str]:
    """Return what isn't as the code was compiled for, and what to write instead."""
    if str(error) == errstate.CAUSE:
        return errstate.CAUSE, errstate.ADVICE
    if is_out_of_memory(error):
        return NO_MEMORY_IN_A_CALL
    if str(error) == SHARED:
        return f"{SHARED}, so this call runs in NumPy", "copy one of them before it's written to"
    if _lacks_kernel(error):
        return f"{error}, so this call runs in NumPy", "cast its arrays to another dtype"
    if _DEPENDS in str(error):
        return (
            "a number that the data give, such as x.max().item(), is used where compiled code has "
            "to know it, so this call runs in NumPy",
            "leave it an array: without item(), int() or float()",
        )
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
    if isinstance(error, Exception) and is_out_of_memory(error):
        return as_memory_error(error)
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
