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


def summed(found):
    """Return a sum of all floats in a result, each with a weight of its own."""
    total = 0.0
    for part in parts_of(found):
        if isinstance(part, int | float | complex) and not isinstance(part, np.generic):
            if isinstance(part, float):
                total = total + part * np.cos(0.3)
            continue
        kind = part.dtype.kind
        weights = np.cos(np.arange(np.size(part)) * 1.7 + 0.3).reshape(np.shape(part))
        if kind == "f":
            total = total + np.sum(part * weights)
        elif kind == "c":
            total = (
                total + np.sum(np.real(part) * weights) + np.sum(np.imag(part) * np.flip(weights))
            )
    return total


def scalar_function(call, values):
    """Return a function of the float arrays among a call's values, and these.

    It gives the sum over what the call returns and over what it leaves in the arrays.
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
        return summed((found, [one for one in floats if np.ndim(one)]))

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


def compared_in_a_domain(call, values, **options):
    """Compare in the first domain in which the call can be differentiated."""
    outcome = Outcome("none")
    for domain in DOMAINS:
        moved = [
            domain(v) if np.asarray(v).dtype == np.float64 and np.size(v) else v for v in values
        ]
        found = compared(call, moved, **options)
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
            return Outcome("refused", f"{type(error).__name__}: {said[:300]}", largest)
    worst = max(
        float(np.max(np.abs(np.asarray(one) - two))) for one, two in zip(found, wanted, strict=True)
    )
    if not worst <= rtol * scale:
        return Outcome("wrong", f"off by {worst:.3g} of {scale:.3g}", largest)
    return Outcome("equal", "", largest)
