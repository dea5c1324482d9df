"""Measure a k-means step on points that ranks share, and model it on more of them.

    python asv_benches/sharded_kmeans.py --points 20_000_000 --ranks 1 2 4

Each rank is a process of one thread, on this machine. Answers of all numbers of ranks are compared
before a time is printed. Besides the time of a step the processor's time of a rank is told: on a
machine with other work it's the one that says how the work is shared. The last table is a model:
each rank has as many points as here, computes as long, and collectives take what `modelled` says.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

#: Seconds that a message takes to begin, and bytes a second, between two ranks: Ethernet of 25
#: Gbit/s with TCP, and an interconnect of 200 Gbit/s.
NETWORKS = {"25 Gbit/s, TCP": (30e-6, 2.5e9), "200 Gbit/s": (3e-6, 22e9)}
MANY = (8, 64, 512)


def step(points: Any, means: Any) -> Any:
    """Return the means of the points that are nearest to each mean."""
    distances = ((points[:, None] - means) ** 2).sum(axis=2)
    labels = np.argmin(distances, axis=1)
    members = labels[:, None] == np.arange(len(means))
    sums = (members[:, :, None] * points[:, None]).sum(axis=0)
    return sums / members.sum(axis=0)[:, None].astype(np.float32)


def be_a_rank(options: argparse.Namespace) -> None:
    """Run steps as one rank, and print what they took as JSON."""
    import torch
    import torch.distributed as dist
    from torch.distributed.tensor import init_device_mesh

    import npaccel

    torch.set_num_threads(1)
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(
        "gloo", init_method=f"file://{os.environ['STORE']}", rank=rank, world_size=count
    )
    points = np.load(options.file, mmap_mode="r")
    jitted = npaccel.jit(step, compile="now")
    x, means = npaccel.shard(points, init_device_mesh("cpu", (count,))), np.array(points[:8])
    result = npaccel.gather(jitted(x, means))
    walls, works = [], []
    for _ in range(options.rounds):
        dist.barrier()
        wall, work = time.perf_counter(), time.process_time()
        jitted(x, means)
        walls.append(time.perf_counter() - wall)
        works.append(time.process_time() - work)
    (graph,) = jitted.report().graphs
    sent = [one.nbytes for one in graph.details.collectives]
    answer = {
        "wall": float(np.median(walls)),
        "least": min(walls),
        "work": float(np.median(works)),
        "sent": sent,
        "means": result.tolist(),
    }
    print("ANSWER" + json.dumps(answer), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def answers_of(count: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what each of some ranks answers."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"WORLD_SIZE": str(count), "STORE": f"{folder}/store"}
        env |= {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--file", options.file]
        children = [
            subprocess.Popen(
                [*command, "--rounds", str(options.rounds)],
                env=env | {"RANK": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ]
        printed = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        raise SystemExit(f"sharded_kmeans: one of {count} ranks has failed")
    lines = [line for text in printed for line in text.splitlines()]
    return [json.loads(line[6:]) for line in lines if line.startswith("ANSWER")]


def modelled(sent: Sequence[int], ranks: int, latency: float, speed: float) -> float:
    """Return what all-reduces of some bytes take among ranks, in a ring or a tree.

    The better of both: a ring sends twice the array in ``2 (ranks - 1)`` parts, a tree the whole
    array ``2 log2(ranks)`` times.
    """
    total = 0.0
    for nbytes in sent:
        ring = 2 * (ranks - 1) * (latency + nbytes / ranks / speed)
        tree = 2 * math.ceil(math.log2(ranks)) * (latency + nbytes / speed)
        total += min(ring, tree)
    return total


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=20_000_000)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        be_a_rank(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        options.file = f"{folder}/points.npy"
        rng = np.random.default_rng(0)
        np.save(options.file, rng.standard_normal((options.points, 2), dtype=np.float32))
        first = None
        print("ranks  step, s  least, s  of 1 rank  processor of a rank, s  of 1 rank")
        for count in options.ranks:
            found = answers_of(count, options)
            wall, work = (max(one[name] for one in found) for name in ("wall", "work"))
            least = max(one["least"] for one in found)
            first = first or (found[0]["means"], least, work)
            if not np.allclose(found[0]["means"], first[0], rtol=1e-4, atol=1e-5):
                raise SystemExit(f"sharded_kmeans: {count} ranks give another answer")
            shares = f"{least / first[1]:.2f}", f"{work / first[2]:.2f}"
            print(
                f"{count:5}  {wall:7.3f}  {least:8.3f}  {shares[0]:>9}  {work:22.3f}  {shares[1]}"
            )
        sent = found[0]["sent"]
    print(f"\n{len(sent)} collectives a step, {sum(sent)} bytes")
    for name, (latency, speed) in NETWORKS.items():
        for ranks in MANY:
            spent = modelled(sent, ranks, latency, speed)
            share = first[2] / (first[2] + spent) if first else 0.0
            print(
                f"{name}, {ranks} ranks: {spent * 1e6:.0f} µs between ranks, {share:.2%} efficient"
            )


if __name__ == "__main__":
    main()
