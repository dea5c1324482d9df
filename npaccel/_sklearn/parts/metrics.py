"""Metrics that are sums over rows.

Those of labels need nothing but the weight of each pair of labels that meet: scikit-learn's own
function is called with the pairs as rows. Those that are means are scikit-learn's for each part.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier

from npaccel._sklearn.dispatch import call_stack
from npaccel._sklearn.parts import moments
from npaccel._sklearn.parts.calls import by_parts, warn_of_whole_arrays
from npaccel._sklearn.parts.engine import Parts, WholeArraysError, engine_of

_OF_PAIRS = (
    *("accuracy_score", "balanced_accuracy_score", "class_likelihood_ratios"),
    *("classification_report", "cohen_kappa_score", "confusion_matrix", "f1_score"),
    *("fbeta_score", "hamming_loss", "jaccard_score", "matthews_corrcoef"),
    *("multilabel_confusion_matrix", "precision_recall_fscore_support", "precision_score"),
    *("recall_score", "zero_one_loss"),
)
#: Averaged quantities by name, where that isn't the metric itself.
_MEANS = {
    "mean_squared_error": "",
    "mean_absolute_error": "",
    "mean_squared_log_error": "",
    "mean_absolute_percentage_error": "",
    "mean_pinball_loss": "",
    "mean_tweedie_deviance": "",
    "mean_poisson_deviance": "",
    "mean_gamma_deviance": "",
    "root_mean_squared_error": "mean_squared_error",
    "root_mean_squared_log_error": "mean_squared_log_error",
}
_OF_VARIANCES = ("r2_score", "explained_variance_score")


class _Given:
    """Arguments of a metric: two arrays in parts, with the same rows, and weights.

    Parameters
    ----------
    name : str
    one, other : array
        True values and predicted ones, or two labellings.
    weights : array or None
    words : dict
        Other arguments.
    """

    def __init__(self, name: str, one: Any, other: Any, weights: Any, words: Any) -> None:
        self.name, self.words = name, words
        self.is_weighted = weights is not None
        #: Parts begin with an array that is in parts.
        self.is_turned = engine_of(one) is None
        first, second = (other, one) if self.is_turned else (one, other)
        engine = engine_of(first)
        if engine is None:
            raise WholeArraysError("only weights are in parts")
        self.parts: Parts = engine(first, (second, weights), name)

    def reduce(self, function: Any, combine: Any, *constants: Any) -> Any:
        """Return the combined results of a function of both arrays and weights, in this order."""
        return self.parts.reduce(_in_order, combine, function, self.is_turned, constants)


def _in_order(one: Any, other: Any, weights: Any, function: Any, turned: bool, more: Any) -> Any:
    return function(other, one, weights, *more) if turned else function(one, other, weights, *more)


# -- Pairs of labels -----------------------------------------------------------


def _pairs(one: Any, other: Any, weights: Any) -> Any:
    """Return the pairs of labels that meet, and the weight of each."""
    if one.ndim != 1 or other.ndim != 1:
        raise WholeArraysError("rows have several labels")
    if weights is None:
        weights = np.ones(len(one), np.int64)
    ones, i = np.unique(one, return_inverse=True)
    others, k = np.unique(other, return_inverse=True)
    codes, which = np.unique(i * len(others) + k, return_inverse=True)
    total = np.zeros(len(codes), np.result_type(weights, np.int64))
    np.add.at(total, which, weights)
    return ones[codes // max(1, len(others))], others[codes % max(1, len(others))], total


def _met(one: Any, other: Any) -> Any:
    return _pairs(*(np.concatenate([a, b]) for a, b in zip(one, other, strict=True)))


def _of_pairs(given: _Given) -> Any:
    one, other, weights = given.reduce(_pairs, _met)
    found = getattr(metrics, given.name)(one, other, sample_weight=weights, **given.words)
    return found if given.is_weighted else _counted(given.name, found)


def _counted(name: str, found: Any) -> Any:
    """Return a result with integers: scikit-learn counts in floats what has weights."""
    if name == "multilabel_confusion_matrix":
        return found.astype(np.int64)
    if name == "precision_recall_fscore_support" and found[3] is not None:
        return (*found[:3], found[3].astype(np.int64))
    if name == "classification_report" and isinstance(found, str):
        return re.sub(r"(?m)(\d+)\.0$", r"  \1", found)
    return float(found) if name == "zero_one_loss" else found


# -- Means ---------------------------------------------------------------------


def _mean(one: Any, other: Any, weights: Any, name: str, words: Any) -> Any:
    """Return the weight of rows, and a metric of them times that."""
    total = float(len(one)) if weights is None else float(np.sum(weights))
    if not total:
        return 0.0, 0.0
    found = getattr(metrics, name)(one, other, sample_weight=weights, **words)
    return total, np.asarray(found, np.float64) * total


def _added(one: Any, other: Any) -> Any:
    return one[0] + other[0], one[1] + other[1]


def _averaged(given: _Given, name: str, words: Any) -> tuple[float, Any]:
    total, found = given.reduce(_mean, _added, name, words)
    if not total:
        raise WholeArraysError("weights add up to nothing")
    return total, found / total


def _of_means(given: _Given) -> Any:
    words, name = dict(given.words), _MEANS[given.name]
    multioutput = words.pop("multioutput", "uniform_average")
    if "deviance" in given.name:
        return float(_averaged(given, given.name, words)[1])
    words["multioutput"] = "raw_values"
    _, found = _averaged(given, name or given.name, words)
    found = np.sqrt(found) if name else found
    if isinstance(multioutput, str) and multioutput == "raw_values":
        return found
    shares = None if isinstance(multioutput, str) else multioutput
    return float(np.average(found, weights=shares))


def _log_loss(given: _Given) -> Any:
    words = {name: value for name, value in given.words.items() if value is not None}
    is_mean = words.pop("normalize", True)
    if "labels" not in words:
        words["labels"] = given.reduce(_labels, _united)
    total, found = _averaged(given, "log_loss", words)
    return float(found if is_mean else found * total)


def _labels(one: Any, other: Any, weights: Any) -> Any:
    return np.unique(one)


def _united(one: Any, other: Any) -> Any:
    return np.union1d(one, other)


def _brier(given: _Given) -> Any:
    words = {name: value for name, value in given.words.items() if value is not None}
    if "pos_label" not in words:
        labels = given.reduce(_labels, _united)
        if labels.dtype.kind not in "biuf" or not (
            np.isin(labels, (0, 1)).all() or np.isin(labels, (-1, 1)).all()
        ):
            raise WholeArraysError("labels aren't 0 and 1, and there is no pos_label")
        words["pos_label"] = 1
    return float(_averaged(given, "brier_score_loss", words)[1])


def _largest(one: Any, other: Any, weights: Any) -> float:
    return float(metrics.max_error(one, other)) if len(one) else 0.0


def _max_error(given: _Given) -> Any:
    return float(given.reduce(_largest, max))


# -- Variances -----------------------------------------------------------------


def _variances(one: Any, other: Any, weights: Any) -> Any:
    """Return moments of true values, and behind them those of errors."""
    true, predicted = (a[:, None] if a.ndim == 1 else a for a in (one, other))
    true = true.astype(np.float64)
    both = np.concatenate([true, true - predicted], axis=1)
    return (*moments.of_columns.__wrapped__(both, weights), len(one), one.ndim)


def _together(one: Any, other: Any) -> Any:
    return (*moments.squares(one[:3], other[:3]), one[3] + other[3], one[4])


def _of_variances(given: _Given) -> Any:
    mass, mean, squares, count, ndim = given.reduce(_variances, _together)
    if count < 2 or not (mass > 0.0).all() or not np.isfinite(squares).all():
        raise WholeArraysError("there are fewer rows than two, or values that aren't finite")
    width = len(mean) // 2
    spread = np.sqrt(squares / mass)
    # Two rows with the same moments; the mean of true values doesn't matter.
    true = np.stack([spread[:width], -spread[:width]])
    errors = mean[width:] + np.stack([spread[width:], -spread[width:]])
    predicted = true - errors
    if ndim == 1:
        true, predicted = true[:, 0], predicted[:, 0]
    return getattr(metrics, given.name)(true, predicted, **given.words)


# -- Calls -----------------------------------------------------------------------

_WAYS: dict[str, Callable[[_Given], Any]] = {
    **dict.fromkeys(_OF_PAIRS, _of_pairs),
    **dict.fromkeys(_MEANS, _of_means),
    **dict.fromkeys(_OF_VARIANCES, _of_variances),
    "log_loss": _log_loss,
    "brier_score_loss": _brier,
    "max_error": _max_error,
}


def with_parts(name: str, original: Any, found: Any) -> Any:
    """Return a metric that takes arrays in parts, too.

    Parameters
    ----------
    name : str
        Public name without ``sklearn.metrics.``.
    original : callable
        scikit-learn's.
    found : callable
        What is called with anything else.
    """
    if inspect.isclass(original):
        return found
    signature = inspect.signature(original)

    @functools.wraps(original, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        engine = next(filter(None, map(engine_of, given)), None)
        if engine is None:
            return found(*args, **kwargs)
        try:
            with call_stack.dispatching(False):
                return _computed(name, signature, args, kwargs)
        except WholeArraysError as error:
            warn_of_whole_arrays(name, str(error), engine, 3)
        words = {key: engine.whole(one) for key, one in kwargs.items()}
        return found(*map(engine.whole, args), **words)

    return call


def _computed(name: str, signature: inspect.Signature, args: Any, kwargs: Any) -> Any:
    way = _WAYS.get(name)
    if way is None:
        raise WholeArraysError("it isn't computed by parts")
    words = signature.bind(*args, **kwargs).arguments
    first, second = list(signature.parameters)[:2]
    if first not in words or second not in words:
        raise WholeArraysError(f"{second} isn't given by its name")
    weights = words.pop("sample_weight", None)
    return way(_Given(name, words.pop(first), words.pop(second), weights, words))


# -- Scores of estimators ----------------------------------------------------------


@by_parts(
    "linear_model.LinearRegression linear_model.Ridge linear_model.LogisticRegression "
    "naive_bayes.GaussianNB neighbors.KNeighborsClassifier neighbors.KNeighborsRegressor",
    "score",
)
def _score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    name = "accuracy_score" if is_classifier(self) else "r2_score"
    words = {} if sample_weight is None else {"sample_weight": sample_weight}
    metric = getattr(metrics, name)
    with call_stack.outside():
        predicted = self.predict(X)
    if engine_of(predicted) is None and engine_of(y) is None:
        return metric(y, predicted, **words)
    return _computed(name, inspect.signature(metric), (y, predicted), words)


__all__ = ["with_parts"]
