"""Compare a device estimator with scikit-learn's: attributes, results, containers and dtypes."""

import numpy as np
import torch
from sklearn.base import clone

import npaccel
from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.dispatch.estimator import class_of


def accelerated(estimator):
    """Return npaccel's form of an estimator of scikit-learn's, unfitted."""
    return class_of(type(estimator))(**clone(estimator).get_params(deep=False))


def fitted_attributes(estimator):
    return sorted(n for n in vars(estimator) if n.endswith("_") and not n.startswith("_"))


def as_array(value):
    return value.numpy() if isinstance(value, torch.Tensor) else value


def assert_same(mine, theirs, tolerance, where):
    """Assert that two values are equal within a relative tolerance, and have the same type."""
    if isinstance(theirs, list | tuple):
        assert len(mine) == len(theirs), where
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            assert_same(a, b, tolerance, f"{where}[{n}]")
    elif isinstance(theirs, np.ndarray) and theirs.dtype.kind in "fc":
        assert mine.shape == theirs.shape, where
        assert mine.dtype == theirs.dtype, where
        finite = np.abs(theirs[np.isfinite(theirs)])
        size = float(finite.max()) if finite.size else 1.0
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * size, err_msg=where)
    elif isinstance(theirs, np.ndarray):
        np.testing.assert_array_equal(mine, theirs, err_msg=where)
        assert mine.dtype == theirs.dtype, where
    elif isinstance(theirs, float | np.floating):
        np.testing.assert_allclose(
            float(mine), theirs, rtol=tolerance, atol=tolerance, err_msg=where
        )
    elif isinstance(theirs, bool | int | str | np.integer) or theirs is None:
        assert mine == theirs, where


def compare(estimator, X, y=None, *, methods=(), tolerance=1e-6, skip=(), container="array", **fit):
    """Fit scikit-learn's estimator and npaccel's, and compare all that they give.

    Parameters
    ----------
    estimator : estimator
        scikit-learn's, unfitted.
    X, y : ndarray
    methods : sequence of str
        Called with X.
    tolerance : float
        Relative to the largest value of each result.
    skip : sequence of str
        Attributes that aren't compared.
    container : {"array", "tensor", "device"}
        What npaccel's is given. "device": arrays, with the CPU as a device that they are copied to.
    **fit
        Further arguments of ``fit``.

    Returns
    -------
    tuple
        The two fitted estimators.
    """
    theirs, mine = clone(estimator), accelerated(estimator)
    give = torch.from_numpy if container == "tensor" else np.asarray
    given = [give(part) for part in (X, y) if part is not None]
    theirs.fit(*[part for part in (X, y) if part is not None], **fit)
    run = _run_as_device if container != "array" else _run
    run(lambda: mine.fit(*given, **fit))
    routes = {step.route for step in mine.report_.steps}
    assert routes == {"device"} or container == "array", mine.report_
    for name in fitted_attributes(theirs):
        if name not in skip:
            value = getattr(mine, name)
            where = f"{type(theirs).__name__}.{name}"
            assert_same(as_array_all(value), getattr(theirs, name), tolerance, where)
    assert set(fitted_attributes(mine)) >= set(fitted_attributes(theirs)) - set(skip)
    for method in methods:
        found = run(lambda method=method: getattr(mine, method)(give(X)))
        wanted = getattr(theirs, method)(X)
        kind = torch.Tensor if container == "tensor" else np.ndarray
        first = found[0] if isinstance(found, tuple | list) else found
        is_number = isinstance(wanted, float | np.floating)
        assert is_number or isinstance(first, kind), f"{method}: {type(first)}"
        where = f"{type(theirs).__name__}.{method}"
        assert_same(as_array_all(found), wanted, tolerance, where)
    return theirs, mine


def as_array_all(value):
    if isinstance(value, list | tuple):
        return [as_array_all(part) for part in value]
    if isinstance(value, torch.Tensor):
        return value.numpy()[()] if not value.ndim else value.numpy()
    return value


def _run(call):
    with npaccel.options(backend="eager"):
        return call()


def _run_as_device(call):
    with npaccel.options(backend="eager"), transfers.cpu_as_device():
        return call()
