"""Measured choice between torch's BLAS and NumPy's for products of matrices.

Which of the two is faster depends on the processor: Intel's library, which torch has, isn't made
for others. So both are timed, once for each dtype and size of matrices that a function multiplies,
and what is found is kept on disk: the same machine makes the same choice in each process, and
results have the same bits.

Matrices between small and large ones stay torch's. NumPy's BLAS multiplies small ones in the
calling thread. Of larger ones its threads look for more work for a while, in the way of the loops
that follow: 8 ms in place of 0.2 were measured for a product of 128 x 128 and `tanh`.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from npaccel._cache.store import cache_key, default_cache
from npaccel._runtime import artifacts

#: Maximum number of multiplications that NumPy's BLAS makes in one thread.
_ONE_THREADS = 2**18
#: Number of multiplications from which other threads' delay is small beside them.
_LARGE = 10**9
#: Greatest number of multiplications that are timed, and of elements of a matrix; larger ones are
#: like those.
_MOST, _MOST_ELEMENTS = 2**28, 2**21
#: Seconds that calls of torch's take more than NumPy's in compiled code.
_CALL = 2e-6
#: Share of torch's time that NumPy may take for small and for large matrices: where both are about
#: as fast, torch's stays.
_FASTER, _CLEARLY_FASTER = 0.97, 0.9
#: Number of blocks of calls that are timed of each, of one long call, and seconds of a block.
_BLOCKS, _FEW_BLOCKS, _SECONDS = 5, 3, 0.5e-3
#: Seconds after which threads don't wait for more work any more.
_PAUSE = 5e-3


def is_numpys(
    dtype: torch.dtype, rows: int, inner: int, columns: int, *, is_stack: bool = False
) -> bool:
    """Whether NumPy's BLAS is faster than torch's.

    Parameters
    ----------
    dtype : torch.dtype
        One that NumPy's BLAS has.
    rows, inner, columns : int
        Sizes of the axes of two matrices that are multiplied.
    is_stack : bool
        Whether there are many of them: then the choice is torch's but for large ones.
    """
    if (0 if is_stack else _ONE_THREADS) < rows * inner * columns < _LARGE:
        return False
    return _is_numpys(dtype, *_like((rows, inner, columns)))


def _like(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes of which two are told apart in each octave, of not too large matrices."""
    found = [_rounded(size) for size in sizes]
    most = _ONE_THREADS if math.prod(sizes) <= _ONE_THREADS else _MOST
    while math.prod(found) > most or math.prod(sorted(found)[1:]) > _MOST_ELEMENTS:
        largest = max(found)
        found = [size // 2 if size == largest else size for size in found]
    return tuple(found)


def _rounded(size: int) -> int:
    power = 1 << (size.bit_length() - 1)
    return min((power, power * 3 // 2, power * 2), key=lambda one: abs(one - size))


@functools.cache
def _is_numpys(dtype: torch.dtype, *sizes: int) -> bool:
    key, group = cache_key(str(dtype), str(sizes)), cache_key("products", *artifacts.environment())
    entry = default_cache().load(key, group=group)
    if entry is not None and isinstance(entry.metadata.get("is_numpys"), bool):
        return bool(entry.metadata["is_numpys"])
    torchs, numpys = _measured(dtype, *sizes)
    is_small = math.prod(sizes) <= _ONE_THREADS
    found = numpys < (_FASTER if is_small else _CLEARLY_FASTER) * (torchs + _CALL)
    metadata = {"is_numpys": found, "torch": torchs, "numpy": numpys}
    default_cache().store(key, {}, metadata, group=group)
    return found


def _measured(dtype: torch.dtype, rows: int, inner: int, columns: int) -> tuple[float, float]:
    """Return the seconds that a product takes in torch and in NumPy.

    In a thread of its own, which no mode of torch's reaches: this may be asked in a capture.

    Raises
    ------
    MemoryError, RuntimeError
        If there is no memory for the matrices, or for a thread.
    """
    with ThreadPoolExecutor(1, "npaccel-products") as threads:
        return threads.submit(_timed, dtype, rows, inner, columns).result()


def _timed(dtype: torch.dtype, rows: int, inner: int, columns: int) -> tuple[float, float]:
    a = torch.full((rows, inner), 0.5, dtype=dtype)
    b = torch.full((inner, columns), 0.5, dtype=dtype)
    out = torch.empty((rows, columns), dtype=dtype)
    first, second, result = a.numpy(), b.numpy(), out.numpy()
    torchs = _seconds(lambda: torch.mm(a, b, out=out))
    time.sleep(_PAUSE)
    numpys = _seconds(lambda: np.matmul(first, second, out=result))
    time.sleep(_PAUSE)
    return torchs, numpys


def _seconds(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    call()
    calls = max(1, int(_SECONDS / max(time.perf_counter() - start, 1e-7)))
    best = float("inf")
    for _ in range(_BLOCKS if calls > 1 else _FEW_BLOCKS):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


__all__ = ["is_numpys"]
