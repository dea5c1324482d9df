"""Sequences, graphs and numbers: folding RNA, checksums, primes, shortest paths, Fourier."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, first, jax_jit, numba_jit

POLYNOMIAL = 0x8408


def nussinov(bases: Array) -> Array:
    """Count the most pairs (0 with 3, 1 with 2) of each stretch of an RNA molecule."""
    n = len(bases)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = max(table[i, j - 1], table[i + 1, j])
            pairs = 1 if bases[i] + bases[j] == 3 else 0
            if i < j - 1:
                best = max(best, table[i + 1, j - 1] + pairs)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def crc16(data: Array) -> int:
    """Return the cyclic checksum of bytes, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ POLYNOMIAL
            else:
                crc >>= 1
    return crc ^ 0xFFFF


def sieve(limit: int) -> Array:
    """Return the primes up to a limit, as Eratosthenes found them."""
    is_prime = np.ones(limit + 1, dtype=bool)
    is_prime[:2] = False
    for p in range(2, int(limit**0.5) + 1):
        if not is_prime[p]:
            continue
        is_prime[p * p :: p] = False
    return np.flatnonzero(is_prime)


def floyd_warshall(distance: Array) -> None:
    """Replace direct distances by the shortest ones over any other nodes."""
    for k in range(distance.shape[0]):
        distance[:] = np.minimum(distance, np.add.outer(distance[:, k], distance[k, :]))


def stockham_fft(x: Array) -> Array:
    """Transform a signal whose length is a power of two, in passes that sort as they go."""
    n, stride = x.size, 1
    while n > 1:
        half = n // 2
        grid = x.reshape(n, stride)
        twiddle = np.exp(-2j * np.pi * np.arange(half) / n)[:, None]
        y = np.empty((half, 2, stride), dtype=x.dtype)
        y[:, 0, :] = grid[:half] + grid[half:]
        y[:, 1, :] = (grid[:half] - grid[half:]) * twiddle
        x = y.reshape(-1)
        n = half
        stride *= 2
    return x


def _nussinov_arguments(size: Size) -> tuple[Any, ...]:
    return (np.random.default_rng(0).integers(0, 4, 12 if size == "test" else 100),)


def _crc16_arguments(size: Size) -> tuple[Any, ...]:
    count = 12 if size == "test" else 100_000
    return (np.random.default_rng(0).integers(0, 256, count, dtype=np.uint8),)


def _sieve_arguments(size: Size) -> tuple[Any, ...]:
    return (200,) if size == "test" else (9_000_000,)


def _floyd_warshall_arguments(size: Size) -> tuple[Any, ...]:
    n = 9 if size == "test" else 300
    random = np.random.default_rng(0)
    distance = np.where(random.random((n, n)) < 0.3, random.random((n, n)), np.inf)
    np.fill_diagonal(distance, 0.0)
    return (distance,)


def _stockham_arguments(size: Size) -> tuple[Any, ...]:
    real, imaginary = np.random.default_rng(0).random((2, 16 if size == "test" else 2**18))
    return (real + 1j * imaginary,)


def _numba_sieve() -> Call:
    @numba_jit()
    def sieve(limit: Any) -> Any:
        is_prime = np.ones(limit + 1, np.bool_)
        is_prime[:2] = False
        for p in range(2, int(limit**0.5) + 1):
            if is_prime[p]:
                for multiple in range(p * p, limit + 1, p):
                    is_prime[multiple] = False
        return np.flatnonzero(is_prime)

    return sieve


def _numba_floyd_warshall() -> Call:
    import numba

    @numba_jit(parallel=True)
    def floyd_warshall(distance: Any) -> None:
        n = distance.shape[0]
        for k in range(n):
            for i in numba.prange(n):
                for j in range(n):
                    over = distance[i, k] + distance[k, j]
                    distance[i, j] = min(distance[i, j], over)

    return floyd_warshall


def _numba_stockham() -> Call:
    import numba

    @numba_jit(parallel=True)
    def one_pass(x: Any, y: Any, half: Any, stride: Any) -> None:
        # One index over both loops: there are few rows at the end, few columns at the start.
        for index in numba.prange(half * stride):
            p, q = index // stride, index % stride
            twiddle = np.exp(-1j * np.pi * p / half)
            top, bottom = x[p * stride + q], x[(p + half) * stride + q]
            y[2 * p * stride + q] = top + bottom
            y[(2 * p + 1) * stride + q] = (top - bottom) * twiddle

    @numba_jit()
    def stockham_fft(x: Any) -> Any:
        x, y = x.copy(), np.empty_like(x)
        half, stride = x.size // 2, 1
        while half >= 1:
            one_pass(x, y, half, stride)
            x, y = y, x
            half //= 2
            stride *= 2
        return x

    return stockham_fft


def _jax_crc16() -> Call:
    import jax
    import jax.numpy as jnp

    def bit(_: Any, crc: Any) -> Any:
        return jnp.where(crc & 1, (crc >> 1) ^ POLYNOMIAL, crc >> 1)

    def crc16(data: Any) -> Any:
        def byte(crc: Any, value: Any) -> Any:
            return jax.lax.fori_loop(0, 8, bit, crc ^ value), None

        crc, _ = jax.lax.scan(byte, jnp.int64(0xFFFF), data.astype(jnp.int64))
        return crc ^ 0xFFFF

    return jax_jit(crc16)


def _jax_floyd_warshall() -> Call:
    import jax
    import jax.numpy as jnp

    def step(k: Any, distance: Any) -> Any:
        return jnp.minimum(distance, jnp.add.outer(distance[:, k], distance[k, :]))

    return jax_jit(lambda distance: jax.lax.fori_loop(0, len(distance), step, distance))


def _jax_stockham() -> Call:
    import jax.numpy as jnp

    def stockham_fft(x: Any) -> Any:
        n, stride = x.size, 1
        while n > 1:
            half = n // 2
            grid = x.reshape(n, stride)
            twiddle = jnp.exp(-2j * jnp.pi * jnp.arange(half) / n)[:, None]
            top, bottom = grid[:half], grid[half:]
            x = jnp.stack([top + bottom, (top - bottom) * twiddle], axis=1).reshape(-1)
            n = half
            stride *= 2
        return x

    return jax_jit(stockham_fft)


PROGRAMS = (
    Program(nussinov, _nussinov_arguments, peers={"numba": lambda: numba_jit()(nussinov)}),
    Program(
        crc16,
        _crc16_arguments,
        peers={"numba": lambda: numba_jit()(crc16), "jax": _jax_crc16},
    ),
    Program(sieve, _sieve_arguments, peers={"numba": _numba_sieve}),
    Program(
        floyd_warshall,
        _floyd_warshall_arguments,
        written=first(1),
        peers={"numba": _numba_floyd_warshall, "jax": _jax_floyd_warshall},
    ),
    Program(
        stockham_fft,
        _stockham_arguments,
        narrow_tolerance=1e-5,
        peers={"numba": _numba_stockham, "jax": _jax_stockham},
    ),
)
