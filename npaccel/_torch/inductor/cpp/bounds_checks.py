"""Checks of indices in kernels: before what they protect, and not the end of the process.

Inductor writes a check behind its load where another check of the same index is before it. And
what a kernel throws in a loop that threads share ends the process: each iteration of such a loop
catches it, and the first one is thrown again behind the threads' region.

Read from torch/_inductor/codegen/cpp.py (CppKernel.check_bounds and indirect_assert, WorkSharing,
LoopLevel.lines) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from torch._inductor.codegen.cpp import CppKernel
from torch._inductor.virtualized import V
from torch.utils._sympy.symbol import SymT, free_symbol_is_type

from npaccel._torch.patching import Patch, patched

#: Declarations for kernels that throw in threads.
CAUGHT = """
#include <atomic>
#include <exception>
struct Caught {
    std::atomic<bool> is_set{false};
    std::exception_ptr first;

    void note() noexcept
    {
        if (!is_set.exchange(true)) first = std::current_exception();
    }
    void rethrow()
    {
        if (is_set) std::rethrow_exception(first);
    }
};
"""
_THROWS = re.compile(r"\bTORCH_CHECK\b|\bthrow\b")
_REGION = re.compile(r"#pragma omp parallel\b.*")
_SHARED = re.compile(r"#pragma omp (?:for|single|simd)\b(.*)")
_COLLAPSED = re.compile(r"collapse\((\d+)\)")
#: Strings and comments, whose brackets don't count, and brackets.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//.*|[(){}]')


@contextlib.contextmanager
def checks_before_loads() -> Iterator[None]:
    """Have kernels that are generated meanwhile check an index before they read there."""
    with patched(PATCHES):
        yield


def _before_loads(original: Any) -> Any:
    def check_bounds(kernel: Any, expr: Any, size: Any, lower: bool, upper: bool) -> None:
        if free_symbol_is_type(expr, SymT.TMP):  # It is computed where it's read.
            original(kernel, expr, size, lower, upper)
            return
        # A variable that holds the index may come later: this one is of the check's own.
        cse, compute = kernel.cse, V.kernel.compute
        kernel.cse, V.kernel.compute = cse.clone(), kernel.loads
        try:
            original(kernel, expr, size, lower, upper)
        finally:
            kernel.cse, V.kernel.compute = cse, compute

    return check_bounds


def throwing_outside_of_threads(source: str) -> str:
    """Return a kernel's code such that nothing is thrown out of a region of threads.

    Parameters
    ----------
    source : str
        C++ as Inductor writes it.
    """
    if not _THROWS.search(source):
        return source
    inserted: list[tuple[int, str]] = []
    for region in _REGION.finditer(source):
        begin, end = block_of(source, region.end())
        bodies = [
            body for body in _bodies(source, begin, end) if _THROWS.search(source[slice(*body)])
        ]
        if not bodies:
            continue
        for first, last in bodies:
            inserted += [(first + 1, " try {"), (last, "} catch (...) { npaccel_caught.note(); } ")]
        inserted += [
            (region.start(), "{ Caught npaccel_caught;\n"),
            (end + 1, "\nnpaccel_caught.rethrow(); }"),
        ]
    for place, text in sorted(inserted, reverse=True):
        source = source[:place] + text + source[place:]
    return source


def _bodies(source: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the outermost blocks in a region of which each iteration is one thread's."""
    place = begin
    while (pragma := _SHARED.search(source, place, end)) is not None:
        depth = _COLLAPSED.search(pragma.group(1))
        start = pragma.end()
        for _ in range(int(depth.group(1)) if depth else 1):
            body = block_of(source, start)
            start = body[0] + 1
        yield body
        place = body[1]


def block_of(source: str, place: int) -> tuple[int, int]:
    """Return where the braces are of the next block, behind what is in parentheses."""
    opened: list[int] = []
    for token in _TOKEN.finditer(source, place):
        if token.group() in ("(", "{"):
            opened.append(token.start())
        elif token.group() in (")", "}"):
            begin = opened.pop()
            if not opened and token.group() == "}":
                return begin, token.start()
    raise ValueError("a block of C++ has no end")


PATCHES = (
    Patch(
        CppKernel, "check_bounds", _before_loads,
        "Inductor checks some indices after it has read there",
        "tests/torch_layer/inductor/test_kernel_checks.py",
    ),
)  # fmt: skip

__all__ = ["CAUGHT", "block_of", "checks_before_loads", "throwing_outside_of_threads"]
