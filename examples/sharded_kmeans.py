"""k-means on points that several processes share: a jitted function on DTensors.

    torchrun --nproc-per-node 4 examples/sharded_kmeans.py
    torchrun --nproc-per-node 2 examples/sharded_kmeans.py --points 20_000_000
    python examples/sharded_kmeans.py

Writes points to a file, of which each process reads its part alone. A jitted step moves the means
to the points that are nearest to them; between processes go sums and counts, in two collectives a
step. The program is the same in one process. Prints what a step takes and sends, and whether NumPy,
in one process on all points, agrees.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist
from torch.distributed.tensor import init_device_mesh

import npaccel


def write_points(path: Path, count: int, clusters: int) -> None:
    """Write points around as many places on a circle, a million at a time."""
    file = np.lib.format.open_memmap(path, "w+", np.float32, (count, 2))
    rng = np.random.default_rng(0)
    angles = 2 * np.pi * np.arange(clusters) / clusters
    places = 4 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for start in range(0, count, 1_000_000):
        rows = file[start : start + 1_000_000]
        noise = rng.standard_normal(rows.shape)
        rows[:] = places[rng.integers(clusters, size=len(rows))] + 0.7 * noise
    file.flush()


def step(points: Any, means: Any) -> tuple[Any, Any]:
    """Return each cluster's mean, and how many points it has."""
    distances = ((points[:, None] - means) ** 2).sum(axis=2)
    labels = np.argmin(distances, axis=1)
    members = labels[:, None] == np.arange(len(means))
    sums = (members[:, :, None] * points[:, None]).sum(axis=0)
    counts = members.sum(axis=0)
    return sums / np.maximum(counts, 1)[:, None].astype(np.float32), counts


def report(jitted: Any) -> list[str]:
    """Return what goes between processes in a step, a line each."""
    (graph,) = jitted.report().graphs
    return [
        f"  {one.kind} of {one.nbytes} bytes, line {one.line}" for one in graph.details.collectives
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run k-means, and return 0 if NumPy agrees."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=200_000)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args(arguments)

    count = int(os.environ.get("WORLD_SIZE", "1"))  # torchrun sets it.
    mesh = init_device_mesh("cpu", (count,)) if count > 1 else None
    is_first = mesh is None or dist.get_rank() == 0
    path = options.folder / f"npaccel-points-{options.points}-{options.clusters}.npy"
    if is_first:
        write_points(path, options.points, options.clusters)
    if mesh is not None:
        dist.barrier()

    points = np.load(path, mmap_mode="r")
    shared = npaccel.shard(points, mesh)
    start = np.array(points[: options.clusters])
    jitted = npaccel.jit(step, compile="now")
    means = npaccel.gather(jitted(shared, start))[0]
    began = time.perf_counter()
    for _ in range(options.steps - 1):
        means, counts = npaccel.gather(jitted(shared, means))
    seconds = (time.perf_counter() - began) / max(options.steps - 1, 1)

    agrees = True
    if is_first:
        expected = start
        for _ in range(options.steps):
            expected, expected_counts = step(np.asarray(points), expected)
        agrees = bool(np.allclose(means, expected, rtol=1e-3, atol=1e-3))
        agrees = agrees and abs(counts - expected_counts).sum() <= options.points // 1000
        print(f"{count} processes, {options.points:,} points: {seconds * 1e3:.1f} ms a step")
        if mesh is not None:
            print("between processes, a step:", *report(jitted), sep="\n")
        print("answers agree" if agrees else "answers DIFFER")
        path.unlink()
    if mesh is not None:
        dist.barrier()
        dist.destroy_process_group()
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
