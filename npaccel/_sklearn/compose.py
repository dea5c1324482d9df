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

from npaccel._numpy.core import dtypes
from npaccel._sklearn.dispatch import call_stack, routes, transfers
from npaccel._sklearn.dispatch.table import composite

composite("pipeline.Pipeline", fit="tensor", later="tensor")
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


class _SideBySide:
    """Base of composites: parts that give tensors stand side by side as arrays would."""

    def _hstack(self: Any, Xs: Any, **more: Any) -> Any:
        if not any(isinstance(X, torch.Tensor) for X in Xs):
            return super()._hstack(Xs, **more)  # type: ignore[misc]
        # A union is sparse where a part is; a ColumnTransformer has decided on it.
        sparse_parts = any(sparse.issparse(X) for X in Xs)
        if (
            routes.gives_table(self)
            or getattr(self, "sparse_output_", sparse_parts)
            or not all(_is_numeric(X) and len(X.shape) == 2 for X in Xs)
        ):
            Xs = [transfers.to_host(X) if isinstance(X, torch.Tensor) else X for X in Xs]
            return super()._hstack(Xs, **more)  # type: ignore[misc]
        return torch.cat(_of_one_dtype(Xs), dim=1)


def _is_numeric(X: Any) -> bool:
    if isinstance(X, torch.Tensor) or sparse.issparse(X):
        return True
    return np.asarray(X).dtype.kind in "biuf"


def _of_one_dtype(Xs: Any) -> list[torch.Tensor]:
    """Return parts as tensors of the dtype of all: NumPy's for arrays, torch's for tensors."""
    frame = call_stack.current()
    assert frame is not None
    device = next(X.device for X in Xs if isinstance(X, torch.Tensor))
    parts = [_tensor(X, device) for X in Xs]
    if frame.given == "tensor":
        return parts
    dtype = np.result_type(*(dtypes.to_numpy(part.dtype) for part in parts))
    return [part.to(dtypes.to_torch(dtype)) for part in parts]


def _tensor(X: Any, device: torch.device) -> torch.Tensor:
    if isinstance(X, torch.Tensor):
        return X
    return transfers.to_device(X.toarray() if sparse.issparse(X) else np.asarray(X), device)


composite(
    "compose.ColumnTransformer pipeline.FeatureUnion",
    fit="tensor",
    later="tensor",
    mixin=_SideBySide,
)
