"""Each row of the table has a right derivative, or a reason in the table why it has none."""

import numpy as np
import pytest
from numpy_row_calls import COMPILED, NOT_COMPARED, call_of, drawn_calls
from row_derivatives import compared_in_a_domain
from sweep import FULL

import npaccel
from npaccel._numpy.core.derivatives import NO_DERIVATIVES, without_derivative

#: Rows whose derivative was wrong once.
ONCE_WRONG = (
    *("convolve", "frexp", "linalg.cond", "logaddexp2", "ndarray.item", "ndarray.view", "polymul"),
    *("put", "digitize"),
)
EVERY = [name for name in COMPILED if name.removeprefix("numpy.") in ONCE_WRONG]
CHOSEN = list(COMPILED) if FULL else sorted({*EVERY, *list(COMPILED)[::250]})


def outcomes(name, count):
    """Compare calls of a row; return their outcomes, and the calls' text."""
    found = []
    for text, values in drawn_calls(name):
        outcome = compared_in_a_domain(call_of(text, values), list(values.values()))
        found.append((outcome, text))
        if len([one for one, _ in found if one.kind in ("equal", "wrong", "refused")]) == count:
            break
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHOSEN)
def test_derivatives_are_those_of_differences(name):
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    found = outcomes(name, 3 if FULL else 1)
    wrong = [f"{one.text}: {text}" for one, text in found if one.kind == "wrong"]
    assert not wrong
    why = without_derivative(name)
    refused = [f"{one.text}: {text}" for one, text in found if one.kind == "refused"]
    equal = [one for one, _ in found if one.kind == "equal"]
    assert not refused or equal or (why is not None and why.kind == "refused"), refused
    if FULL:
        assert equal or why is not None or name in BY_HAND, "neither a derivative nor a reason"


#: Calls of rows whose drawn calls have no differences: other shapes, or integers beside floats.
BY_HAND = {
    "numpy.concatenate": lambda x: np.concatenate([x, x[::-1] ** 2]),
    "numpy.ldexp": lambda x: np.ldexp(x, np.array([1, -2, 0])),
    "numpy.ndarray.__imatmul__": lambda x: np.outer(x, x).__imatmul__(np.eye(3) * 2),
    "numpy.ndarray.imag.__set__": lambda x: _with_imaginary(x),
    "numpy.tensordot": lambda x: np.tensordot(np.outer(x, x), x, 1),
    "numpy.vecmat": lambda x: np.vecmat(x, np.outer(x, x)),
    "numpy.complex128": lambda x: np.complex128(x[0]) * 2,
    "numpy.complex64": lambda x: np.complex64(x[0] - 0.3) * 2,  # Near 0, where it rounds little.
    "numpy.fft.fftfreq": lambda x: np.fft.fftfreq(5, x[1]),
    "numpy.fft.rfftfreq": lambda x: np.fft.rfftfreq(5, x[1]),
    "numpy.fromfunction": lambda x: np.fromfunction(lambda i: np.sin(i * x[0]), (4,)),
    "numpy.kaiser": lambda x: np.kaiser(5, x[1]),
    "numpy.polynomial.polynomial.polyline": lambda x: np.polynomial.polynomial.polyline(x[0], x[1]),
    "numpy.polynomial.chebyshev.chebline": lambda x: np.polynomial.chebyshev.chebline(x[0], x[1]),
    "numpy.polynomial.legendre.legline": lambda x: np.polynomial.legendre.legline(x[0], x[1]),
    "numpy.polynomial.hermite.hermline": lambda x: np.polynomial.hermite.hermline(x[0], x[1]),
    "numpy.polynomial.hermite_e.hermeline": lambda x: np.polynomial.hermite_e.hermeline(x[0], x[1]),
    "numpy.polynomial.laguerre.lagline": lambda x: np.polynomial.laguerre.lagline(x[0], x[1]),
    "numpy.polynomial.polyutils.mapparms": lambda x: np.polynomial.polyutils.mapparms(x[:2], x[1:]),
    "numpy.polynomial.chebyshev.chebinterpolate": lambda x: np.polynomial.chebyshev.chebinterpolate(
        lambda t: np.exp(t * x[0]), 3
    ),
}


def _with_imaginary(x):
    z = x * (1 + 0j)
    z.imag = x**2
    return z


@pytest.mark.sampled
@pytest.mark.parametrize("name", [one for one in BY_HAND if one in COMPILED])
def test_calls_by_hand(name):
    found = compared_in_a_domain(BY_HAND[name], [np.array([0.3, 1.2, -0.7])])
    assert found.kind == "equal", found


def test_reasons():
    for one in NO_DERIVATIVES:
        assert not one.reason.endswith(".")
        for pattern in one.rows.split():
            alone = type(one)(one.kind, one.reason, pattern)
            assert any(alone.holds(name) for name in COMPILED), pattern


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (np.sinc, lambda x: 0 * x, lambda x: 0 * x - np.pi**2 / 3),
        (lambda x: np.logaddexp2(x, x * 0), lambda x: 0 * x + 0.5, lambda x: 0 * x + np.log(2) / 4),
        (lambda x: np.modf(x)[0] ** 2 + np.modf(x)[0], lambda x: 0 * x + 1, lambda x: 0 * x + 2),
    ],
    ids=["sinc", "logaddexp2", "modf"],
)
def test_derivatives_where_formulas_change(function, first, second):
    x = np.array([0.0, -0.0, 1e-12])
    gradient = npaccel.grad(npaccel.jit(lambda x: np.sum(function(x)), backend="eager"))
    np.testing.assert_allclose(gradient(x), first(x), atol=1e-10)
    found = npaccel.jvp(gradient, (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(found, second(x), rtol=1e-9)
