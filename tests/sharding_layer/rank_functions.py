"""NumPy's functions on sharded arrays, as one rank: what comes of each, and what is told."""

import inspect
import traceback

import torch
from sharding_cases import CASES, arrays
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

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
        "fallbacks": [f.reason for f in report.fallbacks],
    }


def answers_of(mesh, calls):
    """Return what comes of calls: names of cases, and axes."""
    known = arrays()
    answers = {}
    for name, axis in calls:
        function = CASES[name]
        given = [known[parameter] for parameter in inspect.signature(function).parameters]
        try:
            answers[name, axis] = one(function, given, [Shard(int(axis))], mesh, "eager")
        except Exception:  # noqa: BLE001 (it's told)
            answers[name, axis] = {"error": traceback.format_exc()}
    return answers
