"""Calls of SciPy's native rows as functions of their arrays."""

import ast
import functools
import importlib
import sys
import types
from pathlib import Path

import numpy as np
import scipy

from npaccel._scipy.dispatch import table

sys.path.insert(0, str(Path(__file__).parents[1] / "scipy_layer"))
from scipy_arrays import arrays
from test_scipy_calls import written

#: Rows whose derivative can't be found by differences, and why.
NOT_COMPARED = dict.fromkeys(
    ("linalg.cholesky", "linalg.cho_factor", "linalg.eigh", "linalg.eigvalsh", "linalg.pinvh"),
    "both triangles count, as in JAX: SciPy reads one",
)


@functools.cache
def native_calls():
    """The first call of each row that npaccel computes in a graph, by name."""
    found = {}
    for name, texts in written("CALLS").items():
        row = table.row(f"scipy.{name}")
        text = next((t for t in texts if "xp" not in t and "lambda" not in t), None)
        if row is not None and row.implementation is not None and text is not None:
            found[name] = text
    return found


def function_of(name):
    """Return a function that makes the call of a row, and its arrays."""
    importlib.import_module(f"scipy.{name.split('.')[0]}")
    text, known = native_calls()[name], arrays("float64")
    nodes = ast.walk(ast.parse(f"f({text})"))
    names = sorted({n.id for n in nodes if isinstance(n, ast.Name)} & known.keys())
    space = {"np": np, "scipy": scipy}
    exec(f"def call({', '.join(names)}):\n    return scipy.{name}({text})\n", space)
    return space["call"], [known[name].copy() for name in names]


def jax_function_of(name):
    """Return a function that makes the call of a row with JAX's modules of the same names."""
    import jax.numpy

    for part in ("fft", "linalg", "ndimage", "signal", "special", "stats", "integrate"):
        importlib.import_module(f"jax.scipy.{part}")
    call, _ = function_of(name)
    return types.FunctionType(call.__code__, {"np": jax.numpy, "scipy": jax.scipy})
