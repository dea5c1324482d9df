"""Derivatives of SciPy's native functions, against differences along a direction."""

import numpy as np
import pytest
import scipy.special
import torch
from row_derivatives import DOMAINS, scalar_function
from scipy_row_calls import NOT_COMPARED, function_of, native_calls
from sweep import FULL

import npaccel
import npaccel.scipy
from npaccel._scipy.dispatch import table
from npaccel.errors import NotCompiledError

#: Rows whose derivative was wrong once.
ONCE_WRONG = (
    *("ndimage.map_coordinates", "ndimage.shift", "signal.sawtooth", "spatial.distance.pdist"),
    *("special.k0", "special.k1e", "special.kv", "special.lambertw"),
)
CHOSEN = list(native_calls()) if FULL else sorted({*ONCE_WRONG, *list(native_calls())[::60]})


def along(scalar, floats, directions, step):
    moved = [
        [a + sign * step * d for a, d in zip(floats, directions, strict=True)] for sign in (1, -1)
    ]
    return (float(scalar(*moved[0])) - float(scalar(*moved[1]))) / (2 * step)


def comparison(call, values):
    """Return the derivative by differences and npaccel's; None where differences don't agree."""
    scalar, floats = scalar_function(call, values)
    rng = np.random.default_rng(1)
    directions = [rng.normal(size=np.shape(one)) for one in floats]
    with np.errstate(all="ignore"):
        wanted, again = (along(scalar, floats, directions, step) for step in (1e-5, 4e-6))
    scale = max(1.0, abs(wanted))
    if not floats or not abs(wanted - again) <= 2e-5 * scale:
        return None
    function = npaccel.jit(scalar, backend="eager", cache=False, default_float="float64")
    found = npaccel.grad(function, tuple(range(len(floats))))(*floats)
    total = sum(np.sum(one * d) for one, d in zip(found, directions, strict=True))
    return again / scale, total / scale


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHOSEN)
def test_derivatives_are_those_of_differences(name):
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    function, values = function_of(name)
    for domain in DOMAINS:
        moved = [domain(v) if v.dtype == np.float64 else v for v in values]
        try:
            pair = comparison(function, moved)
        except NotCompiledError:  # Of those that aren't compiled there's a test of their own.
            return
        except (TypeError, ValueError, AttributeError, np.linalg.LinAlgError):
            continue  # SciPy's: values that it doesn't take, results that aren't arrays.
        if pair is not None:
            assert pair[0] == pytest.approx(pair[1], abs=3e-5)
            return


#: Points at which derivatives of elementary functions break: ends, and where formulas change.
POINTS = np.array([-7.3, -2.0, -1.0, -0.4, -0.0, 1e-9, 0.3, 1.0, 2.0, 4.9, 8.0, 31.0, 250.0])


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", ["k0", "k1", "k0e", "k1e", "i0", "i1e", "j0", "y1", "lambertw", "erfcx", "log_ndtr"]
)
def test_second_derivatives(name):
    function = getattr(scipy.special, name)
    x = POINTS[(POINTS > 0.1) & (POINTS < 20)]

    def summed(x):
        return np.sum(np.real(function(x)) * np.arange(1.0, len(x) + 1))

    jitted = npaccel.jit(summed, backend="eager", cache=False)
    step = 1e-4 * np.ones_like(x)
    gradient = npaccel.grad(jitted)
    wanted = (gradient(x + step) - gradient(x - step)) / 2e-4
    found = npaccel.jvp(gradient, (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_torchs_own_gradients_of_bessel_functions():
    x = torch.tensor([0.3, 1.5, 9.0], dtype=torch.float64, requires_grad=True)
    with npaccel.options(backend="eager"):
        total = npaccel.scipy.special.k0(x).sum() + npaccel.scipy.special.kn(3, x).sum()
    (found,) = torch.autograd.grad(total, x)
    at = x.detach().numpy()
    wanted = -scipy.special.k1(at) - (scipy.special.kn(2, at) + scipy.special.kn(4, at)) / 2
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


#: Functions of elements whose derivative was wrong, or zero, at some of the points.
ONCE_WRONG_AT_POINTS = (
    *("agm", "beta", "betaincinv", "binom", "boxcox", "dawsn", "ellipkinc", "erfi", "exprel"),
    *("inv_boxcox", "j1", "k0", "log_expit", "owens_t", "powm1", "rgamma", "shichi", "sici"),
    *("sindg", "stdtr", "stdtrit", "tandg", "zetac"),
)
#: Of what SciPy has rounded away: it takes n for a whole number.
OF_WHOLE_NUMBERS = ("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri")
#: Where there is no derivative: at poles of the gamma function, and past an end.
WITHOUT = {"binom", "poch", "voigt_profile"}
OTHERS = {1: (), 2: (1.6,), 3: (0.7, 1.3)}


def ufuncs():
    rows = [row for row in table.rows().values() if row.name.startswith("scipy.special.")]
    named = {row.name.removeprefix("scipy.special."): row for row in rows}
    return sorted(
        name
        for name, row in named.items()
        if row.route == "native" and isinstance(row.scipy, np.ufunc) and row.scipy.nin in OTHERS
    )


def slopes(function, x):
    """Return derivatives by differences, and where they're known."""
    step = 1e-6 * np.maximum(1, np.abs(x))
    with np.errstate(all="ignore"):
        first = (function(x + step) - function(x - step)) / (2 * step)
        found = (function(x + step / 2) - function(x - step / 2)) / step
        above, below = (
            (function(x + step) - function(x)) / step,
            (function(x) - function(x - step)) / step,
        )
        scale = np.maximum(1, np.abs(found))
        known = (np.abs(first - found) <= 1e-4 * scale) & (np.abs(above - below) <= 1e-3 * scale)
    return found, known & np.isfinite(found)


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ufuncs() if FULL else ONCE_WRONG_AT_POINTS)
def test_derivatives_where_formulas_change(name):
    if name in OF_WHOLE_NUMBERS:
        pytest.skip("SciPy takes n for a whole number")
    ufunc = getattr(scipy.special, name)
    for place in range(ufunc.nin) if FULL else [ufunc.nin - 1]:

        def call(x, place=place):
            others = OTHERS[ufunc.nin]
            found = ufunc(*others[:place], x, *others[place:])
            return found[0] if isinstance(found, tuple) else found

        try:
            wanted, known = slopes(call, POINTS)
        except TypeError:  # Of whole numbers.
            continue
        if wanted.dtype.kind != "f" or not known.any():
            continue
        function = npaccel.jit(lambda x: np.sum(call(x)), backend="eager", cache=False)
        try:
            found = npaccel.grad(function)(POINTS)
        except NotCompiledError as error:
            assert "has none by its parameter" in str(error) or "no compiled" in str(error)  # noqa: PT017
            continue
        if name in WITHOUT:
            known &= np.isfinite(found) & (found != 0)
        np.testing.assert_allclose(found[known], wanted[known], rtol=3e-4, atol=3e-4)


def test_parameters_without_a_derivative():
    shape = npaccel.grad(lambda a: np.sum(scipy.special.gammainc(a, np.arange(1.0, 4.0))))
    with pytest.raises(NotCompiledError, match="no derivative.*by its parameter 1"):
        shape(2.5)


def test_batches_and_second_derivatives_of_what_has_its_own():
    @npaccel.jit(backend="eager", cache=False)  # C++ for half a minute is compiled otherwise.
    def f(x):
        return np.sum(scipy.special.betainc(2.0, 3.0, x) * scipy.special.k1(x))

    @npaccel.jit(backend="eager", cache=False)
    def beta(x):
        return scipy.special.beta(x, 1.5)

    x = np.array([[0.2, 0.5], [0.7, 0.9]])
    found = npaccel.vmap(npaccel.grad(f))(x)
    np.testing.assert_allclose(found, np.stack([npaccel.grad(f)(row) for row in x]), rtol=1e-13)
    step = 1e-5 * np.eye(2)
    wanted = [(npaccel.grad(f)(x[0] + h) - npaccel.grad(f)(x[0] - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(npaccel.hessian(f)(x[0]), wanted, rtol=1e-6, atol=1e-8)
    forward = npaccel.jacobian(beta, mode="forward")(x[0])
    backward = npaccel.jacobian(beta, mode="reverse")(x[0])
    np.testing.assert_allclose(forward, backward, rtol=1e-13)
