"""Native functions of `scipy.special` in jitted functions, on NumPy's arrays."""

import numpy as np
import pytest
import scipy.special
import torch
from calls_special_orders import CALLS as OF_ORDERS
from calls_special_ufuncs import CALLS as OF_ARRAYS
from scipy_arrays import arrays
from scipy_running import differences, tolerance
from sweep import FULL

import npaccel
from npaccel._scipy.dispatch import table
from npaccel.errors import PerformanceWarning

#: What a call may be made of; others have keywords, attributes or more arrays.
_KNOWN = {"x", "y", "w", "unit", "positive", "large", "signed_unit", "integers", "z"}


def native(calls):
    """The first call of each native function, as the values of its arguments."""
    known = arrays()
    for name, texts in calls.items():
        row = table.row(f"scipy.{name}")
        if row is None or row.route != "native":
            continue
        text = next((t for t in texts if "=" not in t), "")
        values = eval(f"({text},)", {"np": np, **known})
        if any(isinstance(v, np.ndarray) for v in values):
            yield pytest.param(name, values, id=name)


def calling(name, values):
    """Return a function of the arrays alone; the numbers are part of it."""
    function = getattr(scipy.special, name.removeprefix("special."))
    arrays_only = [v for v in values if isinstance(v, np.ndarray)]
    if not isinstance(values[0], np.ndarray) and len(values) > 1:
        first = tuple(v for v in values if not isinstance(v, np.ndarray))
        ahead = all(not isinstance(v, np.ndarray) for v in values[: len(first)])
        if ahead and len(arrays_only) == 1:
            return (lambda x: function(*first, x)), arrays_only
        if ahead and len(arrays_only) == 2:
            return (lambda x, y: function(*first, x, y)), arrays_only
        if ahead and len(arrays_only) == 3:
            return (lambda x, y, z: function(*first, x, y, z)), arrays_only
    if len(values) == len(arrays_only):
        forms = {
            1: lambda x: function(x),
            2: lambda x, y: function(x, y),
            3: lambda x, y, z: function(x, y, z),
        }
        return forms[len(values)], arrays_only
    if isinstance(values[0], np.ndarray) and len(arrays_only) == 1:
        rest = values[1:]
        return (lambda x: function(x, *rest)), arrays_only
    if len(arrays_only) == 2 and len(values) == 3:
        middle = values[1]
        return (lambda x, y: function(x, middle, y)), arrays_only
    raise AssertionError(f"no form for {name}: {values}")


def compared(name, values, backend):
    function, given = calling(name, values)
    jitted = npaccel.jit(function, strict=True, default_float="float64", backend=backend)
    with np.errstate(all="ignore"):
        expected = function(*given)
    actual = jitted(*(a.copy() for a in given))
    pairs = (
        zip(expected, actual, strict=True) if isinstance(expected, tuple) else [(expected, actual)]
    )
    for one, other in pairs:
        found = differences(one, torch.as_tensor(other), False, tolerance(name))
        assert not found, "\n".join(found)


#: Every third function, in a sweep all of them.
TRACED = [*native(OF_ARRAYS), *native(OF_ORDERS)][:: 1 if FULL else 3]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "values"), TRACED)
def test_traced(name, values):
    compared(name, values, "eager")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param(f"special.{name}", values, id=name)
        for name, values in {"erf": ["x"], "exprel": ["x"]}.items()
    ],
)
def test_compiled(name, values):
    known = arrays()
    compared(name, tuple(known[v] for v in values), "inductor")


def test_an_order_that_is_an_array_isnt_traced():
    @npaccel.jit(strict=True, backend="eager")
    def bessel(v, x):
        return scipy.special.jv(v, x)

    with pytest.raises(npaccel.errors.NotCompiledError, match="is no Python number"):
        bessel(np.arange(3.0), np.ones(3))


def test_integers_are_narrowed_as_numpys():
    @npaccel.jit(default_float="float32", backend="eager")
    def halves(n):
        return scipy.special.erf(n)

    assert halves(np.arange(3)).dtype == np.float32
    assert halves(np.arange(3.0)).dtype == np.float64


def test_calls_that_are_scipys_break_the_graph():
    def function(x):
        return scipy.special.factorial(x, exact=True) + 1, scipy.special.gammainc(x + 1.0, 2.0)

    jitted = npaccel.jit(function, backend="eager", default_float="float64")
    x = np.arange(5)
    with pytest.warns(PerformanceWarning, match="exact integers are Python's"):
        found = jitted(x)
    for one, other in zip(found, function(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert len(jitted.report().breaks) == 1
