"""Write the figures of the page on precision.

python tests/sklearn_layer/sklearn_precision.py                      # all device estimators
python tests/sklearn_layer/sklearn_precision.py decomposition.PCA    # these once more
"""

import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn
import sklearn_comparing
import sklearn_examples
import torch
from sklearn.base import clone
from sklearn_data import scaled

import npaccel
from npaccel._sklearn.dispatch import table as dispatch_table
from npaccel._sklearn.dispatch import transfers

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "sklearn_precision.json"
#: Data sets by kind of estimator.
_DATA = {
    "classifier": ("digits", "wine", "breast_cancer"),
    "regressor": ("diabetes",),
    "other": ("digits", "wine", "breast_cancer", "diabetes"),
}
#: Fewer of them: where a class has to have more rows than columns, and where runs are long.
_FEW = {
    "discriminant_analysis.QuadraticDiscriminantAnalysis": ("wine", "breast_cancer"),
    "manifold.TSNE": ("wine",),
}
#: Whose axes have signs that nothing decides.
_UNSIGNED = ("discriminant_analysis.",)
#: The attributes that only say how a fit went.
_OF_THE_WAY = ("n_iter_", "dual_gap_", "loss_curve_", "reconstruction_err_", "lower_bounds_")
#: Who computes what.
RUNS = (("npaccel", "float64"), ("npaccel", "float32"), ("scikit-learn", "float32"))


def versions():
    """Return what the figures depend on."""
    modules = {"numpy": np, "scikit-learn": sklearn, "torch": torch}
    return {name: module.__version__.partition("+")[0] for name, module in modules.items()}


def data_sets(row):
    return _FEW.get(row.name) or _DATA[sklearn_examples.kind(row)]


def results(row, one, X, y):
    """Return what a fitted estimator gives and what it has learnt, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(X, y) if y is not None else one.fit(X)
        # Of an embedding no more than its quality can be the same.
        methods = [m for m in sklearn_examples.METHODS if hasattr(row.sklearn, m)]
        methods = [m for m in methods if callable(getattr(one, m, None))]
        found = {name: getattr(one, name)(X) for name in methods}
    if row.name == "manifold.TSNE":
        return {}, {"kl_divergence_": one.kl_divergence_}
    names = [n for n in sklearn_comparing.fitted_attributes(one) if n not in _OF_THE_WAY]
    return found, {name: getattr(one, name) for name in names}


def difference(found, wanted):
    """Return how far numbers are apart relatively to the largest, and which share of labels is.

    Each is None where there are none.
    """
    if isinstance(wanted, list | tuple):
        pairs = [difference(a, b) for a, b in zip(found, wanted, strict=True)]
        return tuple(_largest(part) for part in zip(*pairs, strict=True)) or (None, None)
    if isinstance(wanted, np.ndarray) and wanted.dtype.kind == "O":
        return difference(list(found), list(wanted))
    if not isinstance(wanted, np.ndarray | float | np.floating):
        return None, None
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return (math.inf, None) if wanted.dtype.kind == "f" else (None, 1.0)
    if wanted.dtype.kind != "f":
        return None, float(np.mean(found != wanted)) if wanted.size else None
    apart = np.abs(found.astype("float64") - wanted)[np.isfinite(wanted)]
    size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
    return (float(apart.max(initial=0.0)) / (size or 1.0) if apart.size else None), None


def _signed(found, wanted):
    """Return columns with the signs of those that they are compared with."""
    if isinstance(wanted, list):
        return [_signed(a, b) for a, b in zip(found, wanted, strict=True)]
    if not isinstance(wanted, np.ndarray) or wanted.dtype.kind != "f" or wanted.ndim != 2:
        return found
    return found * np.where((found * wanted).sum(axis=0) < 0, -1, 1).astype(found.dtype)


def _largest(values):
    return max((value for value in values if value is not None), default=None)


def entry(row):
    """Return the figures of a row: the worst over data sets and over what is compared."""
    tables = {key: {} for key in ("results", "attributes", "labels")}
    where = {}
    for name in data_sets(row):
        X, y = scaled(name)
        X, y = sklearn_examples.suited(row, X + 1.0, y)
        wanted = results(row, sklearn_examples.estimator(row), X, y)
        for who, dtype in RUNS:
            key = f"{who} {dtype}"
            given = [sklearn_examples.cast(part, dtype) for part in (X, y)]
            found = _run(row, who, given)
            for table, a, b in zip(("results", "attributes"), found, wanted, strict=True):
                for what, value in b.items():
                    mine = _signed(a[what], value) if row.name.startswith(_UNSIGNED) else a[what]
                    apart, labels = difference(mine, value)
                    if _note(tables[table], key, apart) and key == "npaccel float32":
                        where[table] = f"{name} {what}"
                    if table == "results" or what == "labels_":
                        _note(tables["labels"], key, labels)
    return {"data": list(data_sets(row)), **tables, "where": where}


def _note(table, key, value):
    """Enter a figure if it's the largest so far, and return whether it is."""
    if value is None or (key in table and value <= table[key]):
        return False
    table[key] = float(f"{value:.1e}")
    return True


def _run(row, who, given):
    one = sklearn_examples.estimator(row)
    if who == "scikit-learn":
        return results(row, one, *given)
    mine = sklearn_comparing.accelerated(clone(one))
    with npaccel.options(backend="eager"), transfers.cpu_as_device():
        found = results(row, mine, *given)
        return tuple({k: sklearn_comparing.as_array_all(v) for k, v in t.items()} for t in found)


def main(names):
    rows = {row.name: row for row in dispatch_table.device_estimators()}
    known = json.loads(FILE.read_text(encoding="utf-8")) if names else {"estimators": {}}
    if known.get("versions", versions()) != versions():
        raise SystemExit(f"{FILE.name} is of {known['versions']}: without names all are done again")
    kept = known["estimators"]
    wanted = [name for name in names if name != "--missing"]
    if len(wanted) < len(names):
        wanted += sorted(set(rows) - set(kept))
    unknown = set(wanted) - set(rows)
    if unknown:
        raise SystemExit(f"no device estimator is called {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    for name in wanted if names else rows:
        print(f"{name} ...", file=sys.stderr, flush=True)
        kept[name] = entry(rows[name])
    found = {"versions": versions(), "estimators": {n: kept[n] for n in sorted(kept) if n in rows}}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
