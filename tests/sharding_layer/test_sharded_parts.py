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


@pytest.mark.slow
@pytest.mark.skipif(not sweep.FULL, reason="ranks start twice: NPACCEL_TEST_SWEEP=full")
def test_rank_that_is_killed(tmp_path):
    here = Path(__file__).parent
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["--max-restarts=1", str(here / "run_restarts.py"), str(tmp_path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    subprocess.run(command, env=env, check=True, timeout=300)
    told = json.loads((tmp_path / "answer").read_text())
    model = clone(rank_parts.ITERATED["KMeans"]).fit(rank_parts.iterated())
    np.testing.assert_allclose(told["centres"], model.cluster_centers_, 1e-9)
    assert told["restarts"] == 1
