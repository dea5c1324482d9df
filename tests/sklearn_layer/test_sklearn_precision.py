"""The pages' figures: how precise and how fast device estimators are."""

import importlib
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn_examples
import sklearn_precision

from npaccel._sklearn.dispatch import support_page
from npaccel._sklearn.dispatch import table as dispatch_table

ROOT = Path(__file__).resolve().parents[2]
ROWS = {row.name: row for row in dispatch_table.device_estimators()}
KNOWN = json.loads(sklearn_precision.FILE.read_text(encoding="utf-8"))


def test_every_device_estimator_has_an_entry():
    missing = set(ROWS) - set(KNOWN["estimators"])
    assert not missing, "run python tests/sklearn_layer/sklearn_precision.py --missing"
    page = support_page.precision_page(KNOWN)
    assert "not measured" not in page
    assert all(f"| `{name}` |" in page for name in ROWS)
    assert set(KNOWN["versions"]) == {"numpy", "scikit-learn", "torch"}


@pytest.mark.parametrize("name", ROWS)
def test_float64_is_within_the_tolerance(name):
    entry = KNOWN["estimators"][name]
    assert entry["results"] or entry["attributes"] or entry["labels"]
    assert entry["results"].get("npaccel float64", 0.0) <= ROWS[name].tolerance
    assert entry["labels"].get("npaccel float64", 0.0) == 0.0


@pytest.mark.parametrize(
    "name", ["preprocessing.StandardScaler", "linear_model.Ridge", "naive_bayes.BernoulliNB"]
)
def test_the_figures_are_those_that_are_computed(name):
    found, known = sklearn_precision.entry(ROWS[name]), KNOWN["estimators"][name]
    assert found["data"] == known["data"]
    for table in ("results", "attributes", "labels"):
        assert set(found[table]) == set(known[table])
        for key, value in found[table].items():
            # Rounding isn't the same on every machine.
            bounds = known[table][key] / 30 - 1e-15, known[table][key] * 30 + 1e-13
            assert bounds[0] <= value <= bounds[1], (table, key)


def test_differences():
    difference = sklearn_precision.difference
    assert difference(np.array([1.0, 2.2]), np.array([1.0, 2.0])) == (pytest.approx(0.1), None)
    assert difference(np.array([1, 2]), np.array([1, 3])) == (None, 0.5)
    both = difference([np.array([1.0]), np.array([1])], [np.array([1.0]), np.array([1])])
    assert both == (0.0, 0.0)
    assert difference("a", "a") == (None, None)
    assert difference(np.zeros(2), np.zeros(3)) == (math.inf, None)


def test_what_is_not_measured_is_said():
    page = support_page.precision_page({"versions": {"numpy": "2"}, "estimators": {}})
    assert page.count("not measured") == len(ROWS)
    assert page.startswith("Computed with numpy 2.")
    assert support_page.page().count("| not measured |") == len(ROWS)


def test_speeds_stand_on_the_support_page():
    speeds = {
        "conditions cpu": {"processor": "abacus"},
        "conditions cuda": {"graphics": "etch"},
        "decomposition.PCA cpu": {"sklearn": 3.0, "npaccel": 2.0, "where": "device"},
        "linear_model.Ridge cpu": {"sklearn": 1.0, "npaccel": 1.0, "where": "host"},
    }
    page = support_page.page(speeds)
    assert "Times as fast, CPU: processor abacus." in page
    assert "Times as fast, GPU: graphics etch." in page
    (line,) = [one for one in page.splitlines() if one.startswith("| `PCA` |")]
    assert "| 1.5 | not measured |" in line
    assert "| 1, left to scikit-learn | not measured |" in page


@pytest.fixture
def estimator_rows(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "asv_benches"))
    found = importlib.import_module("estimator_rows")
    monkeypatch.setattr(found, "_ROWS", 200)
    yield found
    for name in ("rows", "table_rows", "estimator_rows"):
        sys.modules.pop(name, None)


def test_speeds_are_measured(estimator_rows, monkeypatch, tmp_path):
    names = ("preprocessing.StandardScaler", "linear_model.LinearRegression")
    file = tmp_path / "speeds.json"
    file.write_text(json.dumps({"conditions cpu": {"a": "1"}, "x cpu": {}, "y cuda": {}}))
    monkeypatch.setattr(dispatch_table, "device_estimators", lambda: [ROWS[name] for name in names])
    pieces = estimator_rows.Pieces(file)
    (row,) = estimator_rows.estimator_rows(pieces, "cpu", {"a": "2"})
    assert row.what.startswith("2 device estimators, 200 x 32")
    kept = json.loads(file.read_text())
    assert kept["conditions cpu"] == {"a": "2"}
    assert set(kept) == {"conditions cpu", "y cuda", *(f"{name} cpu" for name in names)}
    taken = kept["linear_model.LinearRegression cpu"]
    assert taken["where"] == "host"
    assert 0 < taken["sklearn"] < 1


def test_every_example_can_be_made():
    kinds = {sklearn_examples.kind(row) for row in ROWS.values()}
    assert kinds == {"classifier", "regressor", "other"}
