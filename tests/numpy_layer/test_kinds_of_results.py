"""Python types of results, and of each part of those that have several, are NumPy's."""

import operator
import warnings
import zlib

import numpy as np
import pytest
from comparing import assert_same
from diff_cases import function, plans, rendered
from diff_running import run_quietly
from sweep import tries

import npaccel
from npaccel import _numpy
from npaccel._numpy.core.table import rows

pytestmark = pytest.mark.filterwarnings("ignore")

_numpy.load()
COMPILED = sorted(name for name, row in rows().items() if row.status == "compiled")
#: How many calls of a row are looked at.
CALLS = tries(1, 8)
#: Types of one dtype that torch knows one of.
ALIKE = {"longlong": np.dtype("q").type(0).dtype.name, "ulonglong": np.dtype("Q").name}
INPUTS = [np.float64(2), np.array(2.0), 2.0, 2, True, np.array([2.0]), np.float32(1), np.array(2)]


def kind(value):
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(kind, value)]
    if isinstance(value, dict):
        return {name: kind(part) for name, part in value.items()}
    name = type(value).__name__
    return (name, value.ndim) if isinstance(value, np.ndarray) else ALIKE.get(name, name)


def jitted(f):
    return npaccel.jit(f, backend="eager", default_float="float64", cache=False)


def outcome(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return kind(f(*args))
        except Exception as error:  # noqa: BLE001 (NumPy's is compared with it)
            return type(error).__name__


FUNCTIONS = {
    "kept": lambda x: [
        *(np.median(x, keepdims=True), np.quantile(x, 0.5, keepdims=True)),
        *(np.nanmedian(x, keepdims=True), np.nanpercentile(x, 50, keepdims=True)),
        *(np.mean(x, keepdims=True), np.max(x, keepdims=True), np.median(x), np.quantile(x, 0.5)),
    ],
    "the_same": lambda x: (np.trim_zeros(x), np.real(x), np.squeeze(x), np.isscalar(x)),
    "not_apart": lambda x: np.diff(x, n=0),
    "ranges": lambda x: (
        *(np.linspace(x, 3, 4, retstep=True), np.linspace(0, 1, 3, retstep=True, dtype=int)),
        *(np.linspace(x, [1, 2], 3, retstep=True), np.linspace(0, 1, 1, retstep=True)),
        np.linspace(0, 1, 0, retstep=True),
    ),
    "ranks": lambda x: (
        *(np.linalg.matrix_rank(x), np.linalg.matrix_rank(np.eye(2) * x)),
        *(np.linalg.matrix_rank(np.ones((2, 3, 3)) * x), np.linalg.matrix_rank([1.0, 2.0])),
    ),
    "parts": lambda x: (
        *(np.average(x, returned=True), np.unique(x, return_counts=True), np.modf(x)),
        *(np.divmod(x, 2), np.linalg.slogdet(np.eye(2) * x), np.unravel_index(1, (2, 2))),
        *(np.histogram([1.0, 2.0]), np.gradient(np.ones((2, 2))), np.meshgrid([1, 2], [3])),
    ),
    "scalars": lambda x: (np.isscalar(x * 2), np.isscalar(x), np.isscalar(np.sum(x))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", INPUTS, ids=repr)
def test_kinds_of_one_input(name, x):
    f = FUNCTIONS[name]
    assert outcome(jitted(f), x) == outcome(f, x)


VARYING = {
    "parts": lambda x: (np.real(x), np.imag(x), np.isreal(x), np.real(x) * 2),
    "scalar_type": lambda x: np.min_scalar_type(x),
    "used_after": lambda x: np.full(3, np.real(x) + np.imag(x)),
    "of_bools": lambda x: (np.real(x > 3), np.imag(x > 3)),
}


@pytest.mark.parametrize("name", VARYING)
@pytest.mark.parametrize("numbers", [(3, 5, 70000), (2.5, -3.5, np.inf)], ids=repr)
def test_kinds_of_varying_numbers(name, numbers):
    f = VARYING[name]
    compiled = jitted(f)
    for x in numbers:
        assert outcome(compiled, x) == outcome(f, x)
        assert_same(compiled(x), f(x))


CONVERSIONS = {
    "float": lambda a: float(a),
    "int": lambda a: int(a),
    "index": lambda a: operator.index(a),
    "of_results": lambda a: np.full(3, float(a * 2)),
    "of_means": lambda a: float(np.mean(a, keepdims=True)),
    "of_elements": lambda a: float(a.reshape(-1)[0] * 2) + int(a.sum()),
    "item": lambda a: a.item() + 1,
    "in_loops": lambda a: sum([float(x) for x in a]),
}


def caught(a):
    try:
        return float(a)
    except TypeError:
        return -1.0


@pytest.mark.parametrize("convert", [*CONVERSIONS.values(), caught])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,)])
@pytest.mark.parametrize("dtype", ["f8", "i8"])
def test_conversions_of_arrays(convert, shape, dtype):
    a = np.full(shape, 3, dtype)
    assert outcome(jitted(convert), a) == outcome(convert, a)


def changed(value, how):
    """An operand in another form: of one element, or a list."""
    if isinstance(value, tuple | list):
        return type(value)(changed(part, how) for part in value)
    if not isinstance(value, np.ndarray) or not value.size or value.dtype == bool:
        return value
    first = value.reshape(-1)[0]
    forms = {"array": np.array(first), "scalar": first, "number": first.item()}
    return value.tolist() if how == "list" else forms.get(how, value)


@pytest.mark.sampled
@pytest.mark.parametrize("name", COMPILED)
def test_kinds_of_each_row(name):
    row = rows()[name]
    every = plans(row)
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(every))
    forms = ("as drawn", "array", "scalar", "number", "list")
    left = dict.fromkeys(forms, CALLS)
    for k in order[: 12 * CALLS]:
        form = forms[k % len(forms)]
        if not left[form]:
            continue

        def called(make, plan=every[k], form=form):
            args, kwargs = plan.draw()
            text, values = rendered(row, [changed(arg, form) for arg in args], kwargs)
            return run_quietly(lambda: make(function(text, values))(*values.values()), ())

        try:
            wanted = called(lambda f: f)
        except Exception:  # noqa: BLE001 (the call can't be written in this form)
            continue
        if wanted.error is not None:
            continue
        left[form] -= 1
        got = called(jitted)
        assert got.error is None
        assert kind(got.result) == kind(wanted.result), form


NUMBERS = (np.float32, np.float16, np.int8, np.uint8)
V, K = np.arange(6, dtype="f4"), np.arange(6, dtype="i4")
M = np.arange(12, dtype="f4").reshape(3, 4)
NESTED = {
    "histograms": lambda s, v, k, m: (
        np.histogram2d(v, v, bins=3, range=[[s(0), s(3)], [s(0), s(4)]]),
        np.histogram2d(v, k, bins=3, range=((s(0), 3.5), (0, s(4)))),
        np.histogramdd(m, bins=2, range=[(s(0), s(3)), None, (0, 3), (0.0, s(3))]),
        np.histogramdd(m, bins=[[s(0), s(5)], 2, 2, 2]),
        np.histogram(k, bins=3, range=(s(0), s(3))),
        np.histogram(v, bins=[s(0), 2, s(3)]),
        np.histogram_bin_edges(k, bins=3, range=[s(0), s(3)]),
    ),
    "ranges": lambda s, v, k, m: (
        np.linspace([s(0), s(1)], [s(2), s(3)], 4),
        np.linspace(0, [s(1), 2.0], 4, retstep=True),
        np.geomspace([s(1), s(2)], [s(4), s(8)], 3),
        *(np.pad(v, 1, constant_values=[s(1), s(2)]), np.pad([s(1), s(2)], 1)),
        np.pad(k, 1, "linear_ramp", end_values=[s(1), s(2)]),
    ),
    "quantiles": lambda s, v, k, m: (
        *(np.percentile(v, [s(10), s(50)]), np.quantile(k, (s(0), s(1)))),
        *(np.nanquantile(v, [s(0), 0.5]), np.interp(v, [s(0), s(1), 2], [s(0), s(1), s(2)])),
        np.interp([s(0), s(1)], [0, 1], [s(3), 4], left=s(3)),
    ),
    "choices": lambda s, v, k, m: (
        *(np.select([v > 3, v > 1], [s(3), s(4)]), np.choose(k % 2, [s(1), s(2)])),
        *(np.piecewise(v, [v > 3, v <= 3], [s(1), s(2)]), np.where(v > 2, [s(1)] * 6, s(2))),
        *(np.block([[s(1), s(2)], [s(3), s(4)]]), np.insert(v, [0, 1], [s(1), s(2)])),
        *(np.concatenate([[s(1)], [2]]), np.stack([[s(1), 2], [3, 4]]), np.append(k, [s(1)])),
    ),
    "weights": lambda s, v, k, m: (
        *(np.average(v, weights=[s(1)] * 6), np.bincount([1, 2], weights=[s(1), s(2)])),
        *(np.cov(v, aweights=[s(1)] * 6), np.polyval([s(1), s(2)], v), np.gradient(v, s(2))),
        *(np.trapezoid([s(1), s(2)], x=[s(0), s(1)]), np.polyfit(v, v, 1, w=[s(1)] * 6)),
    ),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("number", NUMBERS)
def test_scalars_of_numpy_in_lists(name, number):
    def f(v, k, m):
        return NESTED[name](number, v, k, m)

    def dtypes(value):
        if isinstance(value, tuple | list):
            return [type(value).__name__, *map(dtypes, value)]
        return type(value).__name__, str(value.dtype), value.shape

    assert_same(dtypes(jitted(f)(V, K, M)), dtypes(f(V, K, M)))
