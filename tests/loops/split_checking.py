"""Compare functions that are split at their loops with NumPy."""

import copy
import warnings

import numpy as np
from comparing import assert_same

import npaccel

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
TABLE = np.arange(20.0).reshape(5, 4)


def check(function, *arguments, compiled=True, **options):
    """Compare two calls with NumPy's: result and arguments; return the compiled function."""
    jitted = npaccel.jit(
        **{"backend": "eager", "default_float": "float64", "loops": "compile", **options}
    )(function)
    for _ in range(2):
        ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
        wanted = function(*theirs)
        with warnings.catch_warnings():
            if compiled:
                warnings.simplefilter("error", npaccel.errors.PerformanceWarning)
            assert_same(jitted(*ours), wanted)
        assert_same(ours, theirs)
    if compiled:
        assert not jitted.report().fallbacks
    return jitted


def loops_of(jitted):
    return [loop.text for loop in jitted.report().loops]


def over_range(a, start, stop, step):
    total = np.zeros_like(a)
    for i in range(start, stop, step):
        total = total + i * a
    return total


def over_rows(a):
    total = 0.0
    for row in a:
        total = total + np.sum(row**2)
    return total


def continuing(a, n):
    out = np.zeros_like(a)
    for i in range(n):
        if i % 3 == 1:
            continue
        out = out + a**i
        if out.sum() > 100:
            continue
        out = out - 1
    return out
