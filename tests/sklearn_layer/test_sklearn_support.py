"""The table, the page and the command of npaccel.sklearn."""

import numpy as np
import torch
from click.testing import CliRunner
from sklearn import metrics

import npaccel.sklearn
from npaccel._sklearn.dispatch import listing, support_page, table
from npaccel._tools.cli import main


def test_every_public_estimator_has_a_row():
    rows = table.rows()
    assert set(listing.names()) <= set(rows)
    assert all(row.sklearn is not None for row in rows.values())
    assert rows["preprocessing.StandardScaler"].route == "device"
    assert rows["preprocessing.MinMaxScaler"].route in ("delegated", "device")
    assert rows["pipeline.Pipeline"].route == "composite"
    assert "tree" in rows["ensemble.RandomForestClassifier"].reason


def test_the_page_has_a_line_for_each():
    page = support_page.page()
    assert all(f"| `{name.rpartition('.')[2]}` |" in page for name in listing.names())
    totals = support_page.totals(support_page.table())
    assert sum(totals.values()) == len(support_page.table())


def test_the_command():
    found = CliRunner().invoke(main, ["support", "sklearn.PCA"])
    assert found.output.startswith("sklearn.decomposition.PCA: device\n")
    assert "arpack" in found.output
    found = CliRunner().invoke(main, ["support", "sklearn.ensemble.RandomForestClassifier"])
    assert found.output.startswith("sklearn.ensemble.RandomForestClassifier: host\n")
    assert CliRunner().invoke(main, ["support", "sklearn"]).output.startswith("device")
    found = CliRunner().invoke(main, ["support", "sklearn.DBSCAM"])
    assert found.exit_code == 1
    assert "did you mean cluster.DBSCAN" in found.stderr


def test_metrics_take_tensors():
    y, p = torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2, 2, 2])
    found = npaccel.sklearn.metrics.confusion_matrix(y, p)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), metrics.confusion_matrix(y.numpy(), p.numpy()))
    assert npaccel.sklearn.metrics.fowlkes_mallows_score(y, p) == metrics.fowlkes_mallows_score(
        y.numpy(), p.numpy()
    )
