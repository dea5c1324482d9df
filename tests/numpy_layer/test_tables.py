"""Nothing that declares rows of a table is left out when the table is loaded."""

import ast
import collections
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy
import sklearn

import npaccel

PACKAGE = Path(npaccel.__file__).parent

#: By library: its table, the functions that declare rows, the release that was counted, and the
#: rows by public module.
TABLES = {
    "numpy": (
        "npaccel._numpy.core.table",
        {"implements", "leave_out", "add"},
        "2.4",
        {
            "numpy": 804,
            "numpy.fft": 18,
            "numpy.lib.stride_tricks": 2,
            "numpy.linalg": 32,
            "numpy.polynomial": 7,
            "numpy.polynomial.chebyshev": 28,
            "numpy.polynomial.hermite": 25,
            "numpy.polynomial.hermite_e": 25,
            "numpy.polynomial.laguerre": 25,
            "numpy.polynomial.legendre": 25,
            "numpy.polynomial.polynomial": 22,
            "numpy.polynomial.polyutils": 4,
            "numpy.random": 156,
        },
    ),
    "scipy": (
        "npaccel._scipy.dispatch.table",
        {"by_scipy", "in_numpy", "on_tensors", "refused", "through_host", "traced"},
        "1.17",
        {
            "scipy.cluster.hierarchy": 23,
            "scipy.cluster.vq": 3,
            "scipy.fft": 39,
            "scipy.integrate": 16,
            "scipy.interpolate": 21,
            "scipy.linalg": 95,
            "scipy.ndimage": 75,
            "scipy.optimize": 55,
            "scipy.signal": 127,
            "scipy.signal.windows": 26,
            "scipy.sparse": 35,
            "scipy.spatial": 4,
            "scipy.spatial.distance": 27,
            "scipy.special": 336,
            "scipy.stats": 301,
        },
    ),
    "sklearn": (
        "npaccel._sklearn.dispatch.table",
        {"on_device", "composite", "delegated", "through_host"},
        "1.9",
        {
            "sklearn.calibration": 1,
            "sklearn.cluster": 3,
            "sklearn.compose": 2,
            "sklearn.decomposition": 7,
            "sklearn.discriminant_analysis": 2,
            "sklearn.dummy": 2,
            "sklearn.ensemble": 18,
            "sklearn.feature_extraction": 2,
            "sklearn.feature_extraction.text": 4,
            "sklearn.feature_selection": 11,
            "sklearn.frozen": 1,
            "sklearn.gaussian_process": 2,
            "sklearn.impute": 3,
            "sklearn.kernel_ridge": 1,
            "sklearn.linear_model": 22,
            "sklearn.manifold": 1,
            "sklearn.metrics": 51,
            "sklearn.metrics.pairwise": 14,
            "sklearn.mixture": 1,
            "sklearn.model_selection": 6,
            "sklearn.multiclass": 3,
            "sklearn.multioutput": 4,
            "sklearn.naive_bayes": 3,
            "sklearn.neighbors": 5,
            "sklearn.neural_network": 3,
            "sklearn.pipeline": 2,
            "sklearn.preprocessing": 12,
            "sklearn.random_projection": 2,
            "sklearn.semi_supervised": 1,
            "sklearn.svm": 7,
            "sklearn.tree": 4,
        },
    ),
}
RELEASES = {"numpy": np.__version__, "scipy": scipy.__version__, "sklearn": sklearn.__version__}


def _module(name):
    """The public module that a name is in, the name of a method too."""
    while name not in sys.modules:
        name = name.rpartition(".")[0]
    return name


def _loaded(library):
    table = importlib.import_module(TABLES[library][0])
    if library == "numpy":
        importlib.import_module("npaccel._numpy").load()
        return [row.name for row in table.rows().values()]
    table.load()
    prefix = "" if library == "scipy" else f"{library}."
    return [prefix + row.name for row in table._declared.values()]


def _declares(path, table, functions):
    """Whether a module's source calls a function that declares rows of a table."""
    package, _, last = table.rpartition(".")
    text, names = path.read_text(encoding="utf-8"), set()
    if package not in text:  # Parsing all modules takes seconds.
        return False
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.module == table:
                names |= {a.asname or a.name for a in node.names if a.name in functions}
            elif node.module == package and any(a.name == last for a in node.names):
                names |= {f"{last}.{function}" for function in functions}
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(ast.unparse(called) in names for called in calls)


@pytest.mark.parametrize("library", TABLES)
def test_all_modules_that_declare_rows_are_imported(library):
    table, functions, _, _ = TABLES[library]
    _loaded(library)
    declaring = [path for path in PACKAGE.rglob("*.py") if _declares(path, table, functions)]
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in declaring
    ]
    assert len(names) > 5
    assert [name for name in names if name not in sys.modules] == []


@pytest.mark.parametrize("library", TABLES)
def test_no_row_is_lost(library):
    _, _, release, wanted = TABLES[library]
    found = dict(collections.Counter(map(_module, _loaded(library))))
    if RELEASES[library].startswith(f"{release}."):
        assert found == wanted
    else:  # Another release may lack some names, or have others.
        few = {module: count for module, count in wanted.items() if found.get(module, 0) < count}
        assert sum(few.values()) - sum(found.get(module, 0) for module in few) < 30
