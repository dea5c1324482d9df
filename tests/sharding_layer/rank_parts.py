"""Metrics on sharded rows, other placements and what is told of errors, as one rank."""

import traceback

import numpy as np
import parts_metrics
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard

import npaccel
from npaccel.sklearn import accelerate

X = np.random.default_rng(0).normal(size=(11, 4))


def metrics(mesh):
    return parts_metrics.answers(lambda array: npaccel.shard(array, mesh))


def placements(mesh):
    """Return what is scaled of rows that are placed otherwise than along axis 0."""
    size = mesh.size()
    flat = init_device_mesh("cpu", (1, size))
    tall = init_device_mesh("cpu", (size, 1))
    found = []
    for one, placed in (
        (mesh, [Shard(1)]),
        (mesh, [Replicate()]),
        (flat, [Shard(0), Shard(0)]),
        (tall, [Shard(0), Replicate()]),
        (tall, [Shard(0), Shard(1)]),
    ):
        x = npaccel.shard(X, one, placed)
        model = accelerate(LinearRegression()).fit(x, x[:, 0] if placed[0] == Shard(0) else X[:, 0])
        found.append((npaccel.gather(model.predict(x)), {s.route for s in model.report_.steps}))
    return found


def errors(mesh):
    """Return what ranks are told of values that one of them has, and of calls that differ."""
    told = []
    missing = X.copy()
    missing[-1, 0] = np.nan
    model = accelerate(StandardScaler()).fit(npaccel.shard(X, mesh))
    for call in (
        lambda: accelerate(LinearRegression()).fit(npaccel.shard(missing, mesh), X[:, 0]),
        lambda: accelerate(LinearRegression()).fit(npaccel.shard(X, mesh), X[:9, 0]),
        lambda: model.transform(npaccel.shard(np.where(np.isnan(missing), np.inf, X), mesh)),
        lambda: model.transform(npaccel.shard(X[:, : 2 + mesh.get_rank()], mesh)),
        lambda: model.transform(npaccel.shard(X[: 5 + mesh.get_rank()], mesh)),
    ):
        try:
            call()
        except ValueError as error:
            told.append(str(error))
        except npaccel.errors.RankMismatchError as error:
            told.append(f"mismatch: {error}")
    return told


def answers_of(mesh, names):
    """Return what comes of checks."""
    answers = {}
    with npaccel.options(compile="auto"):
        for name in names:
            try:
                answers[name] = globals()[name](mesh)
            except Exception:  # noqa: BLE001 (it's told)
                answers[name] = traceback.format_exc()
    return answers
