"""Estimators on sharded rows, as one rank: what is fitted and predicted, and what is told."""

import traceback

import numpy as np
import parts_cases
from torch.distributed.tensor import DTensor

import npaccel


def collected(value):
    if isinstance(value, DTensor):
        return npaccel.gather(value)
    return np.asarray(value) if hasattr(value, "shape") else value


def answers_of(mesh, names):
    """Return what comes of cases."""
    answers = {}
    # NumPy makes the calls: they are few, and what is compiled has tests of its own.
    with npaccel.options(compile="auto"):
        for name in names:
            case = parts_cases.CASES[name]
            try:
                answers[name] = parts_cases.answers(
                    case, lambda array: npaccel.shard(array, mesh), collected
                )
            except Exception:  # noqa: BLE001 (it's told)
                answers[name] = traceback.format_exc()
    return answers
