"""Derivatives by central differences, of functions in plain NumPy."""

import numpy as np


def central_gradient(function, x, step=1e-6):
    """Return the gradient of a function of one array, by differences in float64."""
    x = np.asarray(x, dtype=float)
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += step
        below[place] -= step
        found[place] = (function(above) - function(below)) / (2 * step)
    return found


def central_jacobian(function, x, step=1e-6):
    """Return all derivatives of a function of one array, the shape of the result first."""
    x = np.asarray(x, dtype=float)
    shape = np.shape(function(x.copy()))
    found = np.zeros((*shape, *x.shape))
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += step
        below[place] -= step
        difference = np.asarray(function(above)) - np.asarray(function(below))
        found[(..., *place)] = difference / (2 * step)
    return found
