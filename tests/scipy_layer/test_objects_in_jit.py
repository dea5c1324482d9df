"""Objects of SciPy's in jitted functions: results with attributes, and interpolators."""

import warnings

import numpy as np
import pytest
import scipy.interpolate as si
from scipy import stats

import npaccel
from npaccel.errors import NotCompiledError

OPTIONS = {"cache": False, "compile": "now", "default_float": "float64"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 5))
Y = RNG.normal(size=(12, 5)) + X


def jitted(function, backend="eager", strict=True):
    return npaccel.jit(function, backend=backend, strict=strict, **OPTIONS)


def outcome(function, *arrays):
    """Return a result, or the error, and SciPy's warnings, without those of NumPy's divisions."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = function(*(array.copy() for array in arrays))
        except Exception as error:  # noqa: BLE001 (it's compared)
            found = error
    texts = {str(one.message) for one in told}
    return found, {text for text in texts if "encountered in" not in text}


def assert_same(wanted, found, rtol=1e-8):
    assert type(found) is type(wanted)
    if isinstance(wanted, Exception):
        assert str(found) == str(wanted)
    elif isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for one, other in zip(wanted, found, strict=True):
            assert_same(one, other, rtol)
        for name, value in getattr(wanted, "__dict__", {}).items():
            if not name.startswith("_"):
                assert_same(value, getattr(found, name), rtol)
    elif isinstance(wanted, np.ndarray | np.generic):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-9 if rtol < 1e-6 else 1e-5)
    else:
        assert found == wanted or (found != found and wanted != wanted)


RESULTS = {
    "pearsonr": lambda x, y, axis: stats.pearsonr(x, y, axis=axis),
    "pearsonr-less": lambda x, y, axis: stats.pearsonr(x, y, axis=axis, alternative="less"),
    "linregress": lambda x, y, axis: stats.linregress(x, y, axis=axis),
    "ttest_ind": lambda x, y, axis: stats.ttest_ind(x, y, axis=axis),
    "welch": lambda x, y, axis: stats.ttest_ind(x, y, axis=axis, equal_var=False),
    "ttest_rel": lambda x, y, axis: stats.ttest_rel(x, y, axis=axis),
    "ttest_1samp": lambda x, y, axis: stats.ttest_1samp(x + y, 0.5, axis=axis),
    "spearmanr": lambda x, y, axis: stats.spearmanr(x, y, axis=axis),
    "pointbiserialr": lambda x, y, axis: stats.pointbiserialr(x > 0, y, axis=axis),
    "combine_pvalues": lambda x, y, axis: stats.combine_pvalues(np.exp(-abs(x * y)), axis=axis),
}


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_scipys(name, axis):
    def f(x, y):
        return RESULTS[name](x, y, axis)

    call = jitted(f)
    for _ in range(2):
        assert_same(f(X, Y), call(X, Y))


#: Arrays that SciPy warns of, or has another way for.
CASES = {
    "float32": (X.astype("f"), Y.astype("f")),
    "integers": ((X * 9).astype(int), (Y * 9).astype(int)),
    "nan": (np.where(X > 1, np.nan, X), Y),
    "empty": (X[:0], Y[:0]),
    "one": (X[:1], Y[:1]),
    "constant": (X * 0 + 1.0, Y),
    "nearly": (1e6 + X * 1e-11, Y),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "name", ["pearsonr", "linregress", "ttest_ind", "ttest_1samp", "spearmanr"]
)
def test_values_warnings_and_errors_are_scipys(name, case):
    if (name, case) == ("linregress", "nearly"):
        pytest.skip("nothing but rounding is left of such points")

    def f(x, y):
        return RESULTS[name](x[:, 0], y[:, 0], 0)

    (wanted, told), (found, also) = (outcome(g, *CASES[case]) for g in (f, jitted(f, strict=False)))
    assert_same(wanted, found, 1e-4 if case == "float32" else 1e-8)
    assert also >= told


USES = {
    "attribute": lambda x, y: stats.pearsonr(x, y).statistic * 2,
    "alias": lambda x, y: stats.spearmanr(x, y).correlation + stats.pearsonr(x, y).correlation,
    "extra": lambda x, y: stats.linregress(x, y).intercept_stderr,
    "unpacked": lambda x, y: np.subtract(*stats.pearsonr(x, y)),
    "item": lambda x, y: stats.ttest_ind(x, y)[1] + stats.ttest_rel(x, y)[-2],
    "slice": lambda x, y: stats.linregress(x, y)[:2],
    "length": lambda x, y: (x + len(stats.linregress(x, y)), [*stats.pearsonr(x, y)]),
    "class": lambda x, y: (x, isinstance(stats.pearsonr(x, y), tuple)),
    "has": lambda x, y: (
        x,
        hasattr(stats.ttest_rel(x, y), "df"),
        hasattr(stats.ttest_rel(x, y), "no"),
    ),
    "kept": lambda x, y: {"t": stats.ttest_rel(x, y), "both": (x, stats.pearsonr(x, y))}["both"],
}


@pytest.mark.parametrize("name", USES)
def test_uses_of_results(name, backend):
    call = jitted(USES[name], backend)
    for _ in range(2):
        wanted, found = USES[name](X[:, 0], Y[:, 0]), call(X[:, 0].copy(), Y[:, 0].copy())
        assert str(type(found)) == str(type(wanted))
        parts = zip(
            *((one if isinstance(one, tuple) else (one,)) for one in (wanted, found)), strict=True
        )
        for one, other in parts:
            if isinstance(one, tuple):
                assert_same(one, other)
            else:
                np.testing.assert_allclose(other, one, rtol=1e-8)


def test_methods_of_results_outside():
    call = jitted(lambda x, y: (stats.pearsonr(x, y), stats.ttest_ind(x, y)))
    wanted = stats.pearsonr(X[:, 0], Y[:, 0]), stats.ttest_ind(X[:, 0], Y[:, 0])
    for one, other in zip(wanted, call(X[:, 0], Y[:, 0]), strict=True):
        interval, same = one.confidence_interval(0.9), other.confidence_interval(0.9)
        np.testing.assert_allclose(same, interval, rtol=1e-8)
        assert type(same) is type(interval)


def test_methods_of_results_say_why_they_arent_compiled():
    def f(x, y):
        return stats.pearsonr(x, y).confidence_interval()

    with pytest.raises(NotCompiledError, match=r"PearsonRResult.confidence_interval has no"):
        jitted(f)(X[:, 0], Y[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = jitted(f, strict=False)(X[:, 0], Y[:, 0])
    np.testing.assert_allclose(found, f(X[:, 0], Y[:, 0]), rtol=1e-8)


def two_sided(x, y):
    return stats.ttest_ind(x, y)


@pytest.mark.inductor
def test_results_are_kept_on_disk():
    for _ in range(2):  # The second one is loaded.
        call = npaccel.jit(two_sided, backend="inductor", compile="now")
        assert_same(stats.ttest_ind(X, Y), call(X, Y))
        assert "isn't kept" not in str(call.report())


T = np.clip(RNG.random((2, 5)), 0.15, 0.85)
K = np.linspace(0.1, 0.9, 12) ** 1.5
V = RNG.normal(size=(12, 3))

INTERPOLATORS = {
    "CubicSpline": lambda x, y, t: si.CubicSpline(x, y)(t),
    "natural": lambda x, y, t: si.CubicSpline(x, y, bc_type="natural")(t, 1),
    "clamped": lambda x, y, t: si.CubicSpline(x, y.T, axis=1, bc_type="clamped")(t),
    "outside": lambda x, y, t: si.CubicSpline(x, y, extrapolate=False)(t + 0.5),
    "scalar": lambda x, y, t: (si.CubicSpline(x, y[:, 0])(0.5), si.CubicSpline(x, y)(t[0, 0])),
    "derivative": lambda x, y, t: si.CubicSpline(x, y).derivative()(t),
    "antiderivative": lambda x, y, t: si.CubicSpline(x, y).antiderivative(2)(t),
    "integral": lambda x, y, t: si.CubicSpline(x, y).integrate(0.2, 0.6),
    "attributes": lambda x, y, t: (si.CubicSpline(x, y).c, si.CubicSpline(x, y).x),
    "Pchip": lambda x, y, t: si.PchipInterpolator(x, y)(t),
    "Akima": lambda x, y, t: si.Akima1DInterpolator(x, y)(t + 0.1),
    "makima": lambda x, y, t: si.Akima1DInterpolator(x, y, method="makima")(t),
    "Hermite": lambda x, y, t: si.CubicHermiteSpline(x, y, y * 2)(t),
    "PPoly": lambda x, y, t: si.PPoly(y[:8].reshape(2, -1), np.arange(13.0))(t),
    "BSpline": lambda x, y, t: si.BSpline(x, y[:8], 3)(t),
    "make_interp_spline": lambda x, y, t: si.make_interp_spline(x, y)(t),
    "degree": lambda x, y, t: si.make_interp_spline(x, y, k=5).derivative()(t),
    "interp1d": lambda x, y, t: si.interp1d(x, y, axis=0)(t * 0.9),
    "fill": lambda x, y, t: si.interp1d(x, y[:, 0], bounds_error=False, fill_value=0.0)(t + 0.5),
    "nearest": lambda x, y, t: si.interp1d(x, y[:, 0], kind="nearest")(t * 0.9),
    "previous": lambda x, y, t: si.interp1d(x, y[:, 0], "previous", fill_value="extrapolate")(t),
    "cubic": lambda x, y, t: si.interp1d(x, y[:, 0], kind="cubic")(t * 0.9),
    "grid": lambda x, y, t: si.RegularGridInterpolator((x, np.arange(3.0)), y)((t * 0.9, t)),
    "nearest in a grid": lambda x, y, t: si.RegularGridInterpolator(
        (x, np.arange(3.0)), y, "nearest", bounds_error=False
    )((t + 0.5, t)),
    "descending": lambda x, y, t: si.RegularGridInterpolator((x[::-1], np.arange(3.0)), y)(
        (t * 0.9, t)
    ),
    "interpn": lambda x, y, t: si.interpn((x, np.arange(3.0)), y, np.stack([t * 0.9, t], -1)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", INTERPOLATORS)
def test_interpolators_made_inside(name, dtype):
    f, arrays = INTERPOLATORS[name], [array.astype(dtype) for array in (K, V, T)]
    if name in ("BSpline", "PPoly") and dtype == "float32":
        pytest.skip("of constants, as the other one")
    call = jitted(f)
    for _ in range(2):
        assert_same(f(*arrays), call(*arrays), 1e-8 if dtype == "float64" else 1e-3)


@pytest.mark.inductor
def test_an_interpolator_in_compiled_code():
    f = INTERPOLATORS["CubicSpline"]
    assert_same(f(K, V, T), jitted(f, "inductor")(K, V, T))


PLACES = {
    "nan": np.where(T > 0.5, np.nan, T),
    "empty": T[:, :0],
    "beyond": T + 5.0,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", ["CubicSpline", "Pchip", "Akima", "interp1d", "grid"])
def test_places_that_are_missing_or_outside(name, places):
    (wanted, _), (found, _) = (
        outcome(g, K, V, PLACES[places])
        for g in (INTERPOLATORS[name], jitted(INTERPOLATORS[name], strict=False))
    )
    assert_same(wanted, found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["CubicSpline", "Pchip", "interp1d", "grid"])
def test_errors_of_interpolators_are_scipys(name):
    unordered = np.concatenate([K[1:], K[:1]]) if name == "grid" else np.append(K[1:], np.nan)
    (wanted, _), (found, _) = (
        outcome(g, unordered, V, T)
        for g in (INTERPOLATORS[name], jitted(INTERPOLATORS[name], strict=False))
    )
    assert_same(wanted, found)


OBJECTS = {
    "CubicSpline": lambda x, y: si.CubicSpline(x, y),
    "derivative": lambda x, y: si.CubicSpline(x, y).derivative(),
    "Pchip": lambda x, y: si.PchipInterpolator(x, y),
    "interp1d": lambda x, y: si.interp1d(x, y, axis=0),
    "make_interp_spline": lambda x, y: si.make_interp_spline(x, y),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_interpolators_that_are_returned_are_scipys(name):
    f, places = OBJECTS[name], np.linspace(0.2, 0.6, 7)

    def g(x, y):
        made = f(x, y)
        y[0] = 9.0  # What is made has its own values.
        return made, made(places)

    (wanted, values), call = g(K.copy(), V.copy()), jitted(g)
    for _ in range(2):
        made, found = call(K.copy(), V.copy())
        assert type(made) is type(wanted)
        np.testing.assert_allclose(made(places), wanted(places), rtol=1e-12)
        np.testing.assert_allclose(found, values, rtol=1e-8, atol=1e-10)


def test_what_interpolators_dont_have_says_why():
    with pytest.raises(NotCompiledError, match=r"CubicSpline.roots has no compiled"):
        jitted(lambda x, y: si.CubicSpline(x, y).roots())(K, V[:, 0])
    with pytest.raises(NotCompiledError, match="knots or conditions at the ends are given"):
        jitted(lambda x, y: si.make_interp_spline(x, y, bc_type="natural"))(K, V)


def difference(f, x, place, step=1e-6):
    moved = np.zeros_like(x)
    moved[place] = step
    return (f(x + moved) - f(x - moved)) / (2 * step)


GRADIENTS = {
    "pearsonr": lambda v: stats.pearsonr(v, Y[:, 0]).statistic,
    "ttest_ind": lambda v: stats.ttest_ind(v, Y[:, 0]).pvalue,
    "linregress": lambda v: stats.linregress(K, v).slope,
    "CubicSpline": lambda v: si.CubicSpline(K, v)(T).sum(),
    "places": lambda v: si.CubicSpline(K, K**3)(v / 9).sum(),
    "Pchip": lambda v: (si.PchipInterpolator(K, v)(T) * T).sum(),
    "interp1d": lambda v: (si.interp1d(K, v)(T * 0.9) * T).sum(),
    "grid": lambda v: (si.RegularGridInterpolator((K,), v)((T * 0.9)[..., None]) * T).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    f, x = GRADIENTS[name], X[:, 0].copy()
    with npaccel.options(backend="eager"):
        found = npaccel.grad(f)(x)
    wanted = [difference(f, x, place) for place in range(len(x))]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["pearsonr", "linregress", "ttest_ind", "ttest_1samp"])
def test_results_for_other_sizes(name):
    def f(x, y):
        return RESULTS[name](x, y, 0)

    call = npaccel.jit(f, backend="eager", strict=True, dynamic=True, **OPTIONS)
    for n in (7, 9, 12):
        assert_same(f(X[:n, 0], Y[:n, 0]), call(X[:n, 0].copy(), Y[:n, 0].copy()))


@pytest.mark.filterwarnings("ignore")
def test_results_that_scipy_makes_are_narrowed_as_compiled_ones():
    call = npaccel.jit(lambda x, y: stats.linregress(x, y), backend="eager", compile="now")
    x, y = (array[:, 0].astype("f") for array in (X, Y))
    call(x, y)
    found = call(np.ones_like(x) * np.nan, y)
    assert type(found) is type(stats.linregress(x, y))
    assert np.isnan(found.intercept_stderr)
