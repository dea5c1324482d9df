"""Estimators on DTensors against scikit-learn's on the whole."""

import numpy as np
import pytest
from sharded_estimators import CASES, data

pytestmark = pytest.mark.filterwarnings("ignore")


def test_as_scikit_learn_on_the_whole(ranks, estimator):
    case = CASES[estimator]
    rows, y = data(case)
    model = case.make(rows).fit(rows, y)
    wanted = {attribute: getattr(model, attribute) for attribute in case.attributes}
    wanted |= {method: getattr(model, method)(rows) for method in case.methods}
    for answers in ranks.answers:
        got, steps = answers["estimators"][estimator]
        assert "error" not in got, got["error"]
        for what, value in wanted.items():
            value = np.asarray(value)
            tolerance = 1e-5 if value.dtype == np.float32 else 1e-9
            np.testing.assert_allclose(got[what], value, tolerance, tolerance, err_msg=what)
            if value.ndim:
                assert got[what].dtype == value.dtype, what
        assert steps
        routes = {route for method, route in steps if method.startswith("fit")}
        assert case.route in routes
        if case.route == "sharded":
            assert "gathered" not in {route for _, route in steps}
