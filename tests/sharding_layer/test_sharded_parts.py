"""Metrics on DTensors, other placements of rows, and errors that one rank has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import parts_metrics
import pytest
import rank_parts
import sweep
from sklearn.base import clone


@pytest.fixture
def found(ranks, request):
    """What each rank answers to a test's check."""
    answers = [
        one["parts"][request.node.originalname.removeprefix("test_")] for one in ranks.answers
    ]
    assert not isinstance(answers[0], str), answers[0]
    return answers


def test_metrics(found):
    for answers in found:
        parts_metrics.check(answers)


def test_placements(found):
    for answers in found:
        for predicted, routes in answers:
            np.testing.assert_allclose(predicted, rank_parts.X[:, 0], 1e-12, 1e-12)
            assert routes == {"sharded"}


def test_errors(found):
    for told in found:
        assert "Input X contains NaN" in told[0]
        assert "inconsistent numbers of samples: [11, 9]" in told[1]
        assert "contains infinity" in told[2]
        assert "features" in told[3]
        assert "mismatch: StandardScaler" in told[4]


def test_checkpoints(found):
    for answers in found:
        assert answers.keys() == rank_parts.ITERATED.keys()
        for same, as_often, part in answers.values():
            assert same
            assert as_often
            assert part < 0.8


def assert_scanned(found):
    """Compare what a scan found with the loop in NumPy."""
    u, rows = rank_parts.X, []
    for t in range(8):
        u = rank_parts.diffused.__wrapped__(u)
        rows.append(u * t)
    np.testing.assert_allclose(found[0], u, 1e-12)
    assert found[1] == 8
    np.testing.assert_allclose(found[2][0], rows, 1e-12)
    np.testing.assert_array_equal(found[2][1], np.arange(8.0))


def test_loops(found):
    for whole, (goes_on, steps), (other, no_steps), told in found:
        assert_scanned(whole)
        assert_scanned(goes_on)
        assert_scanned(other)  # The same rows, placed otherwise.
        assert (steps, no_steps) == (4, 0)
        assert "fori_loop: ranks disagree on what it reads as 'read'" in told


@pytest.mark.slow
@pytest.mark.skipif(not sweep.FULL, reason="ranks start twice: NPACCEL_TEST_SWEEP=full")
@pytest.mark.parametrize("what", ["fit", "scan"])
def test_rank_that_is_killed(tmp_path, what):
    told = told_by(2, tmp_path, what)
    assert told["restarts"] == 1
    if what == "fit":
        model = clone(rank_parts.ITERATED["KMeans"]).fit(rank_parts.iterated())
        np.testing.assert_allclose(told["found"], model.cluster_centers_, 1e-9)
        return
    assert_scanned(told["found"])
    assert told["count"] == 4
    again = told_by(1, tmp_path, what)  # Another number of ranks reads it all.
    assert_scanned(again["found"])
    assert again["count"] == 0


def told_by(ranks, folder, what):
    """Return what a program tells of which torchrun runs so many ranks."""
    here = Path(__file__).parent
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts=1"]
    command += [f"--nproc-per-node={ranks}", str(here / "run_restarts.py"), str(folder), what]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    subprocess.run(command, env=env, check=True, timeout=300)
    return json.loads((folder / "answer").read_text())
