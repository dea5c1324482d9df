"""Arithmetic and calculus of the series in numpy.polynomial against NumPy."""

import operator

import numpy as np
import pytest
import torch
from comparing import assert_same
from comparing import check as compare
from numpy.polynomial import polyutils
from row_checks import check, data, implementation, traced

import npaccel
from npaccel import errors
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.polynomial.series import MODULES

FAMILIES = [(module, prefix) for prefix, module in MODULES.items()]
of_two = pytest.mark.parametrize(("module", "prefix"), FAMILIES[1:3], ids=["cheb", "leg"])
of_family = pytest.mark.parametrize(("module", "prefix"), FAMILIES, ids=lambda x: str(x)[:5])
DTYPES = ["b", "e", "f", "d", "D"]


def series(n, dtype, seed=0):
    """Return coefficients of which the last isn't zero."""
    c = data((n,), dtype, seed)
    c[-1] = 3
    return c


@pytest.mark.parametrize("dtype", DTYPES)
@of_family
def test_sums_and_products(module, prefix, dtype):
    for n, m in ((1, 1), (1, 4), (4, 2), (3, 5), (4, 4)):
        a, b = data((n,), dtype), series(m, dtype, 1)
        for word in ("add", "sub", "mul"):
            check(getattr(module, prefix + word), a, b, ulps=64)
    a = series(4, dtype)
    check(getattr(module, f"{prefix}sub"), a, a)
    check(getattr(module, f"{prefix}add"), a, [1, 2.5])
    check(getattr(module, f"{prefix}mul"), a, 2)
    check(getattr(module, f"{prefix}mul"), a, [1, 0, 0])
    check(getattr(module, f"{prefix}mul"), a, series(3, "f"), ulps=64)
    for n in (1, 2, 5):
        check(getattr(module, f"{prefix}mulx"), series(n, dtype))
    check(getattr(module, f"{prefix}mulx"), np.zeros(3, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@of_family
def test_quotients_and_powers(module, prefix, dtype):
    for n, m in ((1, 1), (2, 4), (4, 1), (5, 2), (6, 3), (4, 4)):
        check(getattr(module, f"{prefix}div"), series(n, dtype), series(m, dtype, 1), ulps=512)
    for n in range(4):
        check(getattr(module, f"{prefix}pow"), series(3, dtype), n, ulps=256)
    check(getattr(module, f"{prefix}pow"), series(3, dtype), 2, maxpower=2, ulps=256)
    for wrong in (-1, 1.5):
        check(getattr(module, f"{prefix}pow"), series(3, dtype), wrong)
    check(getattr(module, f"{prefix}pow"), series(3, dtype), 3, maxpower=2)


@pytest.mark.parametrize("dtype", DTYPES)
@of_family
def test_roots_lines_and_conversions(module, prefix, dtype):
    for n in (1, 2, 3, 4, 5):
        roots = data((n,), dtype) / 4
        check(getattr(module, f"{prefix}fromroots"), roots.astype(dtype), ulps=256)
    check(getattr(module, f"{prefix}fromroots"), [])
    for off, scl in ((1, 2), (1.5, 0), (0, 0), (1, 2.5), (2j, 1)):
        check(getattr(module, f"{prefix}line"), off, scl)
    if prefix != "poly":
        for n in (1, 2, 3, 6):
            check(getattr(module, f"{prefix}2poly"), series(n, dtype), ulps=256)
            check(getattr(module, f"poly2{prefix}"), series(n, dtype), ulps=256)
        check(getattr(module, f"{prefix}2poly"), np.zeros(4, dtype))


def test_lines_of_arrays():
    check(MODULES["poly"].polyline, np.float64(2), np.float64(0))
    check(MODULES["poly"].polyline, np.float64(2), np.float64(3))
    check(MODULES["lag"].lagline, np.float64(2), np.float64(0))
    with pytest.raises(NotImplementedError, match="value of scl"):
        implementation(MODULES["herm"].hermline)(torch.tensor(1), torch.tensor(2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_trimcoef(dtype):
    for c in (data((6,), dtype), np.zeros(3, dtype), np.array([1, 0, 3, 0, 0], dtype)):
        check(polyutils.trimcoef, c)
        check(polyutils.trimcoef, c, 3)
        check(polyutils.trimcoef, c, -1)


def check_objects(objects, changes):
    @npaccel.jit(backend="eager", default_float="float64")
    def jitted(a):
        return [f(a) for f in objects] + [objects[0](0.5)]

    for change in (lambda: None, *changes):
        change()
        assert_same(jitted(X), jitted.__wrapped__(X))
    assert not jitted.report().fallbacks


def test_objects_are_called_in_a_function():
    line, wave = P.Polynomial([1.0, 2, 3], domain=[0, 2]), P.Chebyshev([1, 2.5])
    check_objects(
        [line, wave, P.Laguerre([1, 2j])],
        [
            lambda: line.coef.__setitem__(1, 7.0),
            lambda: setattr(line, "domain", np.array([0.0, 3.0])),
            lambda: setattr(wave, "coef", np.array([1.0, 2, 3, 4])),
        ],
    )


@pytest.mark.skipif(
    torch.__version__.startswith("2.11."), reason="Dynamo asks a property for its own value"
)
def test_older_objects_are_called_in_a_function():
    line = np.poly1d([3, 2, 1])
    check_objects([line], [lambda: line.coeffs.__setitem__(0, 5), lambda: line.__setitem__(4, 5)])


def test_results_are_no_views_of_arguments():
    def written(a):
        c = a[:1]
        found = [P.chebyshev.chebpow(c, 1), P.chebyshev.poly2cheb(c), P.chebyshev.cheb2poly(c)]
        found += [P.polynomial.polytrim(a), *P.polynomial.polydiv(c, a)]
        a[:] = 7
        return found

    compare(written, X.copy())


@of_family
def test_what_is_no_series(module, prefix):
    for word in ("add", "sub", "mul", "div"):
        function = getattr(module, prefix + word)
        check(function, np.ones((2, 2)), np.ones(2))
        check(function, np.ones(0), np.ones(2))
        check(function, np.ones(2, "?"), np.ones(2))
        check(function, np.ones(2))
    check(getattr(module, f"{prefix}mulx"), np.ones((2, 2)))
    check(getattr(module, f"{prefix}fromroots"), np.ones((2, 2)))


@of_two
def test_a_divisor_that_ends_with_a_zero_is_numpys(module, prefix):
    divide = getattr(module, f"{prefix}div")
    jitted = npaccel.jit(lambda a, b: divide(a, b), backend="eager", default_float="float64")
    a, b = series(5, "d"), series(3, "d")
    for one, other in zip(jitted(a, b), divide(a, b), strict=True):
        np.testing.assert_allclose(one, other)
    assert not jitted.report().fallbacks
    b[-1] = 0
    with pytest.warns(errors.PerformanceWarning, match="depends on the data"):
        got = jitted(a, b)
    for one, other in zip(got, divide(a, b), strict=True):
        np.testing.assert_allclose(one, other)


@of_two
def test_arithmetic_traces_with_symbolic_sizes(module, prefix):
    a, b = series(5, "d"), series(3, "d", 1)
    for word in ("add", "sub", "mul", "div"):
        traced(getattr(module, prefix + word), a, b)
    traced(getattr(module, f"{prefix}mulx"), a)
    traced(getattr(module, f"{prefix}pow"), a, 2)
    traced(getattr(module, f"{prefix}fromroots"), a)
    if prefix != "poly":
        traced(getattr(module, f"{prefix}2poly"), a)
        traced(getattr(module, f"poly2{prefix}"), a)


def test_narrow_settings():
    with tracing(TraceSettings(default_float="float32")):
        for prefix, module in MODULES.items():
            whole = torch.arange(1, 4)
            for word in ("add", "mul"):
                found = implementation(getattr(module, prefix + word))(whole, whole)
                assert found.dtype == torch.float32
            roots = implementation(getattr(module, f"{prefix}fromroots"))
            assert roots(whole.to(torch.float32)).dtype == torch.float32
            assert roots(whole.to(torch.float64)).dtype == torch.float64


@pytest.mark.parametrize("dtype", ["?", *DTYPES])
@of_family
def test_derivatives_and_integrals(module, prefix, dtype):
    derive, integrate = getattr(module, f"{prefix}der"), getattr(module, f"{prefix}int")
    for n in (1, 2, 3, 6, 7):
        c = data((n,), dtype)
        for m in (0, 1, 2, 4):
            check(derive, c, m, ulps=64)
            if n > 1 and dtype != "e":
                check(integrate, c, m, ulps=64)
    c = data((4, 3), dtype)
    check(derive, c, axis=1, scl=2, ulps=64)
    check(derive, c, 5, axis=1)
    check(derive, c, 1, 2, -1, ulps=64)
    if dtype != "e":  # NumPy computes in float16 step by step.
        check(integrate, c, 2, [1, 2], 0.5, 2, 1, ulps=256)
        check(integrate, c[:, 0], 1, 3, ulps=64)
    for wrong in (-1, 1.5, None):
        check(derive, c, wrong)
        check(integrate, c, wrong)
    check(derive, c, axis=2)
    check(integrate, c, 1, [1, 2])
    check(integrate, c, lbnd=[1])
    check(integrate, c, scl=[1])
    check(integrate, c, axis=-3)


@of_family
def test_an_integral_of_one_coefficient_is_refused(module, prefix):
    with pytest.raises(NotImplementedError, match="single coefficient"):
        implementation(getattr(module, f"{prefix}int"))(torch.ones(1))
    with pytest.raises(NotImplementedError, match="complex constant"):
        implementation(getattr(module, f"{prefix}int"))(torch.ones(2), 1, [1j])


@pytest.mark.parametrize("dtype", ["?", *DTYPES])
@of_family
def test_matrices_of_points(module, prefix, dtype):
    x = (data((5,), dtype) / 4).astype(dtype)
    vander = getattr(module, f"{prefix}vander")
    for degree in (0, 1, 2, 5):
        check(vander, x, degree, ulps=64)
    check(vander, x.reshape(5, 1), 2, ulps=64)
    check(vander, 2, 3)
    check(vander, [1, 2.5], 3)
    check(vander, x, -1)
    check(vander, x, 1.5)
    check(getattr(module, f"{prefix}vander2d"), x, x[::-1].copy(), [1, 2], ulps=64)
    check(getattr(module, f"{prefix}vander3d"), x, x, x, (1, 0, 2), ulps=64)
    check(getattr(module, f"{prefix}vander2d"), x, x, [1])
    check(getattr(module, f"{prefix}vander2d"), x, x[:2], [1, 1])


@pytest.mark.parametrize("dtype", DTYPES)
@of_family
def test_companions(module, prefix, dtype):
    for n in (2, 3, 6):
        check(getattr(module, f"{prefix}companion"), series(n, dtype), ulps=64)
    check(getattr(module, f"{prefix}companion"), series(1, dtype))
    check(getattr(module, f"{prefix}companion"), np.ones((2, 2), dtype))


@pytest.mark.parametrize("dtype", ["l", "f", "d", "D"])
@of_family
def test_fits(module, prefix, dtype):
    fit = getattr(module, f"{prefix}fit")
    x = (np.arange(9) / (8 if dtype != "l" else 1)).astype(dtype)
    for y in (data((9,), dtype), data((9, 2), dtype)):
        for degree in (0, 1, 3, [0, 2], [1]):
            check(fit, x, y, degree, ulps=1 << 16)
        check(fit, x, y, 2, w=np.linspace(1, 2, 9), ulps=1 << 16)
        check(fit, x, y, 2, 1e-3, ulps=1 << 16)
    found = implementation(fit)(torch.from_numpy(x), torch.from_numpy(y), 2, full=True)
    wanted = fit(x, y, 2, full=True)
    assert isinstance(found[1], list)
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    y = data((9,), dtype)
    for wrong in (-1, 1.5, [[1]], []):
        check(fit, x, y, wrong)
    check(fit, x, y[:3], 1)
    check(fit, x[None], y, 1)
    check(fit, x, y, 1, w=np.ones(3))


@of_family
def test_what_depends_on_a_number_only(module, prefix):
    names = [f"{prefix}gauss"] if prefix != "poly" else []
    for word in (*names, *(["chebpts1", "chebpts2"] if prefix == "cheb" else [])):
        for number in (1, 2, 5, 0, -1, "a"):
            check(getattr(module, word), number)
        with pytest.raises(NotImplementedError, match="Python number"):
            implementation(getattr(module, word))(torch.tensor(3))
        with tracing(TraceSettings(default_float="float32")):
            found = implementation(getattr(module, word))(3)
            found = found[0] if isinstance(found, tuple) else found
            assert found.dtype == torch.float32


@pytest.mark.parametrize("dtype", ["?", *DTYPES])
def test_values_from_roots_and_domains(dtype):
    from_roots = MODULES["poly"].polyvalfromroots
    x, r = data((3,), dtype), data((4,), dtype, 1)
    check(from_roots, x, r)
    check(from_roots, 2, r)
    check(from_roots, [1, 2.0], r)
    check(from_roots, x, data((4, 3), dtype), tensor=False)
    check(from_roots, x, r, tensor=False)
    check(polyutils.getdomain, x)


@of_two
def test_calculus_traces_with_symbolic_sizes(module, prefix):
    c, x = series(5, "d"), np.linspace(-1, 1, 7)
    traced(getattr(module, f"{prefix}der"), c, 2)
    traced(getattr(module, f"{prefix}int"), c, 2)
    traced(getattr(module, f"{prefix}vander"), x, 3)
    traced(getattr(module, f"{prefix}companion"), c)
    traced(getattr(module, f"{prefix}fit"), x, data((7,), "d"), 2)
    traced(MODULES["poly"].polyvalfromroots, x, c)


X = np.linspace(-0.5, 0.75, 6)
P = np.polynomial
IN_JIT = [
    lambda a: P.chebyshev.chebval(a[1:], [1, 2, 3]) + P.legendre.legder(a),
    lambda a: P.polynomial.polyadd(a, [1, 2]) * 2,
    lambda a: P.chebyshev.chebweight(a) + P.legendre.legweight(a) + P.hermite.hermweight(a),
    lambda a: P.hermite_e.hermeweight(a) + P.laguerre.lagweight(a) + P.laguerre.lagweight(2),
    lambda a: P.polyutils.mapdomain(a, [-1, 1], [0, 3]) + P.polyutils.mapdomain(2, a[:2], a[1:]),
    lambda a: P.polyutils.mapparms((0, 2), (1, 2.5))[0] + a,
    lambda a: P.chebyshev.chebinterpolate(lambda x, k: np.tanh(x) * k, 4, (2,)) + a[0],
    lambda a: a[:3] * P.legendre.leggauss(3)[1] + P.chebyshev.chebpts2(3),
    lambda a: P.laguerre.lagfit(a, np.sin(a), 2),
    lambda a: P.hermite.hermcompanion(a) * 2,
    # Sizes that depend on the data go through sums and products with x.
    lambda a: P.chebyshev.chebsub(P.chebyshev.chebmulx(a * 0), P.chebyshev.chebadd(a, -a[1:])),
    lambda a: np.signbit(P.laguerre.lagadd(a[:1], [1, -0.0, -0.0, 5])),
    lambda a: P.polynomial.polysub(P.polynomial.polymul(a, [0, 1]), P.polynomial.polytrim(a, 0.3)),
]


@pytest.mark.parametrize("number", range(len(IN_JIT)))
def test_series_are_compiled_in_a_function(number):
    compare(IN_JIT[number], X)


MANY = 70


@pytest.mark.parametrize("dtype", ["i", "f", "D"])
@of_family
def test_many_coefficients_go_through_numpys_loop(module, prefix, dtype):
    c, few = series(MANY, dtype) / 8, series(3, dtype, 1)
    value, vander = (getattr(module, prefix + word) for word in ("val", "vander"))
    x = np.linspace(-0.4, 0.4, 5).reshape(5, 1)
    for points in (x, x[::-2], x[:0], 0.25, np.float32(0.25), x.astype("f"), x * 1j, x > 0):
        for coefficients in (c, c[:3], c[:2], c[:1]):
            check(value, points, coefficients)
    check(value, np.arange(3), few.repeat(MANY))
    check(value, x, c.reshape(-1, 1).repeat(2, 1))
    check(value, x[:2, 0], c.reshape(-1, 1).repeat(2, 1), tensor=False)
    for points in (x, x.astype("f"), np.arange(-1, 2), np.float16(0.5)):
        check(vander, points, MANY, ulps=256)


@pytest.mark.parametrize("dtype", ["i", "f", "D"])
@of_family
def test_long_series_go_through_numpys_loops(module, prefix, dtype):
    a, b = series(12, dtype), series(9, dtype, 1)
    a, b = (c if c.dtype.kind == "i" else c / 8 for c in (a, b))
    for word in ("mul", "div"):
        check(getattr(module, prefix + word), a, b, ulps=1 << 20)
    check(getattr(module, f"{prefix}mul"), a, [*b, 0, 0], ulps=1 << 12)
    check(getattr(module, f"{prefix}pow"), a[:3], 9, maxpower=9, ulps=1 << 12)
    check(getattr(module, f"{prefix}fromroots"), a[:9], ulps=1 << 12)
    if prefix != "poly":
        check(getattr(module, f"{prefix}2poly"), a, ulps=1 << 12)
        check(getattr(module, f"poly2{prefix}"), a, ulps=1 << 12)


def test_values_of_many_coefficients_in_a_polynomial():
    x = np.linspace(-1, 1, 7)
    for p in (data((MANY,), "d"), data((MANY,), "i"), data((MANY,), "F")):
        for points in (x, x[::-1], x.astype("f"), np.arange(3), 2, np.float32(0.5), x[:0]):
            check(np.polyval, p, points)


LONG = np.linspace(0.5, 1, 90)
LONG_IN_JIT = [
    lambda a: P.chebyshev.chebval(a[:5] / 2, a) + np.polyval(a, a[:5]) * 2,
    lambda a: P.hermite.hermvander(a[:3], 80).sum(axis=0) + 1,
    lambda a: P.legendre.legmul(a[:20], a[:9]) * 2,
    lambda a: P.legendre.legdiv(a[:20], a[:9])[0] * 2,
    lambda a: P.polynomial.polypow(a[:3], 12) - 1,
    lambda a: P.laguerre.lagfromroots(a[:9]) + 1,
    # Sizes that depend on the data.
    lambda a: P.legendre.legval(a[:4], a[a > 0.6]) + P.polynomial.polyval(a[:4], a[a > 0.9]),
    lambda a: P.hermite_e.hermemul(a[a > 0.9], a[a < 0.7]),
    lambda a: P.legendre.legdiv(a[a < 0.9], a[a > 0.9])[0],
    lambda a: P.laguerre.poly2lag(P.laguerre.lag2poly(a[a > 0.95])),
]


@pytest.mark.parametrize("number", range(len(LONG_IN_JIT)))
def test_long_series_are_compiled_in_a_function(number):
    compare(LONG_IN_JIT[number], LONG)


def test_division_by_nothing_but_zeros_raises():
    divide = MODULES["leg"].legdiv
    jitted = npaccel.jit(divide, backend="eager")
    with pytest.raises(ZeroDivisionError):
        jitted(np.ones(20), np.zeros(9))


@pytest.mark.parametrize("degree", [0, 3, 40])
@pytest.mark.parametrize("name", ["polynomial.polyvander", "legendre.legvander"])
def test_matrices_lie_in_memory_as_numpys(name, degree):
    function = operator.attrgetter(name)(np.polynomial)
    for x in (np.linspace(-1, 1, 7), np.linspace(-1, 1, 12).reshape(3, 4)):
        expected = function(x, degree)
        found = npaccel.jit(lambda x: function(x, degree), backend="eager", strict=True)(x)
        assert found.strides == expected.strides
