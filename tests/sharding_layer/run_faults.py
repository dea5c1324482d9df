"""A rank that doesn't come to a collective, or ends: what the other one is told."""

import datetime as dt
import os
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import torch.distributed as dist
from ranks import join

import npaccel


@npaccel.jit(backend=sys.argv[2], compile="now")
def centred(x):
    y = x * 2
    return y - y.mean(axis=0)


@npaccel.jit(backend="eager", compile="now")
def other(x):
    return x + 1


def main(fault):
    warnings.simplefilter("ignore")
    rank, mesh = join()
    x = npaccel.shard(np.ones((4, 2)), mesh)
    centred(x)
    dist.barrier()
    answer = Path(f"{os.environ['NPACCEL_TEST_ANSWER']}-{rank}")
    if rank == 1:
        if fault == "ends":
            os._exit(3)
        dist.barrier()  # It never comes to the call.
        return
    if fault != "ends":
        dist.distributed_c10d._set_pg_timeout(dt.timedelta(seconds=2), mesh.get_group())
    try:
        (other if fault == "compiles" else centred)(x)
    except npaccel.errors.CollectiveError as error:
        answer.write_bytes(pickle.dumps(str(error)))
    os._exit(0)


main(sys.argv[1])
