"""Python's complex numbers in code, arguments and globals keep their signs of zero and NaNs."""

import math

import numpy as np
import pytest

import npaccel

PARTS = (0.0, -0.0, 1.5, math.inf, math.nan)
NUMBERS = [complex(a, b) for a in PARTS for b in (-0.0, 0.0, -2.0, -math.inf, math.nan)]
X = np.arange(3.0)
SHIFT = 0j


def shown(value):
    """Type and bits, NaN but for its sign."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(shown, value)]
    if isinstance(value, np.ndarray):
        return [value.dtype.str, value.shape, *map(shown, value.reshape(-1).tolist())]
    if isinstance(value, np.generic):
        return [type(value).__name__, shown(value.item())]
    if isinstance(value, complex):
        return ["complex", shown(value.real), shown(value.imag)]
    return repr(value)


def lists(a):
    return (
        np.angle([0.0, -0.0, complex(0.0, -0.0), complex(-0.0, -0.0)]),
        np.array([complex(0.0, -0.0), complex(-0.0, -0.0), complex(-0.0, 0.0), -0.0]),
        np.append(a, [complex(-0.0, -0.0)]),
        np.concatenate([a, [complex(-0.0, -0.0), 1]]),
        np.sqrt([complex(-1.0, -0.0), complex(-1.0, 0.0)]),
        np.real([complex(-0.0, -0.0)]),
    )


def values(a):
    b = np.zeros(3, complex)
    b[:] = complex(-0.0, -0.0)
    b[1] = complex(-0.0, 0.0)
    return (
        *(b, np.full(3, complex(-0.0, -0.0)), np.full(2, -0.0), np.full(2, 0.0), np.full(2, -0j)),
        np.where(a > 0, complex(-0.0, -0.0), complex(0.0, -0.0)),
        np.full_like(a, complex(-0.0, -0.0), dtype=complex),
        np.pad(a + 0j, 1, constant_values=complex(-0.0, -0.0)),
        np.select([a > 5], [a], default=complex(-0.0, -0.0)),
        *(np.log(complex(-1.0, -0.0)), np.angle(complex(-0.0, -0.0))),
    )


def arithmetic(a):
    z = np.array([complex(-0.0, -0.0), complex(-0.0, 1), complex(1, -0.0)])
    c = complex(-0.0, -0.0)
    return z + c, c + z, z - c, c - z, -0.0 * a + c, z - complex(1, -0.0), a * c, [c * 1, -c]


@pytest.mark.parametrize("function", [lists, values, arithmetic])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_constants(function, backend):
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    for _ in range(2):
        assert shown(jitted(X)) == shown(function(X))


@pytest.mark.inductor
def test_constants_in_compiled_code():
    def all_of_them(a):
        return lists(a), values(a), arithmetic(a)

    jitted = npaccel.jit(all_of_them, default_float="float64", cache=False)
    assert shown(jitted(X)) == shown(all_of_them(X))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_arguments():
    def f(c, d, a):
        return np.array([c, c]), np.full(2, c), c, [c.conjugate()], np.array([d["c"]]) * a

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for c in NUMBERS:
        assert shown(jitted(c, {"c": c}, X)) == shown(f(c, {"c": c}, X))


def test_loops():
    def f(a, c, n):
        out = np.zeros(n, complex)
        s = c
        for k in range(n):
            out[k] = s
            s = s * -1
            a = a + c
        return out, s, a

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for c in NUMBERS:
        assert shown(jitted(X, c, 3)) == shown(f(X, c, 3))


def test_a_global_whose_sign_changes(monkeypatch):
    def f(a):
        return np.array([SHIFT]), a

    jitted = npaccel.jit(f, backend="eager", default_float="float64")
    for shift in (0j, -0j, complex(-0.0, 0.0), complex(-0.0, -0.0)):
        monkeypatch.setitem(globals(), "SHIFT", shift)
        assert shown(jitted(X)) == shown(f(X))
