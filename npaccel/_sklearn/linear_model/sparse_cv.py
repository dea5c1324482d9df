"""``LassoCV`` and ``ElasticNetCV``: the products of folds' columns, and errors, on the device.

The descents are scikit-learn's, as of ``Lasso``: one path over all penalties for each fold.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import torch
from sklearn import linear_model
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_scalar, column_or_1d

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device, through_host
from npaccel._sklearn.kernels import linalg
from npaccel._sklearn.linear_model.sparse import ElasticNet, Lasso, Sparse, paths, products

_REFUSED = (
    "sparse matrices; more columns than rows of a fold; `precompute` as a matrix; splitters of the "
    "user's; `verbose`"
)


class _ByFolds(Sparse):
    """Base of the two."""

    def fit(  # type: ignore[override]
        self: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> Any:
        each: dict[str, Any] = {"dtype": FLOATS, "ensure_2d": True}
        X, y = self._validated(X, y, validate_separately=(each, {**each, "ensure_2d": False}))
        y = self._npaccel_target(X, y)
        weights = None if isinstance(sample_weight, numbers.Number) else sample_weight
        weights = self._weights(weights, X)
        ratios: Any = np.atleast_1d(self.l1_ratio) if hasattr(self, "l1_ratio") else [1]
        alphas = self._npaccel_alphas(X, y, weights, ratios)
        errors = self._npaccel_errors(X, y, weights, ratios, alphas)
        mean = errors.mean(axis=1)
        # The first of those that are equally good, as scikit-learn goes through them.
        ratio = int(np.argmin(mean.min(axis=1)))
        alpha = alphas[ratio][np.argmin(mean[ratio])]
        self.mse_path_ = self._moved(np.squeeze(np.moveaxis(errors, 2, 1)))
        if hasattr(self, "l1_ratio"):
            self.l1_ratio_ = ratios[ratio]
        self.alpha_ = alpha
        several = isinstance(self.alphas, numbers.Integral) and len(ratios) > 1
        self.alphas_ = self._moved(np.asarray(alphas if several else alphas[0]))
        self._npaccel_refit(X, y, weights, alpha, ratios[ratio])
        return self

    def _npaccel_target(self: Any, X: torch.Tensor, y: Any) -> torch.Tensor:
        """Return y on the device, a vector."""
        if len(y) != len(X):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[len(X), len(y)]}"
            )
        if y.ndim > 1 and y.shape[1] > 1:
            raise ValueError(f"For multi-task outputs, use MultiTask{type(self).__name__}")
        return self._moved(column_or_1d(y, warn=True))  # type: ignore[no-any-return]

    def _npaccel_alphas(
        self: Any, X: torch.Tensor, y: torch.Tensor, weights: Any, ratios: Any
    ) -> list[Any]:
        """Return the penalties of each ratio, the largest first."""
        if not isinstance(self.alphas, numbers.Integral):
            for n, alpha in enumerate(self.alphas):
                check_scalar(
                    alpha,
                    f"alphas[{n}]",
                    target_type=numbers.Real,
                    min_val=0.0,
                    include_boundaries="left",
                )
            return [np.sort(self.alphas)[::-1]] * len(ratios)
        _, mixed, *_ = products(X, y[:, None], weights, self.fit_intercept)
        most = mixed.max().clamp(min=0) if self.positive else mixed.abs().max()
        total: Any = len(X)
        if weights is not None:
            total = transfers.number(weights.sum(dtype=torch.float64))
        dtype = common.numpy_dtype(torch.promote_types(X.dtype, y.dtype)).type
        largest = dtype(transfers.number(most))
        return [_grid(largest, total, ratio, self.eps, int(self.alphas)) for ratio in ratios]

    def _npaccel_errors(
        self: Any, X: torch.Tensor, y: torch.Tensor, weights: Any, ratios: Any, alphas: Any
    ) -> Any:
        """Return the mean squared errors by ratio, fold and penalty."""
        rows = np.broadcast_to(np.zeros(1), X.shape)  # a splitter asks how many there are
        splits = check_cv(self.cv).split(rows, transfers.to_host(y))
        found: list[list[torch.Tensor]] = [[] for _ in ratios]
        for fold in splits:
            train, test = (self._moved(_numbers_of(part)) for part in fold)
            some = None if weights is None else weights[train] * (len(train) / weights[train].sum())
            made = products(X[train], y[train][:, None], some, self.fit_intercept)
            inner, mixed, square = (transfers.to_host(part) for part in made[:3])
            for n, ratio in enumerate(ratios):
                with common.on_host(self):
                    path, *_ = paths(
                        self, len(train), inner, mixed[:, 0], square, alphas[n], float(ratio)
                    )
                part = None if weights is None else weights[test]
                given = X[test], y[test], part, self._moved(path).double(), *made[3:]
                found[n].append(_mean_squares(*given))
        wide = torch.promote_types(X.dtype, y.dtype)
        return transfers.to_host(torch.stack([torch.stack(one) for one in found]).to(wide))

    def _npaccel_refit(
        self: Any, X: torch.Tensor, y: torch.Tensor, weights: Any, alpha: Any, ratio: Any
    ) -> None:
        """Take what a fit of all rows with the best penalty gives."""
        kind = ElasticNet if hasattr(self, "l1_ratio") else Lasso
        names = kind._parameters_of() & self._parameters_of()
        model = kind(**{name: getattr(self, name) for name in names})
        model.set_params(alpha=alpha, precompute=False)
        if kind is ElasticNet:
            model.set_params(l1_ratio=ratio)
        model.fit(X, y, weights)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        self.dual_gap_, self.n_iter_ = model.dual_gap_, model.n_iter_

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        if why or method != "fit":
            return why
        if set(more) - {"sample_weight"}:
            return "parameters of a splitter"
        if hasattr(self, "n_alphas"):
            return "`n_alphas` is read by scikit-learn before 1.9 alone"
        kind = type(self.cv)
        known = kind in (type(None), int, list, tuple) or kind.__module__.startswith("sklearn.")
        if not known:
            return "`cv` is the user's"
        if self.selection == "random" and isinstance(self.random_state, np.random.RandomState):
            return "each path draws from the same random numbers"
        return "`verbose` prints how scikit-learn's own code goes on" if self.verbose else ""


def _grid(largest: Any, total: Any, ratio: Any, eps: float, count: int) -> Any:
    """Return penalties down from the one at which all coefficients are zero."""
    if ratio == 0:
        raise ValueError(
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid "
            "by providing your estimator with the appropriate `alphas=` argument."
        )
    first = largest / (total * ratio)
    resolution = np.finfo(np.float64).resolution
    if first <= resolution:
        return np.full(count, resolution)
    return np.geomspace(first, first * eps, num=count)


def _numbers_of(part: Any) -> Any:
    """Return rows as numbers."""
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == bool else part


def _mean_squares(
    X: torch.Tensor, y: torch.Tensor, weights: Any, path: Any, x_mean: Any, y_mean: Any
) -> torch.Tensor:
    """Return the mean squared error of each penalty's coefficients."""
    intercepts = y_mean - x_mean @ path
    total = path.new_zeros(path.shape[1])
    size = len(linalg.tiles(X)[0])
    shares: Any = [None] * len(X) if weights is None else torch.split(weights, size)
    for rows, target, some in zip(torch.split(X, size), torch.split(y, size), shares, strict=False):
        squares = (rows.double() @ path - target.double()[:, None] + intercepts).square_()
        total += squares.sum(dim=0) if some is None else some.double() @ squares
    return total / (len(X) if weights is None else weights.sum(dtype=torch.float64))


@on_device("linear_model.LassoCV", refused=_REFUSED, tolerance=1e-6)
class LassoCV(_ByFolds, Accelerated, linear_model.LassoCV):  # type: ignore[misc]
    __doc__ = linear_model.LassoCV.__doc__


@on_device("linear_model.ElasticNetCV", refused=_REFUSED, tolerance=1e-6)
class ElasticNetCV(_ByFolds, Accelerated, linear_model.ElasticNetCV):  # type: ignore[misc]
    __doc__ = linear_model.ElasticNetCV.__doc__


through_host(
    "linear_model.MultiTaskElasticNet linear_model.MultiTaskElasticNetCV "
    "linear_model.MultiTaskLasso linear_model.MultiTaskLassoCV",
    "scikit-learn's descent over several targets takes the data, not products of its columns",
)
through_host(
    "linear_model.LogisticRegressionCV",
    "each fit begins where the one before ended; `GridSearchCV` of `LogisticRegression` is on the "
    "device",
)
