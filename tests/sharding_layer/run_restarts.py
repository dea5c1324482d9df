"""A fit of which a rank is killed, under torchrun: it's begun again, and goes on."""

import json
import os
import sys
import warnings
from pathlib import Path

import torch.distributed as dist
from rank_parts import ITERATED, iterated
from torch.distributed.tensor import init_device_mesh

import npaccel
from npaccel._sharding.parts import RankParts
from npaccel.sklearn import accelerate


def main(folder):
    warnings.simplefilter("ignore")
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # A store of its own: in the agent's there are addresses of ranks that are gone.
    store = f"file://{folder}/store-{restarts}"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=count)
    mesh = init_device_mesh("cpu", (count,))
    original, count = RankParts.reduce, 0

    def reduce(*args):
        nonlocal count
        count += 1
        if restarts == 0 and rank == 1 and count == 6:
            os._exit(3)
        return original(*args)

    RankParts.reduce = reduce
    with npaccel.options(compile="auto"):
        rows = npaccel.shard(iterated(), mesh)
        model = accelerate(ITERATED["KMeans"], checkpoint=f"{folder}/kept").fit(rows)
    if rank == 0:
        told = {"restarts": restarts, "count": count, "centres": model.cluster_centers_.tolist()}
        Path(f"{folder}/answer").write_text(json.dumps(told))
    dist.destroy_process_group()


main(sys.argv[1])
