"""Metrics on DTensors, other placements of rows, and errors that one rank has."""

import numpy as np
import parts_metrics
import pytest
import rank_parts


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
