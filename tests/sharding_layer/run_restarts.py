"""A fit, or a scan, of which a rank is killed under torchrun: it's begun again, and goes on."""

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import torch.distributed as dist
from rank_parts import ITERATED, RANK, X, iterated, scanned
from torch.distributed.tensor import init_device_mesh

import npaccel
from npaccel._sharding.parts import RankParts
from npaccel.sklearn import accelerate

RESTARTS = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def fit(mesh, folder):
    """Return the centres of a fit in which rank 1 dies first; and how many reductions it took."""
    original, count = RankParts.reduce, 0

    def reduce(*args):
        nonlocal count
        count += 1
        if RESTARTS == 0 and mesh.get_rank() == 1 and count == 6:
            os._exit(3)
        return original(*args)

    RankParts.reduce = reduce
    rows = npaccel.shard(iterated(), mesh)
    model = accelerate(ITERATED["KMeans"], checkpoint=folder).fit(rows)
    return model.cluster_centers_, count


def scan(mesh, folder):
    """Return what a scan finds in which rank 1 dies first; and how many steps it took."""
    RANK.fails_at, RANK.dies = (5 if RESTARTS == 0 and mesh.get_rank() == 1 else None), True
    return scanned(npaccel.shard(X, mesh), checkpoint=folder, every=2), RANK.steps


def main(folder, what):
    warnings.simplefilter("ignore")
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # A store of its own: in the agent's there are addresses of ranks that are gone.
    store = f"file://{folder}/store-{size}-{RESTARTS}"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (size,))
    with npaccel.options(compile="auto"):
        found, count = globals()[what](mesh, f"{folder}/kept")
    if rank == 0:
        told = {"restarts": RESTARTS, "count": count, "found": found}
        Path(f"{folder}/answer").write_text(json.dumps(told, default=np.ndarray.tolist))
    dist.destroy_process_group()


main(*sys.argv[1:])
