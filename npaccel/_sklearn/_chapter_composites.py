"""Estimators that are made of others: scikit-learn's own code carries the data between them.

X goes to the device once, at the outermost call, and stays there from part to part. Labels stay
where they are, and whoever is fitted takes them. Where scikit-learn's code computes with the parts'
results in NumPy, the parts give arrays: predictions, which are small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse

from npaccel._sklearn import _crossings
from npaccel._sklearn._table import composite

composite("pipeline.Pipeline pipeline.FeatureUnion", fit="tensor", later="tensor")
composite(
    "model_selection.GridSearchCV model_selection.RandomizedSearchCV "
    "model_selection.HalvingGridSearchCV model_selection.HalvingRandomSearchCV",
    fit="array",
    later=None,
    note="the metrics are computed on the host",
)
composite(
    "ensemble.VotingClassifier ensemble.VotingRegressor",
    fit="array",
    later="array",
    note="predictions are put together on the host",
)

composite(
    "calibration.CalibratedClassifierCV compose.TransformedTargetRegressor "
    "ensemble.AdaBoostClassifier ensemble.AdaBoostRegressor ensemble.BaggingClassifier "
    "ensemble.BaggingRegressor ensemble.StackingClassifier ensemble.StackingRegressor "
    "feature_selection.RFE feature_selection.RFECV feature_selection.SelectFromModel "
    "feature_selection.SequentialFeatureSelector frozen.FrozenEstimator impute.IterativeImputer "
    "linear_model.RANSACRegressor model_selection.FixedThresholdClassifier "
    "model_selection.TunedThresholdClassifierCV multiclass.OneVsOneClassifier "
    "multiclass.OneVsRestClassifier multiclass.OutputCodeClassifier multioutput.ClassifierChain "
    "multioutput.MultiOutputClassifier multioutput.MultiOutputRegressor "
    "multioutput.RegressorChain semi_supervised.SelfTrainingClassifier",
    carries=False,
    note="each part takes the data to the device itself",
)


class _ColumnTransformer:
    """What `ColumnTransformer` has besides: parts that give tensors stand side by side."""

    def _hstack(self: Any, Xs: Any, *, n_samples: int) -> Any:
        if not any(isinstance(X, torch.Tensor) for X in Xs):
            return super()._hstack(Xs, n_samples=n_samples)  # type: ignore[misc]
        if self.sparse_output_ or any(not _is_numeric(X) for X in Xs):
            Xs = [_crossings.to_host(X) if isinstance(X, torch.Tensor) else X for X in Xs]
            return super()._hstack(Xs, n_samples=n_samples)  # type: ignore[misc]
        device = next(X.device for X in Xs if isinstance(X, torch.Tensor))
        parts = [_tensor(X, device) for X in Xs]
        kind = parts[0].dtype
        for part in parts[1:]:
            kind = torch.promote_types(kind, part.dtype)
        return torch.cat([part.to(kind) for part in parts], dim=1)


def _is_numeric(X: Any) -> bool:
    if isinstance(X, torch.Tensor) or sparse.issparse(X):
        return True
    return np.asarray(X).dtype.kind in "biuf"


def _tensor(X: Any, device: torch.device) -> torch.Tensor:
    if isinstance(X, torch.Tensor):
        return X
    return _crossings.to_device(X.toarray() if sparse.issparse(X) else np.asarray(X), device)


composite("compose.ColumnTransformer", fit="tensor", later="tensor", mixin=_ColumnTransformer)
