"""scikit-learn's ``check_estimator`` for npaccel's device estimators."""

import warnings
from functools import partial

import pytest
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks
from sklearn.utils._test_common import instance_generator

import npaccel
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import class_of

#: Parameters in the place of scikit-learn's. Its products of numbers around 10,000, given as
#: kernels, take a solver hundreds of thousands of steps with C=1; the others take as many steps as
#: they may, each like the one before.
QUICKER = {
    "SVR(kernel='precomputed')": {"C": 0.01},
    "MLPClassifier(max_iter=100)": {"max_iter": 30},
    "MLPRegressor(max_iter=100)": {"max_iter": 30},
    "TSNE(perplexity=2)": {"max_iter": 250},
}


def instances(row):
    """Return the instances of npaccel's class that scikit-learn would test of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of classes that are to go
        originals = list(instance_generator._construct_instances(row.sklearn))
        for one in originals:
            one.set_params(**QUICKER.get(str(one), {}))
        return [row.implementation(**one.get_params(deep=False)) for one in originals]


def known_failures(row, estimator):
    """Return the checks that fail with scikit-learn's own class."""
    plain = row.sklearn(**estimator.get_params(deep=False))
    return dict(instance_generator._get_expected_failed_checks(plain))


def _checks(row, estimator):
    """Yield each check, with an estimator of the parameters that scikit-learn gives its own."""
    yield (
        clone(estimator),
        partial(estimator_checks.check_estimator_cloneable, type(estimator).__name__),
    )
    wanted = instance_generator.PER_ESTIMATOR_CHECK_PARAMS.get(row.sklearn, {})
    for check in estimator_checks._yield_all_checks(estimator, legacy=True):
        name = getattr(check, "func", check).__name__
        settings = wanted.get(name, [{}])
        for params in [settings] if isinstance(settings, dict) else settings:
            yield clone(estimator).set_params(**params), partial(check, type(estimator).__name__)


def _name(check):
    while isinstance(check, partial):
        check = check.func
    return check.__name__


def failures(row, estimator, apart):
    """Return the checks that fail, as lines of text.

    Parameters
    ----------
    apart : bool
        Whether the CPU counts as a device.
    """
    expected = {**known_failures(row, estimator), **row.expected_failures}
    found = []
    with npaccel.options(backend="eager"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        for one, check in _checks(row, estimator):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("default")
                    _call(check, one, apart)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 (told of below)
                skipped = type(error).__name__ in ("SkipTest", "Skipped")
                if not skipped and _name(check) not in expected:
                    found.append(f"{_name(check)}: {type(error).__name__}: {error}")
    return found


def _call(check, estimator, apart):
    if apart:
        with transfers.cpu_as_device():
            check(estimator)
    else:
        check(estimator)


def errors_agree(estimator, *data, method="fit", given=()):
    """Assert that a call of npaccel's class raises what scikit-learn's own does, text and all.

    Parameters
    ----------
    given : sequence
        What both are fitted with before.
    """
    theirs = clone(estimator)
    mine = class_of(type(estimator))(**clone(estimator).get_params(deep=False))
    found = []
    for one in (theirs, mine):
        with warnings.catch_warnings(), transfers.cpu_as_device():
            warnings.simplefilter("ignore")
            if given:
                one.fit(*given)
            with pytest.raises(Exception) as error:  # noqa: PT011 (the types are compared)
                getattr(one, method)(*data)
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]
