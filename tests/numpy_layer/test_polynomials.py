"""Polynomials against NumPy."""

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial
from row_checks import ALL, check, data, implementation, traced

from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.polynomial import polynomials, series
from npaccel._numpy.ufuncs import ufuncs

MODULES = (polynomials, series, ufuncs)  # imported for their rows

name = lambda f: getattr(f, "__name__", "")  # noqa: E731 - pytest's way to name a parameter
SOME = ["b", "B", "l", "L", "e", "f", "d", "F", "D"]


@pytest.mark.parametrize("dtype", ALL)
def test_polyval(dtype):
    p, x = data((4,), dtype), data((2, 3), dtype, 1)
    check(np.polyval, p, x)
    check(np.polyval, p, x[0, 0])
    check(np.polyval, p, 2)
    check(np.polyval, [1, 2.5, 3], x)
    check(np.polyval, p, x.real.astype("f"))
    check(np.polyval, p[:0], x)


@pytest.mark.parametrize("dtype", SOME)
@pytest.mark.parametrize("function", [np.polyadd, np.polysub, np.polymul], ids=name)
def test_arithmetic(function, dtype):
    for n, m in ((1, 1), (3, 5), (5, 3), (4, 4)):
        check(function, data((n,), dtype), data((m,), dtype, 1))
    check(function, data((3,), dtype), [1, 2])
    check(function, data((3,), dtype), 2)


@pytest.mark.parametrize("dtype", SOME)
def test_division(dtype):
    for n, m in ((5, 2), (3, 3), (2, 4), (4, 1)):
        v = data((m,), dtype, 1)
        v[0] = 3
        check(np.polydiv, data((n,), dtype), v, ulps=64)
    check(np.polydiv, np.array([1.0, 5, 6]), np.array([1.0, 2]))
    check(np.polydiv, np.array([1.0, 0, 0, 1]), np.array([1.0, 0]))


@pytest.mark.parametrize("dtype", SOME)
def test_derivatives_and_integrals(dtype):
    p = data((5,), dtype)
    for m in (0, 1, 2, 7):
        check(np.polyder, p, m)
    for m in (0, 1, 3):
        check(np.polyint, p, m)
    check(np.polyint, p, 2, k=[1, 2])
    check(np.polyint, p, 1, k=3)
    check(np.polyint, p, 3, k=[1, 2])
    check(np.polyder, p, -1)
    check(np.polyint, p, -1)


@pytest.mark.parametrize("dtype", ["l", "f", "d"])
def test_polyfit(dtype):
    x = np.arange(9).astype(dtype)
    for y in (data((9,), dtype), data((9, 2), dtype)):
        for degree in (0, 1, 3):
            check(np.polyfit, x, y, degree, ulps=4096)
        check(np.polyfit, x, y, 2, cov=True, ulps=8192)
        check(np.polyfit, x, y, 2, cov="unscaled", ulps=8192)
        check(np.polyfit, x, y, 2, w=np.linspace(1, 2, 9), ulps=8192)
    y = data((9,), dtype)
    check(np.polyfit, x, y, 2, full=True, ulps=8192)
    check(np.polyfit, x, y, -1)
    check(np.polyfit, x, y[:3], 1)
    check(np.polyfit, x[None], y, 1)
    check(np.polyfit, x[:0], y[:0], 1)
    check(np.polyfit, x, y, 1, w=np.ones(3))


@pytest.mark.parametrize("dtype", ["b", "l", "e", "f", "d"])
def test_poly(dtype):
    check(np.poly, data((4,), dtype))
    check(np.poly, [1, 2, 3])
    check(np.poly, data((0,), dtype))


def test_what_depends_on_values_is_refused():
    with pytest.raises(NotImplementedError, match="roots"):
        implementation(np.roots)(torch.ones(3))
    with pytest.raises(NotImplementedError, match="poly"):
        implementation(np.poly)(torch.ones(3, 3))
    with pytest.raises(NotImplementedError, match="complex"):
        implementation(np.poly)(torch.ones(3, dtype=torch.complex64))


FAMILIES = [
    (polynomial, "poly"),
    (chebyshev, "cheb"),
    (legendre, "leg"),
    (hermite, "herm"),
    (hermite_e, "herme"),
    (laguerre, "lag"),
]


@pytest.mark.parametrize(("module", "prefix"), FAMILIES, ids=name)
@pytest.mark.parametrize("dtype", ["b", "l", "e", "f", "d", "D"])
def test_series(module, prefix, dtype):
    x = data((3, 4), dtype) / 8
    x = x.astype(dtype)
    value = getattr(module, f"{prefix}val")
    for n in (1, 2, 3, 6):
        check(value, x, data((n,), dtype, 1), ulps=256)
        check(value, x, data((n,), "f", 1), ulps=256)
    check(value, x, data((4, 2), dtype), ulps=256)
    check(value, x, data((4, 3, 4), dtype), tensor=False, ulps=256)
    check(value, 0.5, data((4,), dtype), ulps=256)
    check(value, x, [1, 2.0, 3], ulps=256)
    check(value, x, 2.0)


@pytest.mark.parametrize(("module", "prefix"), FAMILIES, ids=name)
@pytest.mark.parametrize("dtype", ["l", "f", "d"])
def test_series_of_more_variables(module, prefix, dtype):
    x, y, z = (data((3,), dtype, i) for i in range(3))
    check(getattr(module, f"{prefix}val2d"), x, y, data((3, 4), dtype), ulps=256)
    check(getattr(module, f"{prefix}val3d"), x, y, z, data((3, 2, 4), dtype), ulps=256)
    check(getattr(module, f"{prefix}grid2d"), x, y[:2], data((3, 4), dtype), ulps=256)
    check(getattr(module, f"{prefix}grid3d"), x, y, z[:1], data((3, 2, 4), dtype), ulps=256)
    check(getattr(module, f"{prefix}val2d"), x, y[:2], data((3, 4), dtype))
    if hasattr(module, f"{prefix}valnd"):
        check(getattr(module, f"{prefix}valnd"), (x, y), data((3, 4), dtype), ulps=256)
        check(getattr(module, f"{prefix}valnd"), np.stack([x, y, z]), data((3, 2, 4), dtype))
        check(getattr(module, f"{prefix}valnd"), (x, y, z, x[:2]), data((3, 2, 4, 1), dtype))


def test_narrow_settings():
    with tracing(TraceSettings(default_float="float32")):
        x = torch.arange(4)
        assert implementation(chebyshev.chebval)(x, [1, 2, 3]).dtype == torch.float32
        assert implementation(np.polyval)([1.0, 2.0], x.to(torch.float32)).dtype == torch.float32
        assert implementation(np.polyfit)(x, x, 1).dtype == torch.float32
        assert implementation(np.polyint)(x).dtype == torch.float32


P, X = data((4,), "d"), data((9,), "d", 1)
TRACED = [
    (np.polyval, (P, X), {}),
    (np.polyadd, (P, X), {}),
    (np.polymul, (P, X), {}),
    (np.polyder, (P,), {}),
    (np.polyint, (P,), {}),
    (np.polydiv, (X, np.array([2.0, 1, 3])), {}),
    (np.polyfit, (np.arange(9.0), X, 2), {}),
    *((getattr(m, f"{p}val"), (X, P), {}) for m, p in FAMILIES),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), TRACED, ids=name)
def test_traces_with_symbolic_sizes(function, args, kwargs):
    traced(function, *args, **kwargs)
