"""``SVC``, ``NuSVC``, ``SVR``, ``NuSVR`` and ``OneClassSVM`` on the device.

Their problems are set up as libsvm does and solved with its steps (`_smo`); the order of
classes and of support vectors is libsvm's, too.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import torch
from sklearn import svm
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d

from npaccel._sklearn.dispatch import common, transfers, validation
from npaccel._sklearn.dispatch.estimator import IS_SMALL, Accelerated, shape_of
from npaccel._sklearn.dispatch.table import on_device
from npaccel._sklearn.kernels.tiles import in_threads, tiles
from npaccel._sklearn.metrics import _pairwise
from npaccel._sklearn.svm import _smo
from npaccel._sklearn.svm._smo import Problems, Solution

#: Maximum number of kernels of two rows for which libsvm is as fast on a CPU.
_FEW = 1 << 13
#: Whether scikit-learn warns of `probability` (1.9), and what it says.
_IS_DEPRECATED = svm.SVC().probability == "deprecated"
_DEPRECATION = (
    "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. "
    "Use `CalibratedClassifierCV(SVC(), ensemble=False)` instead of `SVC(probability=True)`"
)
_REFUSED = "sparse matrices; kernels that are functions"
_NOTE = (
    "libsvm's steps, with the kernel in 32 bits as there; what differs is the rounding of the "
    "kernel, which can part two runs that are both within `tol`; fits stay with libsvm on a CPU"
)
_Base: Any = object


class _Machine(_Base):  # type: ignore[misc]
    """Base of the five."""

    _on_host = ("classes_", "feature_names_in_", "class_weight_", "n_iter_")

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why: str = super()._unsupported(method, X, y, **more)
        if why:
            return why
        if callable(self.kernel):
            return "`kernel` is a function"
        if "proba" in method:
            return "probabilities are those of libsvm's own cross-validation"
        if "fit" in method:
            if getattr(self, "probability", False) not in (False, "deprecated"):
                return "`probability` asks for a cross-validation by libsvm's own random numbers"
            return "`verbose` prints what libsvm does" if self.verbose else ""
        return "it was fitted with a sparse matrix" if getattr(self, "_sparse", False) else ""

    def _faster_on_host(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        if "fit" in method:
            return common.AS_FAST
        rows = (*shape_of(X), 1)[0]
        return IS_SMALL if rows * len(vars(self).get("support_", ())) <= _FEW else ""

    # -- Fit ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        given = X, y
        X, y = self._validated(X, y, dtype=np.float64)
        return self._npaccel_fit(X, self._npaccel_targets(y), given, sample_weight)

    def _npaccel_fit(self, X: torch.Tensor, y: Any, given: Any, sample_weight: Any) -> Any:
        """Fit checked data; what can't be fitted is left to scikit-learn, for its errors."""
        weights = _weights(sample_weight, len(X))
        shape, found = tuple(X.shape), False
        if self._npaccel_solvable(X, y, weights):
            self._gamma = self._npaccel_gamma(X)
            kept = weights > 0
            if not kept.all():
                chosen = np.flatnonzero(kept)
                X, weights = X[self._moved(chosen)], weights[kept]
                y = y[kept] if isinstance(y, np.ndarray) else y[self._moved(chosen)]
            found = self._npaccel_solve(X, y, weights)
        if not found:
            return common.by_scikit_learn(self, "fit", *given, sample_weight)
        asked = getattr(self, "probability", None)
        if _IS_DEPRECATED and self._impl.endswith("svc") and asked is False:
            warnings.warn(_DEPRECATION, FutureWarning, stacklevel=4)
        # scikit-learn draws a seed for libsvm.
        check_random_state(self.random_state).randint(np.iinfo("i").max)
        self._sparse, self.shape_fit_ = False, shape
        self._effective_probability = False
        self._probA = self._probB = np.empty(0)
        self._warn_from_fit_status()
        return self

    def _npaccel_targets(self, y: Any) -> Any:
        y = column_or_1d(y, warn=True)
        if not isinstance(y, torch.Tensor):
            y = y.astype(np.float64, copy=False)
        return self._moved(y).double()

    def _npaccel_solvable(self, X: torch.Tensor, y: Any, weights: Any) -> bool:
        kept = weights > 0 if len(weights) == len(X) else np.zeros(1, bool)
        if self.kernel == "precomputed" and not (X.shape[0] == X.shape[1] and kept.all()):
            return False
        return bool(kept.any())

    def _npaccel_gamma(self, X: torch.Tensor) -> float:
        if self.kernel == "precomputed":
            return 0.0
        if not isinstance(self.gamma, str):
            return self.gamma  # type: ignore[no-any-return]
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        spread = transfers.number(torch.var(X, correction=0))
        return 1.0 / (X.shape[1] * spread) if spread != 0 else 1.0

    def _npaccel_solution(self, X: torch.Tensor, problems: Problems) -> Solution | None:
        source = _smo.Kernel(X, self.kernel, self._gamma, self.degree, self.coef0)
        if not source.fits():
            return None
        found = _smo.solved(problems, source, self.tol, self.max_iter, self.shrinking)
        self.fit_status_ = int(found.stopped)
        self._num_iter = np.array(found.steps, np.intc)
        return found

    def _npaccel_set(self, X: Any, coefs: Any, support: Any, rho: Any, flips: bool) -> bool:
        """Set what was learnt; return whether it's finite."""
        finite = torch.isfinite(coefs).all() & torch.isfinite(rho).all()
        if not transfers.number(finite):
            return False
        self.support_ = support.to(torch.int32)
        self.support_vectors_ = X.new_empty((0, 0)) if self.kernel == "precomputed" else X[support]
        coefs = coefs.contiguous()
        self._dual_coef_, self._intercept_ = coefs, -rho
        self.dual_coef_ = -coefs if flips else coefs
        self.intercept_ = rho if flips else self._intercept_.clone()
        return True

    # -- Results -----------------------------------------------------------------------------

    def _npaccel_decisions(self, X: Any) -> torch.Tensor:
        """Return libsvm's decision function of each problem for each row."""
        check_is_fitted(self)
        X = self._validated(X, reset=False, dtype=np.float64)
        vectors, coefs = self.support_vectors_, self._dual_coef_
        counts = vars(self)["_n_support"]
        own = counts if self._impl.endswith("svc") else counts[:1]
        if vectors.numel() and own.sum() != len(vectors):
            kind = type(self).__name__
            raise ValueError(f"The internal representation of {kind} was altered")
        sizes = own.tolist()
        if self.kernel == "linear":
            return X @ _primal(coefs, vectors, sizes).T + self._intercept_
        if self.kernel == "precomputed":
            vectors = self.support_.long()
        elif self.kernel == "rbf" and len(vectors):
            middle = vectors.mean(dim=0)
            X, vectors = X - middle, vectors - middle
        found = X.new_empty((len(X), len(self._intercept_)))

        def tile(rows: slice) -> None:
            if self.kernel == "precomputed":
                table = X[rows][:, vectors]
            else:
                table = _pairwise.products(
                    X[rows], vectors, self.kernel, self._gamma, self.degree, self.coef0
                )
            found[rows] = _primal(coefs, table.T, sizes).T

        in_threads(tile, tiles(X, coefs.shape[1]), X.device)
        return found.add_(self._intercept_)

    @property
    def coef_(self) -> Any:
        """The weights of the features, where the kernel is linear."""
        if self.kernel != "linear" or not isinstance(self.dual_coef_, torch.Tensor):
            return super().coef_
        return _primal(self.dual_coef_, self.support_vectors_, vars(self)["_n_support"].tolist())


def _weights(sample_weight: Any, count: int) -> Any:
    """Return the weights of rows on the host; none if they don't fit."""
    if sample_weight is None:
        return np.ones(count)
    if isinstance(sample_weight, torch.Tensor):
        sample_weight = transfers.to_host(sample_weight.double())
    found = np.asarray(sample_weight, dtype=np.float64)
    if found.shape == (0,):
        return np.ones(count)
    return found if found.shape == (count,) else np.empty(0)


def _filled(costs: Any, total: float) -> Any:
    """Return variables of which the first ones are at their bounds, so that they add up."""
    before = np.subtract.accumulate(np.concatenate([[total], costs]))[:-1]
    return np.clip(before, 0.0, costs)


def _share(costs: Any, nu: float) -> float:
    """Return the part nu of the sum of the bounds, added up as libsvm does."""
    return float(np.add.accumulate(nu * costs)[-1])


def _primal(coefs: torch.Tensor, vectors: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    """Return for each problem the sum of its support vectors, each with its coefficient.

    Parameters
    ----------
    coefs : torch.Tensor
        libsvm's: one row less than there are classes.
    vectors : torch.Tensor
        A row for each support vector.
    sizes : list of int
        How many support vectors each class has; not read where there is but one problem.
    """
    count = len(coefs) + 1
    if count == 2:
        return coefs @ vectors
    parts = [c @ v for c, v in zip(coefs.split(sizes, 1), vectors.split(sizes), strict=True)]
    stacked = torch.stack(parts)
    i, j = torch.triu_indices(count, count, 1, device=coefs.device)
    found: torch.Tensor = stacked[i, j - 1] + stacked[j, i]
    return found


# -- Classes ------------------------------------------------------------------------------------


class _Classifier(_Machine):
    def _npaccel_targets(self, y: Any) -> Any:
        """Set the classes and their weights, and return the codes on the host."""
        self.classes_, codes = validation.encoded(y)
        codes = transfers.to_host(codes) if isinstance(codes, torch.Tensor) else codes
        labels = self.classes_[codes]
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=self.classes_, y=labels
        )
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )
        return codes

    def _npaccel_solvable(self, X: torch.Tensor, y: Any, weights: Any) -> bool:
        if not super()._npaccel_solvable(X, y, weights):
            return False
        count = len(self.classes_)
        if (np.bincount(y[weights > 0], minlength=count) == 0).any():
            return False
        if self._impl == "c_svc":
            return True
        sums = np.sort(np.bincount(y, weights, count))
        # Of no pair the smaller class may be too small.
        return all(self.nu * (a + b) / 2 <= a for a, b in itertools.combinations(sums, 2))

    def _npaccel_solve(self, X: torch.Tensor, y: Any, weights: Any) -> bool:
        order = np.argsort(y, kind="stable")
        sizes = np.bincount(y, minlength=len(self.classes_))
        members = np.split(order, np.cumsum(sizes)[:-1])
        rows, signs, slots = _pairs(members)
        costs, start = self._npaccel_bounds(rows, signs, y, weights)
        places, y_, cost, first, slot = map(self._moved, (rows, signs, costs, start, slots))
        linear = torch.full_like(y_, -1.0 if self._impl == "c_svc" else 0.0)
        problems = Problems(places, y_, cost, linear, first, self._impl == "nu_svc")
        found = self._npaccel_solution(X, problems)
        if found is None:
            return False
        signed = found.values / found.scale[:, None]
        coefs = X.new_zeros((len(sizes) - 1, len(X)))
        there = y_ != 0
        coefs[slot[there], places[there]] = signed[there]
        ordered = self._moved(order)
        used = (coefs != 0).any(dim=0)[ordered]
        counts = torch.stack([part.sum() for part in used.split(sizes.tolist())])
        self._n_support = np.array(transfers.numbers(counts), np.int32)
        support = ordered[used]
        self.n_iter_ = self._num_iter
        rho = found.rho / found.scale
        return self._npaccel_set(X, coefs[:, support], support, rho, len(sizes) == 2)

    def _npaccel_bounds(self, rows: Any, signs: Any, y: Any, weights: Any) -> Any:
        """Return the variables' upper bounds, and what they are at first."""
        there = signs != 0
        if self._impl == "c_svc":
            costs = weights * (self.C * self.class_weight_)[y]
            return np.where(there, costs[rows], 0.0), np.zeros_like(signs)
        costs, start = np.where(there, weights[rows], 0.0), np.zeros_like(signs)
        for own, sign, first in zip(costs, signs, start, strict=True):
            half = _share(own[sign != 0], self.nu) / 2
            for which in (sign > 0, sign < 0):
                first[which] = _filled(own[which], half)
        return costs, start

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        one_by_one = self.decision_function_shape == "ovo"
        if self.break_ties and one_by_one:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            return self._labels(torch.argmax(self.decision_function(X), dim=1))
        decisions = self._npaccel_decisions(X)
        if len(self.classes_) == 2:
            return self._labels((decisions[:, 0] <= 0).long())
        i, j = self._npaccel_duels(decisions)
        return self._labels(torch.argmax(self._npaccel_votes(torch.where(decisions > 0, i, j)), 1))

    def decision_function(self, X: Any) -> Any:
        decisions = self._npaccel_decisions(X)
        if len(self.classes_) == 2:
            return -decisions[:, 0]
        if self.decision_function_shape == "ovo":
            return decisions
        i, j = self._npaccel_duels(decisions)
        votes = self._npaccel_votes(torch.where(decisions < 0, j, i))
        numbers = torch.arange(len(self.classes_), device=i.device)
        signs = (i[:, None] == numbers).double() - (j[:, None] == numbers).double()
        sums = decisions @ signs
        return votes + sums / (3 * (sums.abs() + 1))

    def _npaccel_duels(self, decisions: torch.Tensor) -> Any:
        """Return the two classes of each problem."""
        count = len(self.classes_)
        return torch.triu_indices(count, count, 1, device=decisions.device)

    def _npaccel_votes(self, winners: torch.Tensor) -> torch.Tensor:
        """Return for each row how many problems each class has won."""
        found = torch.zeros((len(winners), len(self.classes_)), device=winners.device).double()
        return found.scatter_add_(1, winners, torch.ones_like(winners, dtype=found.dtype))


def _pairs(members: list[Any]) -> Any:
    """Return the variables of the problem of each two classes.

    Returns
    -------
    rows : ndarray
        For each problem and variable the row that it stands for.
    signs : ndarray
        1 for the first of the two classes, -1 for the other, 0 where there is no variable.
    slots : ndarray
        The row of libsvm's coefficients that it goes to.
    """
    pairs = list(itertools.combinations(range(len(members)), 2))
    shape = len(pairs), max(len(members[i]) + len(members[j]) for i, j in pairs)
    rows, slots = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    signs = np.zeros(shape)
    for n, (i, j) in enumerate(pairs):
        first, end = len(members[i]), len(members[i]) + len(members[j])
        rows[n, :end] = np.concatenate([members[i], members[j]])
        signs[n, :first], signs[n, first:end] = 1.0, -1.0
        slots[n, :first], slots[n, first:end] = j - 1, i
    return rows, signs, slots


# -- Numbers ------------------------------------------------------------------------------------


class _Single(_Machine):
    """Parameters of one problem."""

    def _npaccel_keep(self, X: torch.Tensor, found: Solution | None, coefs: Any) -> bool:
        """Set what was learnt from a coefficient of each row."""
        if found is None:
            return False
        support = torch.nonzero(coefs)[:, 0]
        self._n_support = np.array([len(support)] * 2, np.int32)
        self.n_iter_ = found.steps[0]
        return self._npaccel_set(X, coefs[support][None], support, found.rho, False)


class _Regressor(_Single):
    def _npaccel_solve(self, X: torch.Tensor, y: Any, weights: Any) -> bool:
        bounds = weights * self.C
        is_nu = self._impl == "nu_svr"
        margin = 0.0 if is_nu else self.epsilon
        start = _filled(bounds, _share(bounds, self.nu) / 2) if is_nu else np.zeros_like(bounds)
        cost, first = self._moved(bounds), self._moved(start)
        rows = torch.arange(len(X), device=X.device)
        signs = torch.ones_like(y)
        # Each row has a variable for being above, and one for being below.
        parts = (rows, rows), (signs, -signs), (cost, cost), (margin - y, margin + y), (first,) * 2
        places, sign, bound, linear, begin = (torch.cat(part)[None] for part in parts)
        problems = Problems(places, sign, bound, linear, begin, is_nu)
        found = self._npaccel_solution(X, problems)
        above, below = (torch.zeros_like(y),) * 2
        if found is not None:
            above, below = found.values[0].split(len(X))
        return self._npaccel_keep(X, found, above + below)

    def predict(self, X: Any) -> Any:
        return self._npaccel_decisions(X)[:, 0]


# -- The estimators -----------------------------------------------------------------------------

_PROBABILITY = "`probability`, whose cross-validation takes libsvm's own random numbers"


@on_device("svm.SVC", refused=f"{_REFUSED}; {_PROBABILITY}", note=_NOTE)
class SVC(_Classifier, Accelerated, svm.SVC):  # type: ignore[misc]
    __doc__ = svm.SVC.__doc__


@on_device("svm.NuSVC", refused=f"{_REFUSED}; {_PROBABILITY}", note=_NOTE)
class NuSVC(_Classifier, Accelerated, svm.NuSVC):  # type: ignore[misc]
    __doc__ = svm.NuSVC.__doc__


@on_device("svm.SVR", refused=_REFUSED, note=_NOTE)
class SVR(_Regressor, Accelerated, svm.SVR):  # type: ignore[misc]
    __doc__ = svm.SVR.__doc__


@on_device("svm.NuSVR", refused=_REFUSED, note=_NOTE)
class NuSVR(_Regressor, Accelerated, svm.NuSVR):  # type: ignore[misc]
    __doc__ = svm.NuSVR.__doc__


@on_device("svm.OneClassSVM", refused=_REFUSED, note=_NOTE)
class OneClassSVM(_Single, Accelerated, svm.OneClassSVM):  # type: ignore[misc]
    __doc__ = svm.OneClassSVM.__doc__

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        given = X, y
        X = self._validated(X, dtype=np.float64)
        self._npaccel_fit(X, np.ones(len(X)), given, sample_weight)
        self.offset_ = -self._intercept_
        return self

    def _npaccel_solve(self, X: torch.Tensor, y: Any, weights: Any) -> bool:
        start = self._moved(_filled(weights, _share(weights, self.nu)))[None]
        rows = torch.arange(len(X), device=X.device)[None]
        ones, costs = torch.ones_like(start), self._moved(weights)[None]
        problems = Problems(rows, ones, costs, torch.zeros_like(start), start)
        found = self._npaccel_solution(X, problems)
        coefs = start[0] if found is None else found.values[0]
        return self._npaccel_keep(X, found, coefs)

    def decision_function(self, X: Any) -> Any:
        return self._npaccel_decisions(X)[:, 0]

    def score_samples(self, X: Any) -> Any:
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        return torch.where(self._npaccel_decisions(X)[:, 0] > 0, 1, -1)
