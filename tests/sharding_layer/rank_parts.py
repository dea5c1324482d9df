"""Metrics on sharded rows, other placements and what is told of errors, as one rank."""

import contextlib
import os
import tempfile
import traceback

import numpy as np
import parts_metrics
import torch.distributed as dist
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard

import npaccel
from npaccel._sharding.parts import RankParts
from npaccel.sklearn import accelerate

X = np.random.default_rng(0).normal(size=(11, 4))


#: Estimators that take several passes.
ITERATED = {
    "KMeans": KMeans(5, random_state=0, n_init=2, tol=0.0),
    "LogisticRegression": LogisticRegression(tol=1e-8),
    "MiniBatchKMeans": MiniBatchKMeans(
        5, random_state=0, batch_size=4, max_no_improvement=None, max_iter=4
    ),
}


def iterated():
    rows = np.random.default_rng(0).normal(size=(300, 4))
    rows[:100] += 1.0
    return rows


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
        lambda: model.transform(npaccel.shard(X[:, :2], mesh)),
        lambda: model.transform(npaccel.shard(X[: 9 - mesh.get_rank()], mesh)),
    ):
        try:
            call()
        except ValueError as error:
            told.append(str(error))
        except npaccel.errors.RankMismatchError as error:
            told.append(f"mismatch: {error}")
    return told


def checkpoints(mesh):
    """Return what is found by fits that a rank has failed in, and in how many reductions."""
    rows, found = iterated(), {}
    x, y = npaccel.shard(rows, mesh), rows[:, 0] > rows[:, 1] + 0.5
    with tempfile.TemporaryDirectory() as folder:
        (folder,) = broadcast(folder)
        for name, model in ITERATED.items():
            with failing(mesh, 10**9) as whole:
                plain = accelerate(model).fit(x, y)
            with failing(mesh, 3 * sum(whole) // 4):
                try:
                    accelerate(model, checkpoint=folder).fit(x, y)
                    found["error"] = f"{name} hasn't failed"
                except RuntimeError as error:
                    found.update({} if str(error) == "rank 1 fails" else {"error": str(error)})
            with failing(mesh, 10**9) as rest:
                model = accelerate(model, checkpoint=folder).fit(x, y)
            attribute = "coef_" if hasattr(model, "coef_") else "cluster_centers_"
            # First reductions are in the order of ranks, and later ones the library's.
            tolerance = 0.0 if mesh.size() == 2 else 1e-9
            same = np.allclose(getattr(model, attribute), getattr(plain, attribute), tolerance, 0.0)
            found[name] = same, model.n_iter_ == plain.n_iter_, sum(rest) / sum(whole)
        dist.barrier()
    return found


@npaccel.jit(backend="eager", compile="now")
def diffused(u):
    return u + 0.1 * (np.roll(u, 1, axis=0) - u) + u.mean(axis=0)


class Rank:
    """What becomes of this one, which doesn't count among the values that a loop reads."""

    __slots__ = ("dies", "fails_at", "steps")


RANK = Rank()
RANK.dies, RANK.fails_at, RANK.steps = False, None, 0


def step(carry, t):
    RANK.steps += 1
    if t == RANK.fails_at:
        if RANK.dies:
            os._exit(3)
        raise RuntimeError("ranks fail")
    u = diffused(carry["u"])
    return {"u": u, "n": carry["n"] + 1}, (u * t, t)


def scanned(rows, **words):
    """Return what a scan finds and records of rows, as arrays."""
    carry, ys = npaccel.scan(step, {"u": rows, "n": 0}, np.arange(8.0), **words)
    return npaccel.gather(carry["u"]), carry["n"], npaccel.gather(ys)


def loops(mesh):
    """Return what scans find, and in how many steps: a whole one, and those that go on."""
    found = [scanned(npaccel.shard(X, mesh))]
    with tempfile.TemporaryDirectory() as folder:
        (folder,) = broadcast(folder)
        for fails_at, placed in ((5, [Shard(0)]), (None, [Shard(0)]), (None, [Shard(1)])):
            RANK.fails_at, RANK.steps = fails_at, 0
            with contextlib.suppress(RuntimeError):
                rows = npaccel.shard(X, mesh, placed)
                found.append((scanned(rows, checkpoint=folder, every=2), RANK.steps))
        read = mesh.get_rank()
        try:
            npaccel.fori_loop(0, 2, lambda i, u: u + read, 0.0, checkpoint=folder)
        except npaccel.errors.RankMismatchError as error:
            found.append(str(error))
        dist.barrier()
    return found


def broadcast(value):
    found = [value]
    dist.broadcast_object_list(found)
    return found


@contextlib.contextmanager
def failing(mesh, after):
    """Let rank 1 fail in a kernel after some have been called; yield a list with how many."""
    original, count = RankParts._called, [0]

    def called(*args):
        count[0] += 1
        if mesh.get_rank() == 1 and count[0] > after:
            raise RuntimeError("rank 1 fails")
        return original(*args)

    RankParts._called = called
    try:
        yield count
    finally:
        RankParts._called = original


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
