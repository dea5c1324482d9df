"""Every device estimator of the table against scikit-learn's contract."""

import inspect

import pytest
import sklearn_checking

from npaccel._sklearn.dispatch import table

ROWS = {row.name: row for row in table.device_estimators()}
CASES = [
    pytest.param(row, one, id=f"{name}-{n}")
    for name, row in ROWS.items()
    for n, one in enumerate(sklearn_checking.instances(row))
]


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")
@pytest.mark.parametrize(("row", "estimator"), CASES)
def test_check_estimator(row, estimator):
    """With the CPU as a device that data is copied to, so that nothing is left to scikit-learn."""
    found = sklearn_checking.failures(row, estimator, apart=True)
    assert not found, "\n".join(found)


def test_few_checks_are_expected_to_fail():
    reasons = [reason for row in ROWS.values() for reason in row.expected_failures.values()]
    assert len(reasons) <= 3
    assert all(reasons)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_signatures_are_scikit_learns(row):
    for name, theirs in vars(row.sklearn).items():
        if name.startswith("_") or not inspect.isfunction(theirs):
            continue
        mine = inspect.signature(getattr(row.implementation, name)).parameters
        wanted = inspect.signature(theirs).parameters
        assert [(p.name, p.default, p.kind) for p in mine.values()] == [
            (p.name, p.default, p.kind) for p in wanted.values()
        ], name
