"""NumPy's functions on tensors, a folder for each of NumPy's categories.

`core.table` is the one table of them: a row for each function, ufunc and method, from which
capture, tests and the support page are made. The modules declare their rows when they are
imported, which `load` does at the first capture. `host` holds what NumPy's own kernels compute on
host memory, inside of compiled code. Read `core/table.py` first, then `statistics/sorting.py` as an
example of a module of rows.
"""

from __future__ import annotations

from npaccel._process.imports import load_all

#: The modules that declare rows.
MODULES = (
    "ufuncs.bits",
    "core.callbacks",
    "ufuncs.comparing",
    "core.constants",
    "creation.creation",
    "statistics.cumulative",
    "linalg.decompositions",
    "core.dtype_queries",
    "linalg.einsum",
    "signal.fft",
    "creation.grids",
    "statistics.histograms",
    "indexing.index_helpers",
    "manipulation.joining",
    "linalg.linalg",
    "manipulation.manipulation",
    "core.methods",
    "statistics.nanfunctions",
    "linalg.norms",
    "manipulation.padding",
    "polynomial.polynomials",
    "linalg.products",
    "statistics.quantiles",
    "random.functions",
    "creation.ranges",
    "statistics.reductions",
    "manipulation.repeating",
    "ufuncs.rounding",
    "polynomial.series",
    "polynomial.algebra",
    "polynomial.calculus",
    "polynomial.inlined",
    "statistics.sets",
    "signal.signals",
    "statistics.sorting",
    "statistics.statistics",
    "core.storing",
    "indexing.strides",
    "indexing.taking",
    "ufuncs.methods",
    "ufuncs.ufuncs",
    "core.not_compiled",
    "signal.windows",
)


def load() -> None:
    """Import every module that declares rows, so that the table is complete."""
    load_all(__name__, MODULES)
