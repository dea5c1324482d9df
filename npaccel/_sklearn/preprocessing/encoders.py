"""Encoders of numeric columns on the device: ``OneHotEncoder`` and ``OrdinalEncoder``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn import preprocessing
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import Accelerated
from npaccel._sklearn.dispatch.table import on_device

_TORCH = {np.dtype(name): getattr(torch, name) for name in ("float64", "float32", "int64", "int32")}


def _categories(column: torch.Tensor) -> torch.Tensor:
    """Return the numbers of a column in order, each once, NaN too."""
    found = torch.unique(column)
    missing = torch.isnan(found)
    missing[1:] &= missing[:-1].clone()
    missing[:1] = False
    return found[~missing]


class _Encodes(common.HostOnCpu):
    """Base of the encoders: categories are few, and are NumPy's arrays as labels are."""

    _on_host = ("classes_", "feature_names_in_", "categories_")

    def fit(self: Any, X: Any, y: Any = None) -> Any:
        X = self._npaccel_checked(X, "fit")
        found = [_categories(column) for column in X.T]
        flat = transfers.to_host(torch.cat(found))
        parts = np.split(flat, np.cumsum([len(part) for part in found])[:-1])
        # The rest of the fit, and its errors, are of categories only.
        rows = max(map(len, parts))
        small = np.stack([np.resize(part, rows) for part in parts], axis=1)
        return common.by_scikit_learn(self, "fit", small)

    def _npaccel_checked(self: Any, X: Any, method: str) -> Any:
        try:
            return self._validated(
                X, reset=method == "fit", dtype=None, ensure_all_finite="allow-nan"
            )
        except ValueError:
            # scikit-learn's texts name no estimator here.
            return common.by_scikit_learn(self, method, X)

    def _npaccel_codes(self: Any, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the places of values in their categories, and whether they are there."""
        codes, known = [], []
        for column, categories in zip(X.T, self._npaccel_categories(X.device), strict=True):
            categories = categories.to(torch.promote_types(categories.dtype, column.dtype))
            column = column.to(categories.dtype).contiguous()
            whole = (
                categories.nan_to_num(nan=torch.inf) if column.is_floating_point() else categories
            )
            place = torch.searchsorted(whole, column).clamp(max=len(categories) - 1)
            if column.is_floating_point():
                place = torch.where(torch.isnan(column), len(categories) - 1, place)
            there = categories[place]
            codes.append(place)
            known.append((there == column) | (torch.isnan(there) & torch.isnan(column)))
        return torch.stack(codes, dim=1), torch.stack(known, dim=1)

    def _npaccel_categories(self: Any, device: torch.device) -> Any:
        def made(value: Any) -> list[torch.Tensor]:
            flat = transfers.to_device(np.concatenate(value), device)
            return list(torch.split(flat, [len(part) for part in value]))

        return common.kept(self, "categories_", device, made)

    def _npaccel_unknown(self: Any, known: torch.Tensor) -> list[int]:
        """Return the columns in which something isn't known."""
        return list(np.flatnonzero(transfers.numbers(~known.all(dim=0))))

    def _unsupported(self: Any, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)  # type: ignore[misc]
        if why:
            return why
        if not isinstance(X, torch.Tensor | np.ndarray):
            return "X isn't an array of numbers"
        if not isinstance(self.categories, str):
            return "`categories` are given"
        if self.min_frequency is not None or self.max_categories is not None:
            return "infrequent categories are counted by scikit-learn's own code"
        fitted = getattr(self, "categories_", ())
        if "fit" not in method and any(part.dtype.kind not in "biuf" for part in fitted):
            return "it was fitted with categories that aren't numbers"
        if np.dtype(self.dtype) not in _TORCH:
            return f"`dtype` is {np.dtype(self.dtype)}"
        return "categories are numbers or None" if method == "inverse_transform" else ""


@on_device(
    "preprocessing.OneHotEncoder",
    refused="sparse results (`sparse_output=True`); strings and tables; given `categories`; "
    "`min_frequency`; `max_categories`; `inverse_transform`",
    tolerance=0,
)
class OneHotEncoder(_Encodes, Accelerated, preprocessing.OneHotEncoder):  # type: ignore[misc]
    __doc__ = preprocessing.OneHotEncoder.__doc__

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        given = X
        X = self._npaccel_checked(X, "transform")
        codes, known = self._npaccel_codes(X)
        unknown = self._npaccel_unknown(known)
        if unknown and self.handle_unknown == "error":
            return common.by_scikit_learn(self, "transform", given)
        if unknown:
            self._npaccel_warn(unknown)
        found = []
        dropped = self._drop_idx_after_grouping
        for i, categories in enumerate(self.categories_):
            places = torch.arange(len(categories), device=X.device)
            if dropped is not None and dropped[i] is not None:
                places = places[places != int(dropped[i])]
            found.append((codes[:, i : i + 1] == places) & known[:, i : i + 1])
        return torch.cat(found, dim=1).to(_TORCH[np.dtype(self.dtype)])

    def _npaccel_warn(self, columns: list[int]) -> None:
        if self.handle_unknown == "warn":
            text = "the infrequent category."
        elif self.drop is not None:
            text = "all zeros"
        else:
            return
        if self.handle_unknown == "infrequent_if_exist":
            text = "the infrequent category."
        warnings.warn(
            f"Found unknown categories in columns {[int(i) for i in columns]} during transform. "
            f"These unknown categories will be encoded as {text}",
            UserWarning,
            stacklevel=2,
        )

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if self.sparse_output:
            return "the result is a sparse matrix; pass `sparse_output=False`"
        return super()._unsupported(method, X, y, **more)


@on_device(
    "preprocessing.OrdinalEncoder",
    refused="strings and tables; given `categories`; `min_frequency`; `max_categories`; "
    "`inverse_transform`",
    tolerance=0,
)
class OrdinalEncoder(_Encodes, Accelerated, preprocessing.OrdinalEncoder):  # type: ignore[misc]
    __doc__ = preprocessing.OrdinalEncoder.__doc__

    def transform(self, X: Any) -> Any:
        check_is_fitted(self, "categories_")
        given = X
        X = self._npaccel_checked(X, "transform")
        codes, known = self._npaccel_codes(X)
        found = codes.to(_TORCH[np.dtype(self.dtype)])
        for column, place in self._missing_indices.items():
            missing = codes[:, column] == place
            found[:, column] = torch.where(missing, self.encoded_missing_value, found[:, column])
        if self.handle_unknown == "use_encoded_value":
            return torch.where(known, found, self.unknown_value).to(found.dtype)
        if self._npaccel_unknown(known):
            return common.by_scikit_learn(self, "transform", given)
        return found
