"""Metrics of rows in parts, and what is compared with scikit-learn's."""

import numpy as np
from sklearn import metrics

_RNG = np.random.default_rng(0)
_COUNT = 101
_LABELS = _RNG.integers(0, 3, _COUNT)
#: The last rows, and so a part, have none of the first label.
_LABELS[60:] = np.maximum(_LABELS[60:], 1)
_GUESSED = np.where(_RNG.random(_COUNT) < 0.7, _LABELS, _RNG.integers(0, 3, _COUNT))
_WEIGHTS = _RNG.integers(0, 3, _COUNT) / 2
_NUMBERS = np.abs(_RNG.normal(size=(_COUNT, 2))) + 0.1
_PREDICTED = _NUMBERS * np.exp(0.2 * _RNG.normal(size=(_COUNT, 2)))
_CHANCES = _RNG.dirichlet(np.ones(3), _COUNT)

_BOTH = _LABELS, _GUESSED
_ONE = _NUMBERS[:, 0], _PREDICTED[:, 0]
_COLUMNS = _NUMBERS, _PREDICTED
_QUIET = {"zero_division": 0}
#: Name of a metric, its arrays, and further arguments.
CASES = [
    ("accuracy_score", _BOTH, {}),
    ("accuracy_score", _BOTH, {"normalize": False}),
    ("balanced_accuracy_score", _BOTH, {}),
    ("class_likelihood_ratios", (_LABELS > 0, _GUESSED > 0), {}),
    ("classification_report", _BOTH, _QUIET),
    ("classification_report", _BOTH, _QUIET | {"output_dict": True}),
    ("cohen_kappa_score", _BOTH, {"weights": "linear"}),
    ("confusion_matrix", _BOTH, {}),
    ("confusion_matrix", _BOTH, {"normalize": "true", "labels": [2, 0]}),
    ("f1_score", _BOTH, _QUIET | {"average": "macro"}),
    ("fbeta_score", _BOTH, _QUIET | {"beta": 0.5, "average": "weighted"}),
    ("hamming_loss", _BOTH, {}),
    ("jaccard_score", _BOTH, _QUIET | {"average": "micro"}),
    ("matthews_corrcoef", _BOTH, {}),
    ("multilabel_confusion_matrix", _BOTH, {}),
    ("precision_recall_fscore_support", _BOTH, _QUIET),
    ("precision_score", _BOTH, _QUIET | {"average": None}),
    ("recall_score", _BOTH, _QUIET | {"average": "macro"}),
    ("zero_one_loss", _BOTH, {"normalize": False}),
    ("mean_squared_error", _COLUMNS, {}),
    ("mean_squared_error", _ONE, {}),
    ("mean_absolute_error", _COLUMNS, {"multioutput": "raw_values"}),
    ("mean_squared_log_error", _COLUMNS, {"multioutput": [0.2, 0.8]}),
    ("mean_absolute_percentage_error", _ONE, {}),
    ("mean_pinball_loss", _COLUMNS, {"alpha": 0.3}),
    ("root_mean_squared_error", _COLUMNS, {}),
    ("root_mean_squared_log_error", _ONE, {"multioutput": "raw_values"}),
    ("r2_score", _COLUMNS, {"multioutput": "variance_weighted"}),
    ("r2_score", _ONE, {}),
    ("explained_variance_score", _COLUMNS, {"multioutput": "raw_values"}),
    ("mean_tweedie_deviance", _ONE, {"power": 1.5}),
    ("mean_poisson_deviance", _ONE, {}),
    ("mean_gamma_deviance", _ONE, {}),
    ("max_error", _ONE, {}),
    ("log_loss", (_LABELS, _CHANCES), {}),
    ("log_loss", (_LABELS, _CHANCES), {"normalize": False}),
    ("log_loss", (_LABELS > 0, _CHANCES[:, 0]), {}),
    ("brier_score_loss", (_LABELS > 0, _CHANCES[:, 0]), {}),
]


def calls():
    """Return all calls, without weights and with some."""
    for name, arrays, words in CASES:
        yield name, arrays, words
        if name != "max_error":
            yield name, arrays, {**words, "sample_weight": _WEIGHTS}


def answers(spread):
    """Return what is found by parts, where arrays are spread: both, the first, or the second."""
    from npaccel.sklearn import metrics as of_parts

    found = []
    for i, (name, arrays, words) in enumerate(calls()):
        given = [spread(a) if i % 3 in (0, k + 1) else a for k, a in enumerate(arrays)]
        weights = words.get("sample_weight")
        more = {} if weights is None else {"sample_weight": spread(weights)}
        found.append(getattr(of_parts, name)(*given, **{**words, **more}))
    return found


def check(found):
    """Compare what was found by parts with what scikit-learn finds on the whole."""
    for (name, arrays, words), got in zip(calls(), found, strict=True):
        wanted = getattr(metrics, name)(*arrays, **words)
        if isinstance(wanted, str | dict):
            assert got == wanted, (name, words)
            continue
        several = isinstance(wanted, tuple)
        for one, other in zip(*((x if several else [x]) for x in (got, wanted)), strict=True):
            np.testing.assert_allclose(one, other, 1e-10, 1e-12, err_msg=f"{name} {words}")
            assert type(one) is type(other), name
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None), name
