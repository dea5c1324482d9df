"""Calls of NumPy's compiled rows that have floats to differentiate."""

import sys
import zlib
from pathlib import Path

import numpy as np

from npaccel import _numpy
from npaccel._numpy.core.table import rows

sys.path.insert(0, str(Path(__file__).parents[1] / "numpy_layer"))
from diff_cases import function, make_function, plans, rendered

_numpy.load()
COMPILED = {name: row for name, row in rows().items() if row.status == "compiled"}
FORMS = ("random", "strided", "plain", "negative", "fortran", "stretched", "number", "scalar")
#: Rows whose derivative can't be found by differences of each element, and why.
NOT_COMPARED = {
    "numpy.float16": "differences of float16 numbers are lost in rounding",
    "numpy.half": "differences of float16 numbers are lost in rounding",
    "numpy.linalg.cholesky": "both triangles count, as in JAX: NumPy reads one",
    "numpy.linalg.eigh": "both triangles count, and signs of vectors are torch's",
    "numpy.linalg.eigvalsh": "both triangles count, as in JAX: NumPy reads one",
    "numpy.linalg.svd": "signs of vectors are torch's",
}


def drawn_calls(name):
    """Draw up to 30 calls of a row in float64: those without keywords first.

    Yields
    ------
    str
        The call's text.
    dict
        Its arrays by name, of up to 80 elements together.
    """
    row = COMPILED[name]
    every = [p for p in plans(row) if p.dtype == np.dtype("d") and p.form in FORMS]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    order = [every[i] for i in rng.permutation(len(every))]
    order.sort(key=lambda plan: (len(plan.keywords) > 0, plan.form != "random"))
    for plan in order[:30]:
        args, kwargs = plan.draw()
        text, values = rendered(row, args, kwargs)
        if sum(np.size(value) for value in values.values()) <= 80:
            yield text, values


def call_of(text, values):
    """Return the function that makes a call."""
    return function(text, values)


def jax_call_of(text, values):
    """Return the function that makes the same call of `jax.numpy`."""
    import jax.numpy

    found = make_function(text, ", ".join(values))
    found.__globals__["np"] = jax.numpy
    return found
