"""Gradients of calls of rows: of a sum over all that a call returns and writes."""

import dataclasses
import warnings

import numpy as np

import npaccel


@dataclasses.dataclass
class Outcome:
    """What the comparison of one call has shown.

    Parameters
    ----------
    kind : str
        "equal", "none" (nothing to differentiate, or NumPy raises), "kink" (differences of two
        steps don't agree), "refused" (an error of npaccel's) or "wrong".
    text : str
    largest : float
        Of the derivatives.
    """

    kind: str
    text: str = ""
    largest: float = 0.0


def parts_of(found):
    """Return the arrays in a result."""
    if isinstance(found, tuple | list):
        return [part for one in found for part in parts_of(one)]
    return [] if found is None or isinstance(found, str) else [found]


def summed(found, numpy=np):
    """Return a sum of all floats in a result, each with a weight of its own.

    Parameters
    ----------
    numpy : module
        NumPy, or `jax.numpy` for results of JAX's.
    """
    total = 0.0
    for part in parts_of(found):
        if isinstance(part, int | float | complex) and not isinstance(part, np.generic):
            if isinstance(part, float):
                total = total + part * np.cos(0.3)
            continue
        kind = part.dtype.kind
        weights = np.cos(np.arange(np.size(part)) * 1.7 + 0.3).reshape(np.shape(part))
        if kind == "f":
            total = total + numpy.sum(part * weights)
        elif kind == "c":
            parts = numpy.real(part) * weights, numpy.imag(part) * np.flip(weights)
            total = total + numpy.sum(parts[0]) + numpy.sum(parts[1])
    return total


def scalar_function(call, values, numpy=np):
    """Return a function of the float arrays among a call's values, and these.

    It gives the sum over what the call returns and over what it leaves in the arrays.

    Parameters
    ----------
    numpy : module
        As in `summed`.
    """
    places = tuple(
        i for i, v in enumerate(values) if np.asarray(v).dtype == np.float64 and np.size(v)
    )
    kept = tuple(values)

    def scalar(*floats):
        given = list(kept)
        for i, one in zip(places, floats, strict=True):
            given[i] = one
        found = call(*given)
        return summed((found, [one for one in floats if np.ndim(one)]), numpy)

    return scalar, [values[i] for i in places]


def differences(function, floats, step, signs=(1, -1)):
    """Return central differences, which copy what the function is called with.

    With `signs` ``(1, 0)`` or ``(0, -1)`` one-sided ones.
    """
    found = []
    for k, x in enumerate(floats):
        own = np.zeros(np.shape(x))
        for place in np.ndindex(np.shape(x)):
            pair = []
            for sign in signs:
                moved = [np.array(one) for one in floats]
                moved[k][place] += sign * step
                given = [
                    one[()] if isinstance(old, np.generic) else one
                    for one, old in zip(moved, floats, strict=True)
                ]
                pair.append(float(function(*given)))
            own[place] = (pair[0] - pair[1]) / ((signs[0] - signs[1]) * step)
        found.append(own)
    return found


#: Where elementary functions have finite derivatives: as drawn, within (0, 1), and above 1.
DOMAINS = (
    lambda x: x,
    lambda x: 0.2 + 0.6 / (1 + np.exp(-x)),
    lambda x: 1.3 + np.log1p(np.exp(x)),
)


def compared_in_a_domain(call, values, compare=None, **options):
    """Compare in the first domain in which the call can be differentiated.

    Parameters
    ----------
    compare : callable, optional
        Takes the call and its values, and returns an `Outcome`; `compared` by default.
    """
    outcome = Outcome("none")
    for domain in DOMAINS:
        moved = [
            domain(v) if np.asarray(v).dtype == np.float64 and np.size(v) else v for v in values
        ]
        found = (compare or compared)(call, moved, **options)
        if found.kind not in ("none", "kink"):
            return found
        outcome = found if outcome.kind == "none" else outcome
    return outcome


def compared(call, values, *, mode="grad", rtol=2e-5):
    """Compare the gradient of a call with differences; return an `Outcome`."""
    scalar, floats = scalar_function(call, values)
    if not floats:
        return Outcome("none", "no floats among the arguments")
    if any(np.max(np.abs(v)) > 1e6 for v in values if np.size(v) and np.asarray(v).dtype != bool):
        return Outcome("none", "differences would be lost in large numbers")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = differences(scalar, floats, 1e-5)
            again = differences(scalar, floats, 3e-6)
            above, below = (differences(scalar, floats, 1e-6, s) for s in ((1, 0), (0, -1)))
        except Exception as error:  # noqa: BLE001 (what NumPy raises isn't differentiated)
            return Outcome("none", f"NumPy raises {type(error).__name__}: {error}")
        largest = max((float(np.max(np.abs(one))) for one in wanted), default=0.0)
        scale = max(1.0, largest)
        pairs = [
            *((one, other, rtol) for one, other in zip(wanted, again, strict=True)),
            *((one, other, 0.01) for one, other in zip(above, below, strict=True)),
        ]
        for one, other, tolerance in pairs:
            if not np.all(np.isfinite(one)) or np.max(np.abs(one - other)) > tolerance * scale:
                return Outcome("kink", "differences don't agree", largest)
        try:
            options = {"backend": "eager", "cache": False, "default_float": "float64"}
            argnums = tuple(range(len(floats)))
            jitted = npaccel.jit(scalar, **options)
            if mode == "grad":
                found = npaccel.grad(jitted, argnums)(*floats)
            elif mode == "jvp":
                found = npaccel.jacobian(jitted, argnums, mode="forward")(*floats)
            else:
                stacked = [np.stack([one, one]) for one in floats]
                found = [one[1] for one in npaccel.vmap(npaccel.grad(jitted, argnums))(*stacked)]
        except Exception as error:  # noqa: BLE001 (told)
            said = " ".join(str(error).split())
            if "writes to an array that it doesn't own" in said:
                return Outcome("none", "`out=` isn't a float, and no argument of the function")
            return Outcome("refused", f"{type(error).__name__}: {said[:300]}", largest)
    worst = max(
        float(np.max(np.abs(np.asarray(one) - two))) for one, two in zip(found, wanted, strict=True)
    )
    if not worst <= rtol * scale:
        return Outcome("wrong", f"off by {worst:.3g} of {scale:.3g}", largest)
    return Outcome("equal", "", largest)


def gradient_of(scalar, floats):
    """Return the gradient by all arguments of a function, without a C++ compiler."""
    options = {"backend": "eager", "cache": False, "default_float": "float64"}
    return npaccel.grad(npaccel.jit(scalar, **options), tuple(range(len(floats))))


def directions_of(floats):
    """Return a direction, the same at each call, in the form of the arguments."""
    rng = np.random.default_rng(1)
    drawn = [np.asarray(rng.normal(size=np.shape(one))) for one in floats]
    return [d[()] if isinstance(x, np.generic) else d for d, x in zip(drawn, floats, strict=True)]


def along(function, floats, directions, step=1e-5):
    """Return derivatives along a direction by differences; None where these don't agree.

    Parameters
    ----------
    function : callable
        Returns a list of arrays.
    """

    def at(factor):
        pairs = zip(floats, directions, strict=True)
        moved = [x + factor * step * d for x, d in pairs]
        given = [
            one[()] if isinstance(old, np.generic) else np.array(one)
            for one, old in zip(moved, floats, strict=True)
        ]
        return [np.asarray(one, float) for one in function(*given)]

    values = {factor: at(factor) for factor in (1, -1, 0, 0.3, -0.3)}
    found = []
    largest = max(float(np.max(np.abs(one), initial=0)) for one in values[0])
    for i in range(len(values[0])):
        wide, near, above, below = (
            (values[a][i] - values[b][i]) / ((a - b) * step)
            for a, b in ((1, -1), (0.3, -0.3), (1, 0), (0, -1))
        )
        scale = max(float(np.max(np.abs(near), initial=0)), 1e-4 * largest)
        known = np.abs(wide - near) <= 2e-5 * scale
        if not np.all(known & (np.abs(above - below) <= 0.01 * scale)):  # NaN isn't known.
            return None
        found.append(near)
    return found


def distance(found, wanted, least=0.0):
    """Return the largest difference between lists of arrays, relative to the largest number.

    Parameters
    ----------
    least : float
        What counts as the largest number at least.
    """
    scale = max([least, *(float(np.max(np.abs(one), initial=0)) for one in wanted)])
    worst = 0.0
    for one, other in zip(found, wanted, strict=True):
        if not np.array_equal(np.isfinite(one), np.isfinite(other)):
            return np.inf
        finite = np.isfinite(one)
        apart = np.abs(np.asarray(one)[finite] - np.asarray(other)[finite])
        worst = max(worst, float(np.max(apart, initial=0)))
    return worst / scale if worst else 0.0


def compared_twice(call, values, *, jax_call=None, rtol=1e-4):
    """Compare second derivatives of a call with differences of its gradient, and all with JAX's.

    Parameters
    ----------
    jax_call : callable, optional
        The same call with JAX's modules; what it can't compute isn't compared.
    rtol : float
        For differences; JAX's have to be equal to 1e-6.

    Returns
    -------
    Outcome
        With "and JAX" in its text where JAX has the call.
    """
    scalar, floats = scalar_function(call, values)
    if not floats:
        return Outcome("none", "no floats among the arguments")
    if any(np.max(np.abs(v)) > 1e6 for v in values if np.size(v) and np.asarray(v).dtype != bool):
        return Outcome("none", "differences would be lost in large numbers")
    directions = directions_of(floats)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            value = scalar(*[one if isinstance(one, np.generic) else one.copy() for one in floats])
        except Exception as error:  # noqa: BLE001 (what NumPy raises isn't differentiated)
            return Outcome("none", f"NumPy raises {type(error).__name__}: {error}")
        if not np.isfinite(value):
            return Outcome("none", "the result isn't finite")
        gradient = gradient_of(scalar, floats)
        try:
            first = [np.asarray(one) for one in gradient(*floats)]
            second = npaccel.jvp(gradient, tuple(floats), tuple(directions))[1]
        except npaccel.NotCompiledError as error:
            return Outcome("refused", " ".join(str(error).split())[:300])
        wanted = along(gradient, floats, directions)
        if wanted is None:
            return Outcome("kink", "differences don't agree")
        largest = max(float(np.max(np.abs(one), initial=0)) for one in first)
        apart = distance(second, wanted, 1e-4 * largest)
        if not apart <= rtol:
            return Outcome("wrong", f"second derivatives are off by {apart:.3g}")
        theirs = jax_call and _jax_derivatives(jax_call, values, directions, value)
        if not theirs:
            return Outcome("equal", "", largest)
        least = 1e-9 * max(1.0, abs(value), largest)
        trues = (lambda: differences(scalar, floats, 1e-6)), (lambda: wanted)
        ours = (first, second)
        for order, (own, other, true) in enumerate(zip(ours, theirs, trues, strict=True), 1):
            apart = distance(own, other, least)
            if apart <= 1e-6:
                continue
            if distance(own, true(), least) <= rtol < distance(other, true(), least):
                return Outcome("equal", f"JAX's is wrong, order {order}", largest)
            return Outcome("wrong", f"off from JAX's by {apart:.3g}, order {order}")
    return Outcome("equal", "and JAX", largest)


def _jax_derivatives(call, values, directions, value):
    """Return JAX's gradient and its derivative along a direction; None where it hasn't the call."""
    import jax
    import jax.numpy

    with jax.enable_x64(True):
        scalar, floats = scalar_function(call, values, jax.numpy)
        given, moved = (tuple(jax.numpy.asarray(x) for x in xs) for xs in (floats, directions))
        gradient = jax.grad(scalar, tuple(range(len(floats))))
        try:
            theirs = float(scalar(*given))
            if not abs(theirs - value) <= 1e-8 * max(1.0, abs(value)):
                return None  # Another function under the same name, or another default.
            found = jax.jvp(gradient, given, moved)
        except Exception:  # noqa: BLE001 (what JAX hasn't is told in many ways)
            return None
    return [[np.asarray(one) for one in part] for part in found]
