"""Call the cases on sharded arrays, as one rank, and tell what came of each."""

import datetime as dt
import inspect
import os
import pickle
import sys
import traceback
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from sharding_cases import CASES, arrays
from torch.distributed.tensor import DTensor, Shard, distribute_tensor, init_device_mesh

import npaccel


def whole(value):
    """Return a result as one process has it."""
    if isinstance(value, DTensor):
        return value.full_tensor().numpy()
    if isinstance(value, dict):
        return {name: whole(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [whole(part) for part in value]
    return value


def one(function, given, placements, mesh, backend):
    """Call a function with sharded arrays; return the result, and what was told."""
    jitted = npaccel.jit(backend=backend, compile="now")(function)
    sharded = [distribute_tensor(torch.from_numpy(a.copy()), mesh, placements) for a in given]
    result = whole(jitted(*sharded))
    report = jitted.report()
    collectives = [c for graph in report.graphs for c in graph.details.collectives]
    return {
        "result": result,
        "gathers": sum(c.is_gather for c in collectives),
        "collectives": [(c.kind, c.operation, c.nbytes) for c in collectives],
        "fallbacks": [f.cause for f in report.fallbacks],
    }


def main(backend, calls):
    """Answer with a dict of cases."""
    warnings.simplefilter("ignore")
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group(
        "gloo",
        init_method=f"file://{os.environ['NPACCEL_TEST_STORE']}",
        rank=rank,
        world_size=count,
        timeout=dt.timedelta(seconds=60),
    )
    mesh = init_device_mesh("cpu", (count,))
    known = arrays()
    answers = {}
    for name, axis in (call.split("/") for call in calls):
        function = CASES[name]
        given = [known[parameter] for parameter in inspect.signature(function).parameters]
        try:
            answers[name, axis] = one(function, given, [Shard(int(axis))], mesh, backend)
        except Exception:  # noqa: BLE001 (it's told)
            answers[name, axis] = {"error": traceback.format_exc()}
    Path(f"{os.environ['NPACCEL_TEST_ANSWER']}-{rank}").write_bytes(pickle.dumps(answers))
    dist.destroy_process_group()


main(sys.argv[1], sys.argv[2:])
