"""What calls with DTensors do besides NumPy's functions, as one rank of two: a check for each."""

import datetime as dt
import os
import traceback

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    init_device_mesh,
)

import npaccel
from npaccel._runtime.transform_leaves import flatten

RANK, COUNT = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
CHECKS = {}
SCALE = 2.0
UNIT = 1.0
#: Another one on each rank.
GENERATOR = np.random.default_rng(RANK)


def check(function):
    CHECKS[function.__name__] = function
    return function


def jit(function, **options):
    return npaccel.jit(**{"backend": "eager", "compile": "now"} | options)(function)


def array(*shape):
    return np.random.default_rng(0).normal(size=shape)


def raised(function, *args):
    try:
        function(*args)
    except Exception as error:  # noqa: BLE001 (which one is told)
        return type(error).__name__, str(error)
    return "none", ""


def kinds(report):
    return [
        (one.kind, one.operation, one.nbytes, one.line, one.is_gather)
        for graph in report.graphs
        for one in graph.details.collectives
    ]


def step(x, means, share):
    labels = np.argmin(((x[:, None] - means) ** 2).sum(axis=2), axis=1)
    ones = labels[:, None] == np.arange(len(means))
    sums = (ones[:, :, None] * x[:, None]).sum(axis=0)
    found = sums / np.maximum(ones.sum(axis=0), 1)[:, None]
    return share * found + (1 - share) * means * UNIT, labels, x[1:] - x[:-1]


def called(mesh):
    """Return a jitted function, and what three calls of it have given."""
    points, means = array(1001, 2), array(5, 2)
    jitted = npaccel.jit(step)  # With the option's default, "auto".
    x = npaccel.shard(points, mesh)
    for share in (1.0, 0.5, 0.25):
        result = jitted(x, means, share)
    return jitted, result


def told(jitted, result):
    """Return what is to be said of them."""
    report = jitted.report()
    wanted = step(array(1001, 2), array(5, 2), 0.25)
    return {
        "close": all(np.allclose(*p) for p in zip(npaccel.gather(result), wanted, strict=True)),
        "placements": [str(one.placements) for one in result],
        "graphs": [graph.loaded for graph in report.graphs],
        "not kept": [graph.uncacheable for graph in report.graphs],
        "collectives": kinds(report),
        "text": str(report),
    }


@check
def compiled(mesh):
    return told(*called(mesh))


@check
def compiled_in_parts(mesh):
    def several(x, i):
        y = x.copy()
        y[:, 0] = x.max(axis=0)[0]
        table = np.zeros(4)
        np.add.at(table, i % 4, 1.0)
        order = np.argsort(x, axis=1)
        return y, table, order, np.cumsum(x, axis=1), x.std(axis=0), x[3], np.median(x, axis=0)

    x, i = array(8, 3), np.arange(8)
    jitted = jit(several, backend="inductor")
    result = npaccel.gather(jitted(npaccel.shard(x, mesh), npaccel.shard(i, mesh)))
    return all(np.allclose(*pair) for pair in zip(result, several(x, i), strict=True))


@check
def random_numbers(mesh):
    def noisy(x, seed):
        rng = np.random.default_rng(seed)
        return x + rng.normal(size=x.shape), rng.random(x.shape).sum(axis=0)

    x = array(7, 3)
    jitted = jit(noisy, rng="device")
    sharded = npaccel.gather(jitted(npaccel.shard(x, mesh), 5))
    single = jit(noisy, rng="device")(x, 5)
    moved = [one for one in kinds(jitted.report()) if one[-1]]
    return all(np.allclose(*pair) for pair in zip(sharded, single, strict=True)), moved


@check
def drawn_by_numpy(mesh):
    def noisy(x):
        return x + GENERATOR.normal(size=x.shape)

    jitted = jit(noisy)
    given = npaccel.gather(jitted(npaccel.shard(np.zeros((6, 2)), mesh)))
    wanted = np.random.default_rng(0).normal(size=(6, 2))
    return np.allclose(given, wanted), [one[:3] for one in kinds(jitted.report())]


@check
def placements(mesh):
    def total(x, y):
        return (x * 2 + y).sum(axis=0), x + y

    x, y = array(6, 4), array(6, 4)
    found = {}
    half = DTensor.from_local(torch.from_numpy(x / COUNT), mesh, [Partial()], run_check=False)
    for name, given in {
        "0": npaccel.shard(x, mesh, [Shard(0)]),
        "-1": npaccel.shard(x, mesh, [Shard(-1)]),
        "whole": npaccel.shard(x, mesh, [Replicate()]),
        "partial": half,
    }.items():
        jitted = jit(total)
        result = jitted(given, npaccel.shard(y, mesh, [Shard(1)]))
        found[name] = [
            all(np.allclose(*p) for p in zip(npaccel.gather(result), total(x, y), strict=True)),
            str(result[1].placements),
        ]
    return found


@check
def mesh_of_two_dimensions(mesh):
    def mixed(x, y):
        return x.sum(axis=0), (x - x.mean(axis=1, keepdims=True)) @ y, x.max(), np.argmax(x)

    x, y = array(7, 6), array(6, 3)
    found = []
    for shape in ((COUNT, 1), (1, COUNT)) if COUNT == 2 else ((2, 2), (4, 1)):
        wide = init_device_mesh("cpu", shape)
        for own in ([Shard(0), Shard(1)], [Shard(0), Shard(0)], [Replicate(), Shard(1)]):
            result = jit(mixed)(npaccel.shard(x, wide, own), y)
            found.append(
                all(np.allclose(*p) for p in zip(npaccel.gather(result), mixed(x, y), strict=True))
            )
    return found


@check
def written_arguments(mesh):
    def add(x, total):
        x += 1
        total[:] = x.sum(axis=0)
        return x

    x, total = array(5, 2), np.zeros(2)
    given = npaccel.shard(x, mesh)
    same = jit(add)(given, total) is given
    return same, np.allclose(npaccel.gather(given), x + 1), np.allclose(total, (x + 1).sum(axis=0))


@check
def globals_and_numbers(mesh):
    def scaled(x, n):
        return x * SCALE + n if n > 1.5 else x - n

    jitted = jit(scaled)
    x = npaccel.shard(np.ones((4, 2)), mesh)
    results = []
    for scale, n in ((2.0, 2.0), (3.0, 2.0), (3.0, 1.0), (3.0, 2.0)):
        globals()["SCALE"] = scale
        results.append(float(npaccel.gather(jitted(x, n))[0, 0]))
    return results


@check
def containers(mesh):
    def both(pair, options):
        return {"sum": pair[0] + pair[1], "shape": pair[0].shape, "same": pair[0]}

    x = npaccel.shard(array(4, 3), mesh)
    result = jit(both)((x, x), {"a": 1})
    return (
        result["shape"],
        result["same"] is x,
        np.allclose(npaccel.gather(result)["sum"], 2 * array(4, 3)),
    )


@check
def read_in_parts(mesh):
    whole = array(7, 3)
    path = f"{os.environ['NPACCEL_TEST_STORE']}-{RANK}.npy"
    np.save(path, whole.astype(">f8"))
    mapped = np.load(path, mmap_mode="r")
    given = npaccel.shard(mapped, mesh)
    local = given.to_local()
    return np.allclose(npaccel.gather(given), whole), tuple(local.shape), str(local.dtype)


@check
def branch_on_a_value(mesh):
    def branch(x):
        y = x * 2
        if y.sum() > 0:
            x[0] = 7.0
            return y + 1
        return y

    x = np.abs(array(5, 2))
    jitted = jit(branch)
    given = npaccel.shard(x, mesh)
    result = jitted(given)
    wanted = branch(x)
    return (
        np.allclose(npaccel.gather(result), wanted),
        np.allclose(npaccel.gather(given), x),
        str(result.placements),
        [one.reason for one in jitted.report().fallbacks],
        raised(jit(branch, strict=True), given)[0],
    )


@check
def loops(mesh):
    def iterate(x):
        for _ in range(5):
            x = x - 0.1 * (x - x.mean(axis=0))
        return x

    x = array(6, 2)
    jitted = jit(iterate)
    same = np.allclose(npaccel.gather(jitted(npaccel.shard(x, mesh))), iterate(x))
    return same, len(kinds(jitted.report())), [one.reason for one in jitted.report().fallbacks]


@check
def derivatives(mesh):
    def loss(w, x, y):
        return ((x @ w - y) ** 2).mean()

    x, y, w = array(6, 3), array(6), array(3)
    gradient = npaccel.jit(backend="eager", compile="now")(npaccel.grad(loss))
    result = gradient(w, npaccel.shard(x, mesh), npaccel.shard(y, mesh))
    wanted = 2 / 6 * x.T @ (x @ w - y)
    return np.allclose(npaccel.gather(result), wanted), str(result.placements)


def regression(x, w):
    return np.tanh(x @ w) * 0.5, (x * w).mean(axis=0), np.argmax(x, axis=1), x.shape


def standardised(x, w):
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.where(y > 0, y, y * w)


def halo(x, w):
    return (x[1:] - x[:-1]) ** 2 * w


def normalised(x, w):
    e = np.exp(x - x.max(axis=0))
    return {"shares": e / e.sum(axis=0), "same": x, "wide": [np.cumsum(x * w, axis=1)]}


def gathered(x, *more, scale=2.0, **others):
    return np.sort(x, axis=0) * more[0] * scale + x[3]


def gradients_of(function, x, w):
    """Return the gradients of a function's results, each weighted, by torch's autograd."""
    found = jit(function)(x * 1.5, w)
    leaves = []
    flatten(found, leaves)
    total = 0.0
    for one in leaves:
        if isinstance(one, torch.Tensor) and one.dtype.is_floating_point:
            total = total + (one * one + one).sum()
    total.backward()
    return x.grad, w.grad


@check
def gradients(mesh):
    found = {}
    for function in (regression, standardised, halo, normalised, gathered):
        for axis in (0, 1):
            plain = [torch.from_numpy(array(*size)).requires_grad_() for size in ((7, 3), (3,))]
            wanted = gradients_of(function, *plain)
            x = npaccel.shard(array(7, 3), mesh, [Shard(axis)]).requires_grad_()
            w = npaccel.shard(array(3), mesh, [Replicate()]).requires_grad_()
            got = gradients_of(function, x, w)
            same = [np.allclose(npaccel.gather(a), b) for a, b in zip(got, wanted, strict=True)]
            found[function.__name__, axis] = same, [str(one.placements) for one in got]
    return found


@check
def sizes_that_data_decide(mesh):
    def positive(x):
        return x[x > 0.1] * 2

    plain = array(6, 4)
    x = npaccel.shard(plain, mesh).requires_grad_()
    found = jit(positive)(x)
    (found * found).sum().backward()
    chosen = plain > 0.1
    return found.shape[0] == chosen.sum(), np.allclose(npaccel.gather(x.grad), 8 * plain * chosen)


@check
def gradients_in_part(mesh):
    def two(x, y, table):
        return x * y + table, x - y

    x = npaccel.shard(array(4, 2), mesh).requires_grad_()
    y, table = npaccel.shard(array(4, 2), mesh), np.ones(2)
    first, second = jit(two)(x, y, table)
    table[:] = np.nan  # What is computed again is of what it was.
    first.sum().backward(retain_graph=True)
    is_same = np.allclose(npaccel.gather(x.grad), npaccel.gather(y))
    with torch.no_grad():
        y.copy_(x)
    return is_same, second.requires_grad, raised(second.sum().backward)


@check
def second_derivatives(mesh):
    def cubes(x, w):
        return (x**3 * w).sum(axis=0)

    plain, weights = array(5, 2), array(2)
    x = npaccel.shard(plain, mesh).requires_grad_()
    w = npaccel.shard(weights, mesh, [Replicate()]).requires_grad_()
    (first,) = torch.autograd.grad(jit(cubes)(x, w).sum(), x, create_graph=True)
    (first * first).sum().backward()
    wanted = [36 * plain**3 * weights**2, (18 * plain**4 * weights).sum(axis=0)]
    return [np.allclose(npaccel.gather(a.grad), b) for a, b in zip((x, w), wanted, strict=True)]


@check
def gradients_that_are_refused(mesh):
    def writes(x):
        x += 1
        return x * 2

    def draws(x):
        return x + np.random.normal(size=x.shape)  # noqa: NPY002

    def draws_there(x):
        return x + np.random.default_rng(3).normal(size=x.shape)

    def branches(x):
        return x * 2 if x.sum() > 0 else x

    def adds(x, y):
        return x + y

    x = npaccel.shard(array(4, 2), mesh).requires_grad_()
    given = {one: raised(jit(one), x) for one in (writes, draws, branches)}
    given[adds] = raised(jit(adds), x, torch.ones(2, dtype=torch.float64).requires_grad_())
    given[draws_there] = raised(jit(draws_there, rng="device"), x)
    told = {one.__name__: text for one, text in given.items()}
    return told, np.array_equal(npaccel.gather(x.detach()), array(4, 2))


@check
def nan_and_signs(mesh):
    def extremes(x):
        return x.max(axis=0), x.min(axis=0), x.argmax(axis=0), x[0], x.any(axis=0)

    x = np.array([[1.0, np.nan, -0.0], [2.0, 3.0, -np.inf], [np.nan, 3.0, -0.0], [2.0, 1.0, -0.0]])
    result = npaccel.gather(jit(extremes)(npaccel.shard(x, mesh)))
    return all(
        np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")
        and np.array_equal(np.signbit(got), np.signbit(wanted))
        for got, wanted in zip(result, extremes(x), strict=True)
    )


@check
def dtypes(mesh):
    def extremes(x):
        return x.max(axis=0), x.min(axis=0), x[1], x.sum(axis=0), x.prod(axis=0)

    found = {}
    for dtype in "?bBhHiIlLefdFD":
        x = (np.arange(10).reshape(5, 2) % 4).astype(dtype)
        if dtype in "bhilefdFD":
            x = -x
        function = extremes
        if dtype in "FD":

            def function(x):
                return x.sum(axis=0), x[1] * 1j, x.prod(axis=0)

        result = npaccel.gather(jit(function)(npaccel.shard(x, mesh)))
        wanted = function(x)
        whole = jit(lambda x: np.sort(x, axis=0)[::-1] if x.dtype.kind in "biuf" else x[::-1])
        result += (npaccel.gather(whole(npaccel.shard(x, mesh))),)
        wanted += (whole.__wrapped__(x),)
        found[dtype] = all(
            got.dtype == one.dtype and np.allclose(got, one)
            for got, one in zip(result, wanted, strict=True)
        )
    return found


@check
def errors(mesh):
    x = npaccel.shard(array(4, 2), mesh)
    other = npaccel.shard(array(4, 2), init_device_mesh("cpu", (1, COUNT)))
    given = npaccel.shard(array(4, 2), mesh)
    return {
        "meshes": raised(jit(lambda x, y: x + y), x, other),
        "outside": raised(jit(lambda y: y + given), x),
        "shapes": raised(jit(lambda x, y: x + y), x, np.ones(3))[0],
        "number": raised(npaccel.shard, array(4, 2), mesh, [Shard(0), Shard(1)]),
        "axis": raised(npaccel.shard, array(4, 2), mesh, [Shard(2)]),
        "kind": raised(npaccel.shard, array(4, 2), mesh, [Partial()]),
        "dtype": raised(npaccel.shard, np.array(["a", "b"]), mesh),
        "index": raised(jit(lambda x, i: x[:, i]), x, np.array([0, 9]))[0],
    }


@check
def other_code_on_another_rank(mesh):
    def one(x):
        return x + 1

    def other(x):
        return x - 1

    other.__qualname__ = one.__qualname__
    x = npaccel.shard(array(4, 2), mesh)
    return raised(jit(one if RANK == 0 else other), x)


@check
def other_shapes_on_another_rank(mesh):
    def add(x, y):
        return x + y

    x = npaccel.shard(array(4, 2), mesh)
    return raised(jit(add), x, np.ones(2 if RANK == 0 else (4, 2)))


@check
def settings(mesh):
    def add(x):
        return x + 1

    x = npaccel.shard(array(4, 2), mesh)
    jitted = jit(add, verify=True)
    jitted.warmup(x)
    with np.errstate(all="raise"):
        same = np.allclose(npaccel.gather(jitted(x)), array(4, 2) + 1)
    return same, list(jitted.report().notes), len(jitted.report()._repr_html_())


@check
def without_a_mesh(mesh):
    def total(x):
        return x.sum(axis=0)

    x = npaccel.shard(array(4, 2), None)
    return type(x).__name__, np.allclose(npaccel.gather(jit(total)(x)), total(x))


def answers_of(mesh, names):
    """Return what checks answer."""
    answers = {}
    for name in names:
        try:
            answers[name] = CHECKS[name](mesh)
        except Exception:  # noqa: BLE001 (it's told)
            answers[name] = {"error": traceback.format_exc()}
        dist.barrier()
    return answers


def waiting_in_vain(mesh):
    """Have the first rank alone make a call, which ends with its group's time-out."""

    def centred(x):
        return x - x.mean(axis=0)

    jitted, x = jit(centred), npaccel.shard(array(4, 2), mesh)
    jitted(x)
    return raised_in_vain(mesh, lambda: jitted(x))


def raised_in_vain(mesh, call):
    """Return the error of a call that the first rank makes alone."""
    dist.barrier()
    if RANK:
        return "none", ""
    dist.distributed_c10d._set_pg_timeout(dt.timedelta(seconds=2), mesh.get_group())
    return raised(call)
