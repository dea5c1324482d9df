"""``sklearn.preprocessing.KBinsDiscretizer`` on the device."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn import preprocessing
from sklearn.utils import resample
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import call_stack, common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated
from npaccel._sklearn.dispatch.table import on_device

_METHODS = ("linear", "inverted_cdf", "averaged_inverted_cdf")


def _places(rows: int, levels: Any, method: str) -> tuple[Any, Any, Any]:
    """Return between which of sorted values quantiles lie, and how far (Hyndman and Fan, 1996)."""
    if method == "linear":
        place = (rows - 1) * levels
    else:
        place = rows * levels - 1
    below = np.floor(place)
    part = place - below
    if method == "inverted_cdf":
        part = np.where(part > 0, 1.0, 0.0)
    elif method == "averaged_inverted_cdf":
        part = np.where(part > 0, 1.0, 0.5)
    outside = (place < 0) | (place >= rows - 1)
    low = np.clip(below, 0, rows - 1).astype(np.int64)
    high = np.where(outside, low, np.clip(below + 1, 0, rows - 1)).astype(np.int64)
    return low, high, part


@on_device(
    "preprocessing.KBinsDiscretizer",
    refused="`encode='onehot'`, which gives a sparse matrix; `strategy='kmeans'`; sample weights; "
    "a list as `n_bins`; rarer `quantile_method`; `inverse_transform` of one-hot codes",
    tolerance=1e-12,
)
class KBinsDiscretizer(  # type: ignore[misc]
    common.HostOnCpu, Accelerated, preprocessing.KBinsDiscretizer
):
    __doc__ = preprocessing.KBinsDiscretizer.__doc__
    _on_host = ("feature_names_in_", "bin_edges_", "n_bins_")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        X = self._validated(X, dtype="numeric")
        dtype = self.dtype if self.dtype in FLOATS else common.numpy_dtype(X.dtype)
        if self.subsample is not None and len(X) > self.subsample:
            chosen = resample(
                np.arange(len(X)),
                replace=True,
                n_samples=self.subsample,
                random_state=self.random_state,
            )
            X = X[self._moved(chosen)]
        edges, ends = self._npaccel_edges(X)
        counts = np.full(X.shape[1], self.n_bins)
        self.bin_edges_ = np.zeros(X.shape[1], dtype=object)
        for column in range(X.shape[1]):
            low, high = ends[:, column]
            found = edges[:, column] if edges is not None else None
            self.bin_edges_[column] = _edges_of(column, low, high, found, counts)
        self.n_bins_ = counts
        if self.encode != "ordinal":
            with call_stack.dispatching(False):
                self._encoder = preprocessing.OneHotEncoder(
                    categories=[np.arange(i) for i in counts], sparse_output=False, dtype=dtype
                ).fit(np.zeros((1, len(counts))))
        return self

    def _npaccel_edges(self, X: torch.Tensor) -> tuple[Any, Any]:
        """Return the quantiles of columns (None for equal widths), and their ends."""
        if self.strategy == "uniform":
            return None, transfers.to_host(torch.stack(torch.aminmax(X, dim=0)))
        ordered = torch.sort(X, dim=0).values
        levels = np.linspace(0, 100, self.n_bins + 1) / 100
        places = _places(len(X), levels, self.quantile_method)
        low, high, part = (torch.as_tensor(one, device=X.device) for one in places)
        first, last = ordered[low].double(), ordered[high].double()
        apart, part = last - first, part[:, None]
        found = torch.where(part >= 0.5, last - apart * (1 - part), first + apart * part)
        both = transfers.to_host(torch.cat([found, ordered[:1].double(), ordered[-1:].double()]))
        return both[:-2], both[-2:]

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        dtype = FLOATS if self.dtype is None else self.dtype
        X = self._validated(X, reset=False, dtype=dtype)
        inner = self._npaccel_inner(X.device)
        columns = X.T.to(torch.promote_types(X.dtype, inner.dtype)).contiguous()
        found = torch.searchsorted(inner.to(columns.dtype), columns, right=True).T
        if self.encode == "ordinal":
            return found.to(X.dtype)
        parts = [
            found[:, i : i + 1] == torch.arange(int(count), device=X.device)
            for i, count in enumerate(self.n_bins_)
        ]
        return torch.cat(parts, dim=1).to(X.dtype)

    def inverse_transform(self, X: Any) -> Any:
        check_is_fitted(self)
        X = common.checked(self, X, dtype=FLOATS)
        if X.shape[1] != len(self.n_bins_):
            return common.by_scikit_learn(self, "inverse_transform", X)
        centers = common.kept(self, "n_bins_", X.device, lambda _: self._npaccel_centers(X.device))
        return torch.gather(centers, 1, X.T.long()).T.to(X.dtype)

    def _npaccel_centers(self, device: torch.device) -> torch.Tensor:
        found = np.full((len(self.bin_edges_), max(map(len, self.bin_edges_)) - 1), np.nan)
        for row, edges in zip(found, self.bin_edges_, strict=True):
            row[: len(edges) - 1] = (edges[1:] + edges[:-1]) * 0.5
        return transfers.to_device(found, device)

    def _npaccel_inner(self, device: torch.device) -> torch.Tensor:
        """Return the edges between bins by column; those that a column hasn't are infinite."""

        def made(value: Any) -> torch.Tensor:
            found = np.full((len(value), max(1, max(map(len, value)) - 2)), np.inf)
            for row, edges in zip(found, value, strict=True):
                row[: len(edges) - 2] = edges[1:-1]
            return transfers.to_device(found, device)

        return common.kept(self, "bin_edges_", device, made)

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if why:
            return why
        if self.encode == "onehot":
            return "the result is a sparse matrix; pass `encode='onehot-dense'`"
        if self.encode != "ordinal" and method == "inverse_transform":
            return "one-hot codes are read by scikit-learn's encoder"
        if "fit" in method and more.get("sample_weight") is not None:
            return "`sample_weight` is given"
        if not isinstance(self.n_bins, int | np.integer):
            return "`n_bins` is a list"
        if self.strategy == "kmeans":
            return "`strategy='kmeans'` clusters each column"
        if self.strategy == "quantile" and self.quantile_method not in _METHODS:
            return f"`quantile_method={self.quantile_method!r}`"
        return ""


def _edges_of(column: int, low: Any, high: Any, found: Any, counts: Any) -> Any:
    """Return the edges of a column's bins, and set how many there are."""
    if low == high:
        warnings.warn(f"Feature {column} is constant and will be replaced with 0.", stacklevel=2)
        counts[column] = 1
        return np.array([-np.inf, np.inf])
    if found is None:
        return np.linspace(low, high, counts[column] + 1)
    found = np.asarray(found, dtype=np.float64)
    found = found[np.ediff1d(found, to_begin=np.inf) > 1e-8]
    if len(found) - 1 != counts[column]:
        warnings.warn(
            f"Bins whose width are too small (i.e., <= 1e-8) in feature {column} are removed. "
            "Consider decreasing the number of bins.",
            stacklevel=2,
        )
        counts[column] = len(found) - 1
    return found
