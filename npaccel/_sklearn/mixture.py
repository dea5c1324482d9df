"""``sklearn.mixture.GaussianMixture`` on the device."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from sklearn import cluster, mixture
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from npaccel._sklearn.dispatch import common, transfers
from npaccel._sklearn.dispatch.estimator import FLOATS, Accelerated, class_of
from npaccel._sklearn.dispatch.table import on_device

#: Weights, means, covariances and the factors of their inverses.
Parameters = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]

_ILL = (
    "Fitting the mixture model failed because some components have ill-defined empirical "
    "covariance (for instance caused by singleton or collapsed samples). Try to decrease the "
    "number of components, increase reg_covar, or scale the input data."
)
_NARROW = " The numerical accuracy can also be improved by passing float64 data instead of float32."


def _covariances(
    X: torch.Tensor, shares: torch.Tensor, sizes: torch.Tensor, means: torch.Tensor, kind: str
) -> torch.Tensor:
    """Return the covariances of the components."""
    if kind == "full":
        found = []
        for share, size, mean in zip(shares.T, sizes, means, strict=True):
            apart = X - mean
            found.append((share * apart.T) @ apart / size)
        return torch.stack(found)
    if kind == "tied":
        return (X.T @ X - (sizes * means.T) @ means) / sizes.sum()
    squares = shares.T @ (X * X) / sizes[:, None] - means**2
    return squares if kind == "diag" else squares.mean(dim=1)


def _factors(covariances: torch.Tensor, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the factors of the inverses, and whether there are none."""
    if kind in ("diag", "spherical"):
        return 1.0 / torch.sqrt(covariances), (covariances <= 0).any()
    lower, info = torch.linalg.cholesky_ex(covariances)
    identity = torch.eye(covariances.shape[-1], dtype=lower.dtype, device=lower.device)
    found = torch.linalg.solve_triangular(lower, identity.expand_as(lower), upper=False).mT
    return found.contiguous(), (info != 0).any()


def _estimated(
    X: torch.Tensor, shares: torch.Tensor, kind: str, more: float
) -> tuple[Parameters, torch.Tensor]:
    """Return the parameters of given shares of rows, and whether there are none."""
    sizes = shares.sum(dim=0) + 10 * torch.finfo(X.dtype).eps
    means = shares.T @ X / sizes[:, None]
    covariances = _covariances(X, shares, sizes, means, kind)
    if kind in ("full", "tied"):
        covariances.diagonal(dim1=-2, dim2=-1).add_(more)
    else:
        covariances = covariances + more
    factors, failed = _factors(covariances, kind)
    return (sizes / sizes.sum(), means, covariances, factors), failed


def _logarithms(X: torch.Tensor, known: Parameters, kind: str) -> torch.Tensor:
    """Return the logarithms of the densities of rows in the components, with their weights."""
    weights, means, _, factors = known
    columns = X.shape[1]
    if kind in ("full", "tied"):
        each = factors if kind == "full" else factors.expand(len(means), -1, -1)
        squares = torch.stack(
            [
                ((X @ one - mean @ one) ** 2).sum(dim=1)
                for mean, one in zip(means, each, strict=True)
            ],
            dim=1,
        )
        sizes = torch.log(factors.diagonal(dim1=-2, dim2=-1)).sum(dim=-1)
    else:
        wide = factors if kind == "diag" else factors[:, None].expand(-1, columns)
        inverse = wide**2
        squares = (means**2 * inverse).sum(dim=1) - 2 * X @ (means * inverse).T + X**2 @ inverse.T
        sizes = torch.log(wide).sum(dim=1)
    return -0.5 * (columns * math.log(2 * math.pi) + squares) + sizes + torch.log(weights)


@on_device(
    "mixture.GaussianMixture",
    refused="`weights_init`, `means_init`, `precisions_init`; `init_params='k-means++'`; `verbose`",
    tolerance=1e-4,
)
class GaussianMixture(Accelerated, mixture.GaussianMixture):  # type: ignore[misc]
    __doc__ = mixture.GaussianMixture.__doc__
    lower_bound_: float

    def fit(self, X: Any, y: Any = None) -> Any:
        self.fit_predict(X, y)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        X = self._validated(X, dtype=FLOATS, ensure_min_samples=2)
        if len(X) < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {len(X)}"
            )
        begins = not (self.warm_start and hasattr(self, "converged_"))
        draws = check_random_state(self.random_state)
        best: tuple[Any, ...] | None = None
        for _ in range(self.n_init if begins else 1):
            known = self._npaccel_beginning(X, draws) if begins else self._npaccel_known()
            bound = -math.inf if begins else float(self.lower_bound_)
            found = self._npaccel_climbed(X, known, bound)
            if best is None or found[1] > best[1]:
                best = found
        assert best is not None
        known, self.lower_bound_, self.n_iter_, self.converged_, self.lower_bounds_ = best
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, "
                "or increase max_iter, tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.weights_, self.means_, self.covariances_, factors = known
        self.precisions_cholesky_ = factors
        matrices = self.covariance_type in ("full", "tied")
        self.precisions_ = factors @ factors.mT if matrices else factors**2
        return torch.argmax(_logarithms(X, known, self.covariance_type), dim=1)

    def _npaccel_known(self) -> Parameters:
        return self.weights_, self.means_, self.covariances_, self.precisions_cholesky_

    def _npaccel_beginning(self, X: torch.Tensor, draws: Any) -> Parameters:
        """Return the parameters to begin with, from the shares that scikit-learn begins with."""
        count = self.n_components
        if self.init_params == "random":
            shares = self._moved(draws.uniform(size=(len(X), count))).to(X.dtype)
            shares = shares / shares.sum(dim=1, keepdim=True)
        elif self.init_params == "kmeans":
            kind: Any = class_of(cluster.KMeans)
            clusters = kind(n_clusters=count, n_init=1, random_state=draws).fit(X)
            labels = torch.as_tensor(clusters.labels_, device=X.device).long()
            shares = torch.nn.functional.one_hot(labels, count).to(X.dtype)
        else:
            chosen = self._moved(draws.choice(len(X), size=count, replace=False))
            shares = torch.zeros((len(X), count), dtype=X.dtype, device=X.device)
            shares[chosen, torch.arange(count, device=X.device)] = 1
        known, failed = _estimated(X, shares, self.covariance_type, self.reg_covar)
        _check(failed, X)
        sizes = shares.sum(dim=0) + 10 * torch.finfo(X.dtype).eps
        return (sizes / len(X), *known[1:])

    def _npaccel_climbed(self, X: torch.Tensor, known: Parameters, bound: float) -> Any:
        """Return where expectation and maximisation end."""
        if self.max_iter == 0:
            return known, -math.inf, 0, False, []
        bounds = []
        converged = False
        steps = 0
        failed = torch.zeros((), dtype=torch.bool, device=X.device)
        while steps < self.max_iter and not converged:
            steps += 1
            weighted = _logarithms(X, known, self.covariance_type)
            total = torch.logsumexp(weighted, dim=1)
            shares = torch.exp(weighted - total[:, None])
            known, failed = _estimated(X, shares, self.covariance_type, self.reg_covar)
            before = bound
            bound, ill = transfers.numbers(total.mean().double(), failed.double())
            if ill:
                _check(failed, X)
            bounds.append(bound)
            converged = abs(bound - before) < self.tol
        return known, bound, steps, converged, bounds

    def _npaccel_logarithms(self, X: Any) -> torch.Tensor:
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        X = X.to(self.means_.dtype)
        width = self.n_components + X.shape[1]
        known = self._npaccel_known()
        return common.tiled(lambda part: _logarithms(part, known, self.covariance_type), X, width)

    def score_samples(self, X: Any) -> Any:
        return torch.logsumexp(self._npaccel_logarithms(X), dim=1)

    def score(self, X: Any, y: Any = None) -> Any:
        return float(transfers.number(self.score_samples(X).mean()))

    def predict(self, X: Any) -> Any:
        return torch.argmax(self._npaccel_logarithms(X), dim=1)

    def predict_proba(self, X: Any) -> Any:
        return torch.softmax(self._npaccel_logarithms(X), dim=1)

    def sample(self, n_samples: int = 1) -> Any:
        return common.by_scikit_learn(self, "sample", n_samples)

    def bic(self, X: Any) -> Any:
        return -2 * self.score(X) * len(X) + self._n_parameters() * math.log(len(X))

    def aic(self, X: Any) -> Any:
        return -2 * self.score(X) * len(X) + 2 * self._n_parameters()

    def _unsupported(self, method: str, X: Any, y: Any = None, **more: Any) -> str:
        why = super()._unsupported(method, X, y, **more)
        if why or "fit" not in method:
            return why
        given = (self.weights_init, self.means_init, self.precisions_init)
        if any(one is not None for one in given):
            return "where it begins is given"
        if self.init_params == "k-means++":
            return "`init_params='k-means++'`"
        return "`verbose` prints what scikit-learn's own code does" if self.verbose else ""


def _check(failed: torch.Tensor, X: torch.Tensor) -> None:
    if transfers.number(failed):
        raise ValueError(_ILL + (_NARROW if X.dtype == torch.float32 else ""))
