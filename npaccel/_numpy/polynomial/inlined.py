"""Plain NumPy code of numpy.polynomial: weights, maps between domains, interpolation.

A trace goes through these as through the user's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polyutils

from npaccel._numpy.core.table import implements


@implements(chebyshev.chebweight, inlined=True)
def chebweight(x: Any) -> Any:
    """`numpy.polynomial.chebyshev.chebweight`."""
    return 1.0 / (np.sqrt(1.0 + x) * np.sqrt(1.0 - x))


@implements(legendre.legweight, inlined=True)
def legweight(x: Any) -> Any:
    """`numpy.polynomial.legendre.legweight`."""
    return x * 0.0 + 1.0


@implements(hermite.hermweight, inlined=True)
def hermweight(x: Any) -> Any:
    """`numpy.polynomial.hermite.hermweight`."""
    return np.exp(-(x**2))


@implements(hermite_e.hermeweight, inlined=True)
def hermeweight(x: Any) -> Any:
    """`numpy.polynomial.hermite_e.hermeweight`."""
    return np.exp(-0.5 * x**2)


@implements(laguerre.lagweight, inlined=True)
def lagweight(x: Any) -> Any:
    """`numpy.polynomial.laguerre.lagweight`."""
    return np.exp(-x)


@implements(polyutils.mapparms, inlined=True)
def mapparms(old: Any, new: Any) -> Any:
    """`numpy.polynomial.polyutils.mapparms`: offset and scale of a map between domains."""
    length = old[1] - old[0]
    offset = (old[1] * new[0] - old[0] * new[1]) / length
    return offset, (new[1] - new[0]) / length


@implements(polyutils.mapdomain, inlined=True)
def mapdomain(x: Any, old: Any, new: Any) -> Any:
    """`numpy.polynomial.polyutils.mapdomain`: the points of one domain in another."""
    if not isinstance(x, (int, float, complex)):
        x = np.asarray(x)
    offset, scale = mapparms(old, new)
    return offset + scale * x


@implements(chebyshev.chebinterpolate, inlined=True)
def chebinterpolate(func: Callable[..., Any], deg: Any, args: Any = ()) -> Any:
    """`numpy.polynomial.chebyshev.chebinterpolate`: the function is traced on all points."""
    if not isinstance(deg, int):
        raise TypeError("deg must be an int")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    points = chebyshev.chebpts1(deg + 1)
    found = np.dot(chebyshev.chebvander(points, deg).T, func(points, *args))
    found[0] /= deg + 1
    found[1:] /= 0.5 * (deg + 1)
    return found
