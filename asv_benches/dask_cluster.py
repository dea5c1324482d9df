"""Measure compiled blocks against plain Dask, alternating, with two workers of one thread each.

    python asv_benches/dask_cluster.py chain --gigabytes 4
    python asv_benches/dask_cluster.py chain --gigabytes 4 --source drawn
    python asv_benches/dask_cluster.py stencil

``chain`` is a chain of 12 operations and a mean over the first axis of numbers that lie in a file
which blocks map, or that each block draws. The time for the numbers alone, which both sides take,
is printed beside it. ``stencil`` takes 50 steps of a 9-point stencil, ten at once by
``map_overlap``, of numbers of a file. Answers are compared before a time is printed. The first
round compiles, or loads from disk.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import npaccel
import npaccel.dask

MEMORY_LIMIT = "1.5GB"
STEPS, AT_ONCE = 50, 10
COLUMNS, BLOCK = 1000, 8000


def chain(x: Any) -> Any:
    """Compute with each element, and take the columns' means."""
    y = x * 2.0 - 1.0
    y = np.sqrt(y * y + 0.5)
    y = np.where(y > 1.0, y - 1.0, y * 0.5)
    return np.exp(-y / (x + 1.5)).mean(axis=0)


def step(u: Any) -> Any:
    """Take one step of the stencil; the edges stay."""
    v = u.copy()
    sides = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    corners = u[:-2, :-2] + u[:-2, 2:] + u[2:, :-2] + u[2:, 2:]
    v[1:-1, 1:-1] = 0.2 * sides + 0.05 * corners
    return v


def steps(u: Any) -> Any:
    """Take as many steps as a block's overlap allows."""
    for _ in range(AT_ONCE):
        u = step(u)
    return u


def shape_of(gigabytes: float) -> tuple[int, int]:
    """Return the shape of an array of float64, whose rows are 8 kB."""
    return int(gigabytes * 1e9 / 8 / COLUMNS), COLUMNS


def drawn(gigabytes: float, seed: int) -> Any:
    """Return random numbers in blocks of 64 MB, none of which is stored."""
    return da.random.default_rng(seed).random(shape_of(gigabytes), chunks=(BLOCK, COLUMNS))


def stored(shape: tuple[int, int], path: Path, chunks: tuple[int, int]) -> Any:
    """Return random numbers of a file, which is written; each block maps its part of it."""
    rng = np.random.default_rng(0)
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)
    for start in range(0, len(file), chunks[0]):
        rng.random(out=file[start : start + chunks[0]])
    file.flush()

    def block_of(block_info: Any = None) -> Any:
        of_block = tuple(slice(*ends) for ends in block_info[None]["array-location"])
        return np.load(path, mmap_mode="r")[of_block]

    return da.map_blocks(block_of, chunks=da.core.normalize_chunks(chunks, shape), dtype=np.float64)


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long a call takes, and what it gives."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak() -> float:
    """Return the most memory that a process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure_chain(
    client: Client, options: argparse.Namespace, source: Callable[[int], Any]
) -> None:
    """Print times of the chain and of the numbers alone."""
    jitted = npaccel.jit(chain, compile=options.compile)
    for seed in range(options.rounds):
        x = source(seed)
        firsts = x.map_blocks(lambda block: block[:1], chunks=((1,) * x.numblocks[0], x.chunks[1]))
        alone, _ = seconds(lambda array=firsts: array.compute())
        plain, expected = seconds(lambda array=x: chain(array).compute())
        ours, found = seconds(lambda array=x: jitted(array).compute())
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        most = max(client.run(peak).values())
        print(f"numbers alone {alone:.2f} s", end=", ")
        report(plain, ours, f", at most {most:.2f} GB in a worker")


def measure_stencil(options: argparse.Namespace, x: Any) -> None:
    """Print times of the stencil."""
    whole = x.compute()
    for _ in range(STEPS):
        whole = step(whole)

    def mapped(map_overlap: Callable[..., Any], **kwargs: Any) -> Any:
        result = x
        for _ in range(STEPS // AT_ONCE):
            result = map_overlap(steps, result, depth=AT_ONCE, boundary="none", **kwargs)
        return result.compute()

    for _ in range(options.rounds):
        plain, expected = seconds(lambda: mapped(da.map_overlap, dtype=float))
        with npaccel.options(compile=options.compile):
            ours, found = seconds(lambda: mapped(npaccel.dask.map_overlap))
        np.testing.assert_array_equal(expected, whole)
        np.testing.assert_allclose(found, whole, rtol=1e-12)
        report(plain, ours, "")


def report(plain: float, ours: float, more: str) -> None:
    """Print both times and their ratio."""
    told = f"plain Dask {plain:.2f} s, npaccel {ours:.2f} s, ratio {plain / ours:.2f}{more}"
    print(told, flush=True)


def main() -> None:
    """Start the workers and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["chain", "stencil"])
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--source", choices=["file", "drawn"], default="file")
    parser.add_argument("--size", type=int, default=3000, help="rows and columns of the stencil's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile", choices=["auto", "now"], default="auto")
    options = parser.parse_args()
    workers: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1}
    workers |= {"memory_limit": MEMORY_LIMIT, "dashboard_address": None}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(**workers) as cluster,
        Client(cluster) as client,
    ):
        path = Path(folder, "numbers.npy")
        if options.what == "stencil":
            shape, chunks = (options.size, options.size), (options.size // 2, options.size // 2)
            measure_stencil(options, stored(shape, path, chunks))
        elif options.source == "drawn":
            measure_chain(client, options, lambda seed: drawn(options.gigabytes, seed))
        else:
            x = stored(shape_of(options.gigabytes), path, (BLOCK, COLUMNS))
            measure_chain(client, options, lambda _: x)


if __name__ == "__main__":
    main()
