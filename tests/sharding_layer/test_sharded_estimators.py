"""Estimators on DTensors against scikit-learn's on the whole."""

import parts_cases
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


def test_as_scikit_learn_on_the_whole(ranks, estimator):
    for answers in ranks.answers:
        found = answers["estimators"][estimator]
        assert isinstance(found, tuple), found
        parts_cases.check(parts_cases.CASES[estimator], *found)
