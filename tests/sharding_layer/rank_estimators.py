"""Estimators on sharded rows, as one rank: what is fitted and predicted, and what is told."""

import traceback

import numpy as np
from sharded_estimators import CASES, data
from torch.distributed.tensor import DTensor

import npaccel
from npaccel.sklearn import accelerate


def value_of(value):
    if isinstance(value, DTensor):
        return npaccel.gather(value)
    return np.asarray(value) if hasattr(value, "shape") else value


def one(case, mesh):
    rows, y = data(case)
    model = accelerate(case.make(rows))
    x = npaccel.shard(rows, mesh)
    model.fit(x, npaccel.shard(y, mesh) if case.shards_y else y)
    answer = {name: value_of(getattr(model, name)) for name in case.attributes}
    for method in case.methods:
        answer[method] = value_of(getattr(model, method)(x))
    return answer, [(step.method, step.route) for step in model.report_.steps]


def answers_of(mesh, names):
    """Return what comes of cases."""
    answers = {}
    with npaccel.options(backend="eager"):
        for name in names:
            try:
                answers[name] = one(CASES[name], mesh)
            except Exception:  # noqa: BLE001 (it's told)
                answers[name] = {"error": traceback.format_exc()}, []
    return answers
