"""Derivatives of SciPy's native functions, against differences along a direction."""

import numpy as np
import pytest
import scipy.special
import torch
from row_derivatives import DOMAINS, scalar_function
from scipy_row_calls import function_of, native_calls
from sweep import FULL

import npaccel
import npaccel.scipy
from npaccel.errors import NotCompiledError

#: Rows whose derivative was wrong once.
ONCE_WRONG = (
    *("ndimage.map_coordinates", "ndimage.shift", "signal.sawtooth", "spatial.distance.pdist"),
    *("special.k0", "special.k1e", "special.kv", "special.lambertw"),
)
#: Rows whose derivative can't be found by differences, and why.
NOT_COMPARED = {
    **dict.fromkeys(
        ("linalg.cholesky", "linalg.cho_factor", "linalg.eigh", "linalg.eigvalsh", "linalg.pinvh"),
        "both triangles count, as in JAX: SciPy reads one",
    ),
}
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
