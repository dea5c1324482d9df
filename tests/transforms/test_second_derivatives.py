"""Second derivatives of rows against differences of gradients, and both orders beside JAX's."""

import importlib.util
import math

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy_row_calls import COMPILED, call_of, drawn_calls, jax_call_of
from numpy_row_calls import NOT_COMPARED as OF_NUMPY
from row_derivatives import compared_in_a_domain, compared_twice
from scipy_row_calls import NOT_COMPARED as OF_SCIPY
from scipy_row_calls import function_of, jax_function_of, native_calls
from sweep import FULL

import npaccel
import npaccel.scipy

HAS_JAX = importlib.util.find_spec("jax") is not None
#: Rows whose second derivative, or JAX's first one, can't be compared, and why.
NOT_COMPARED = {**OF_NUMPY, **{f"scipy.{name}": why for name, why in OF_SCIPY.items()}}
ONCE_WRONG = ("numpy.power", "numpy.remainder", "scipy.special.agm", "scipy.special.voigt_profile")
#: Rows that draw random numbers take no floats to differentiate that differences could move.
OF_NUMPYS_TABLE = [name for name in COMPILED if not name.startswith("numpy.random.")]
OF_SCIPYS_TABLE = [f"scipy.{name}" for name in native_calls()]
EVERY = OF_NUMPYS_TABLE + OF_SCIPYS_TABLE
CHOSEN = EVERY if FULL else sorted({*ONCE_WRONG, *EVERY[::200]})


def calls_of(name):
    """Yield functions of calls of a row, JAX's or None, and their values."""
    if name.startswith("scipy."):
        call, values = function_of(name.removeprefix("scipy."))
        yield call, jax_function_of(name.removeprefix("scipy.")) if HAS_JAX else None, values
        return
    for text, values in drawn_calls(name):
        theirs = jax_call_of(text, values) if HAS_JAX else None
        yield call_of(text, values), theirs, list(values.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHOSEN)
def test_second_derivatives_and_jax(name):
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    tried = 0
    for call, theirs, values in calls_of(name):
        found = compared_in_a_domain(call, values, compared_twice, jax_call=theirs)
        assert found.kind != "wrong", found.text
        tried += found.kind in ("equal", "refused")
        if found.kind == "equal" or tried == 3:
            break
    if found.kind != "equal":  # What is refused says why; test_rows.py asks for first derivatives.
        pytest.skip(f"{found.kind}: {found.text}")


def logistic(x):
    return mpmath.exp(-x) / (1 + mpmath.exp(-x)) ** 2


def spherical(x, n, sign):
    share = mpmath.hyp0f1(n + 1.5, sign * x * x / 4) / mpmath.gamma(n + 1.5)
    return mpmath.sqrt(mpmath.pi) / 2 * share * (x / 2) ** n


def faddeeva(z):
    return mpmath.exp(-(z**2)) * mpmath.erfc(-1j * z)


def dirichlet(x):
    return mpmath.sin(2.5 * x) / (5 * mpmath.sin(x / 2)) if x else mpmath.mpf(1)


AROUND_0 = (0.0, -0.0, 0.3, -2.0)
#: Functions whose first or second derivative was wrong where their formulas change.
WHERE_FORMULAS_CHANGE = {
    "agm": (lambda x: scipy.special.agm(x, 2.0), lambda x: mpmath.agm(x, 2), (2.0, 0.3)),
    "cauchy.ppf": (
        lambda q: scipy.stats.cauchy.ppf(q),
        lambda q: mpmath.tan(mpmath.pi * (q - 0.5)),
        (0.5, 0.2),
    ),
    "diric": (lambda x: scipy.special.diric(x, 5), dirichlet, (0.0, -0.0, 0.3)),
    "ellipeinc": (
        lambda m: scipy.special.ellipeinc(5.0, m),
        lambda m: mpmath.ellipe(5, m),
        (0.0, 0.3, -2.0),
    ),
    "ellipkinc": (
        lambda m: scipy.special.ellipkinc(1.1, m),
        lambda m: mpmath.ellipf(1.1, m),
        (0.0, 0.3, -2.0),
    ),
    "fresnel cosine": (lambda x: scipy.special.fresnel(x)[1], mpmath.fresnelc, AROUND_0),
    "fresnel sine": (lambda x: scipy.special.fresnel(x)[0], mpmath.fresnels, AROUND_0),
    "iv": (lambda x: scipy.special.iv(1, x), lambda x: mpmath.besseli(1, x), AROUND_0),
    "j0": (scipy.special.j0, lambda x: mpmath.besselj(0, x), AROUND_0),
    "jv": (lambda x: scipy.special.jv(2, x), lambda x: mpmath.besselj(2, x), AROUND_0),
    "logistic.logcdf": (
        lambda x: scipy.stats.logistic.logcdf(x),
        lambda x: -mpmath.log(1 + mpmath.exp(-x)),
        AROUND_0,
    ),
    "logistic.logpdf": (
        lambda x: scipy.stats.logistic.logpdf(x),
        lambda x: mpmath.log(logistic(x)),
        AROUND_0,
    ),
    "logistic.pdf": (lambda x: scipy.stats.logistic.pdf(x), logistic, AROUND_0),
    "powm1": (lambda y: scipy.special.powm1(2.5, y), lambda y: 2.5**y - 1, (0.0, 0.3, 2.0)),
    "sinc": (scipy.special.sinc, mpmath.sincpi, AROUND_0),
    "spherical_in": (
        lambda x: scipy.special.spherical_in(1, x),
        lambda x: spherical(x, 1, 1),
        AROUND_0,
    ),
    "spherical_jn": (
        lambda x: scipy.special.spherical_jn(1, x),
        lambda x: spherical(x, 1, -1),
        AROUND_0,
    ),
    "t.ppf": (
        lambda q: scipy.stats.t.ppf(q, 2.0),
        lambda q: (2 * q - 1) / mpmath.sqrt(2 * q * (1 - q)),
        (0.5, 0.2),
    ),
    "voigt_profile": (
        lambda x: scipy.special.voigt_profile(x, 1.0, 0.7),
        lambda x: mpmath.re(faddeeva((x + 0.7j) / mpmath.sqrt(2))) / mpmath.sqrt(2 * mpmath.pi),
        AROUND_0,
    ),
    "wofz": (
        lambda x: np.imag(scipy.special.wofz(x + 0.5j)),
        lambda x: mpmath.im(faddeeva(x + 0.5j)),
        AROUND_0,
    ),
    "complex power": (
        lambda x: np.real((x * (1 + 2j)) ** 2),
        lambda x: mpmath.re((x * (1 + 2j)) ** 2),
        AROUND_0,
    ),
}


def both(function, x):
    """Return the first and second derivatives of a function of elements."""
    summed = npaccel.jit(lambda x: np.sum(function(x)), backend="eager", cache=False)
    gradient = npaccel.grad(summed)
    return npaccel.jvp(gradient, (x,), (np.ones_like(x),))


@pytest.mark.sampled
@pytest.mark.parametrize("name", WHERE_FORMULAS_CHANGE)
def test_where_formulas_change(name):
    function, exact, points = WHERE_FORMULAS_CHANGE[name]
    first, second = both(function, np.array(points))
    with mpmath.workdps(40):
        wanted = [[float(mpmath.diff(exact, x, order)) for x in points] for order in (1, 2)]
    np.testing.assert_allclose(first, wanted[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(second, wanted[1], rtol=1e-7, atol=1e-9)


def test_powers_by_exponents_of_0():
    x = np.array([0.3, 2.0])
    gradient = npaccel.grad(npaccel.jit(lambda x, y: np.sum(x**y), backend="eager"))
    found = npaccel.jvp(lambda y: gradient(x, y), (np.zeros(2),), (np.ones(2),))[1]
    np.testing.assert_allclose(found, 1 / x, rtol=1e-15)


def test_remainders_of_0():
    x, y = np.array([-2.0, 0.0, 3.0]), np.array([1.0, 0.5, 3.0])
    summed = npaccel.jit(lambda x, y: np.sum(x % y), backend="eager")
    found = npaccel.grad(summed, (0, 1))(x, y)
    np.testing.assert_array_equal(found[0], np.ones(3))
    np.testing.assert_array_equal(found[1], -(x // y))


def test_ends_and_origins():
    def gradient(function, *arrays):
        summed = npaccel.jit(lambda *arrays: np.sum(function(*arrays)), backend="eager")
        return npaccel.grad(summed)(*arrays)

    zero = np.zeros(2)
    np.testing.assert_array_equal(gradient(np.cbrt, zero), [math.inf] * 2)
    np.testing.assert_array_equal(gradient(scipy.special.cbrt, zero), [math.inf] * 2)
    np.testing.assert_array_equal(gradient(np.hypot, zero, zero), zero)
    middle = gradient(lambda x: scipy.stats.laplace.cdf(x), zero)
    np.testing.assert_allclose(middle, [0.5, 0.5])
    below = gradient(lambda m: scipy.special.ellipj(0.8, m)[0], np.array([1 - 1e-9]))
    found = gradient(lambda m: scipy.special.ellipj(0.8, m)[0], np.array([1.0]))
    np.testing.assert_allclose(found, below, rtol=1e-6)
