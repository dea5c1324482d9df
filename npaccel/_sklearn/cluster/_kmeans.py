"""k-means: seeds, Lloyd's iterations and the sums of squares, on tensors in O(n) memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.kernels import fused_distances
from npaccel._sklearn.kernels.tiles import (
    in_threads,
    nearest,
    squared_distances,
    sums_of_columns,
    tiles,
    worth_compiling,
)
from npaccel._torch.inductor.fusion import nothing_stored_between

#: Share of the rows that may change their cluster before the sums are recomputed.
_MANY = 0.25
#: Number of rows that are taken at once where they are copied.
_CPU_PART = 1 << 12
_GPU_PART = 1 << 24
#: Number of rows whose nearest are found at once on a CPU. All parts have this
#: size, the last begins among the rows before: so one kernel does.
_TURNED_PART = 1 << 16


class Points:
    """The rows to cluster, as what finds the nearest centres takes them.

    Parameters
    ----------
    X : torch.Tensor
    clusters : int
    middle : torch.Tensor, optional
        What is taken away from each row.
    """

    def __init__(self, X: torch.Tensor, clusters: int, middle: torch.Tensor | None = None) -> None:
        self.count, self.features = X.shape
        self.dtype, self.device = X.dtype, X.device
        self.turned = fused_distances.suits(X) and worth_compiling(X, clusters)
        # Kernels read columns; where single rows are wanted those of the original are nearer.
        self._columns: Any = _transposed(X, middle) if self.turned else None
        self._rows, self._middle = X, middle
        if not self.turned and middle is not None:
            self._rows, self._middle = X - middle, None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, rows: Any) -> torch.Tensor:
        """Return some rows."""
        if isinstance(rows, torch.Tensor) and rows.ndim == 1:
            found = torch.index_select(self._rows, 0, rows)  # a sixth of an index's time
        else:
            found = self._rows[rows]
        return found if self._middle is None else found - self._middle

    def nearest(self, centers: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """Return for each row the number of the nearest centre, in `out` if that is given."""
        if not self.turned:
            return nearest(self._rows, centers)
        size = min(_TURNED_PART if self.device.type == "cpu" else self.count, self.count)
        found = self.labels() if out is None else out
        blocks, lengths = fused_distances.in_blocks(centers)
        with nothing_stored_between():
            for start in range(0, self.count, size):
                rows = slice(min(start, self.count - size), min(start + size, self.count))
                part = self._columns[:, rows]
                found[rows] = fused_distances.nearest(part, blocks, lengths, d=self.features)
        return found

    def labels(self) -> torch.Tensor:
        """Return memory for a number of each row."""
        return torch.empty(self.count, dtype=torch.int32, device=self.device)

    def potentials(self, candidates: Any, closest: Any, weights: Any) -> torch.Tensor:
        """Return for each candidate what the sum of distances would be with it.

        With the rounding of the rows' dtype, as float64.
        """
        if self.turned:
            count, d = candidates.shape
            found = fused_distances.potentials(
                self._columns, candidates, closest, weights, d=d, count=count
            )
        else:
            found = _potentials(self._rows, candidates, closest, weights)
        return found.to(self.dtype).double()  # type: ignore[no-any-return]

    def closer(self, center: torch.Tensor, closest: torch.Tensor) -> torch.Tensor:
        """Return the squared distance of each row from the nearest of the centres so far."""
        if self.turned:
            found: torch.Tensor = fused_distances.closer(
                self._columns, center[0], closest, d=self.features
            )
            return found
        return _closer(self._rows, center, closest)

    def changes(self, which: Any, weights: Any, old: Any, new: Any, clusters: int) -> torch.Tensor:
        """Return by how much the sums of clusters change when some rows do."""

        def of_part(part: torch.Tensor) -> torch.Tensor:
            table = self._wide(part, weights)
            return self._sums(table, new[part], clusters) - self._sums(table, old[part], clusters)

        return _total(in_threads(of_part, which.split(_part(which)), self.device))

    def inertia(self, centers: Any, labels: Any, weights: Any) -> torch.Tensor:
        """Return the sum of the squared distances of rows from their centres, in 64 bits."""
        if self.turned:
            found: torch.Tensor = fused_distances.inertia(
                self._columns, centers, labels, weights, d=self.features
            )
            return found
        return _inertia(self._rows, centers, labels, weights)

    def sums(self, labels: torch.Tensor, weights: Any, clusters: int) -> torch.Tensor:
        """Return the sum of the rows of each cluster in 64 bits."""

        def of_part(rows: slice) -> torch.Tensor:
            return self._sums(self._wide(rows, weights), labels[rows], clusters)

        return _total(in_threads(of_part, _parts(labels), self.device))

    def _wide(self, which: Any, weights: Any) -> torch.Tensor:
        """Return some rows times their weights in 64 bits."""
        rows = self[which].double()
        return rows if weights is None else rows * weights[which][:, None]

    def _sums(self, rows: torch.Tensor, labels: torch.Tensor, clusters: int) -> torch.Tensor:
        """Return the sum of some rows of each cluster."""
        many = clusters * self.features > torch.iinfo(labels.dtype).max
        labels = labels.long() if many else labels
        features = torch.arange(self.features, dtype=labels.dtype, device=self.device)
        bins = labels[:, None] * self.features + features
        found = torch.bincount(bins.view(-1), rows.reshape(-1), clusters * self.features)
        return found.view(clusters, self.features)


def points(X: Any, clusters: int) -> Points:
    """Return rows as `Points`."""
    return X if isinstance(X, Points) else Points(X, clusters)


def _transposed(X: torch.Tensor, middle: torch.Tensor | None) -> torch.Tensor:
    """Return columns, each contiguous, less their numbers in `middle`."""
    found = torch.empty((X.shape[1], len(X)), dtype=X.dtype, device=X.device)

    def transpose(rows: slice) -> None:
        if middle is None:
            found[:, rows] = X[rows].T
        else:
            torch.sub(X[rows].T, middle[:, None], out=found[:, rows])

    in_threads(transpose, tiles(X, X.shape[1]), X.device)
    return found


def means_of_columns(X: torch.Tensor) -> torch.Tensor:
    """Return the mean of each column, added up in 64 bits; no wide copy of all rows is made."""
    return (sums_of_columns(X, _part(X)) / len(X)).to(X.dtype)


def _total(parts: list[torch.Tensor]) -> torch.Tensor:
    """Return the sum of tables, which are added one after the other."""
    found = parts[0].clone()
    for part in parts[1:]:
        found += part
    return found


# -- Seeds --------------------------------------------------------------------------------------


def shares(weights: torch.Tensor | None, X: Any) -> np.ndarray[Any, Any]:
    """Return the probability of each row, on the host, where random numbers are drawn."""
    dtype = np.float32 if X.dtype == torch.float32 else np.float64
    on_host = np.ones(len(X), dtype) if weights is None else transfers.to_host(weights)
    found: np.ndarray[Any, Any] = on_host / on_host.sum()
    return found


class Batches:
    """Rows that are drawn with probabilities, some at a time.

    Parameters
    ----------
    X : torch.Tensor
    p : ndarray
        The probability of each row.
    random : numpy.random.RandomState
    size : int
    """

    def __init__(self, X: Any, p: Any, random: Any, size: int) -> None:
        self._rows, self._p, self._random, self._size = X, p, random, size

    def next(self) -> torch.Tensor:
        """Return the next rows."""
        which = self._random.choice(len(self._rows), self._size, p=self._p, replace=True)
        found: torch.Tensor = self._rows[transfers.to_device(which, self._rows.device)]
        return found


def batches(X: Any, weights: torch.Tensor | None, random: Any, size: int) -> Any:
    """Return what draws rows by their weights; rows that aren't a tensor have an own one."""
    if isinstance(X, torch.Tensor):
        return Batches(X, shares(weights, X), random, size)
    return X.batches(weights, random, size)


def plus_plus(X: Points, count: int, weights: torch.Tensor | None, random: Any) -> torch.Tensor:
    """Return rows far from each other (Arthur and Vassilvitskii, 2007; greedy, as scikit-learn's).

    Random numbers are drawn in scikit-learn's order: those of all steps at once.
    """
    trials = 2 + int(np.log(count))
    first = random.choice(len(X), p=shares(weights, X))
    drawn = transfers.to_device(random.uniform(size=(count - 1, trials)), X.device)
    picked = torch.empty(count, dtype=torch.int64, device=X.device)
    picked[0] = first
    closest = torch.full((len(X),), torch.inf, dtype=X.dtype, device=X.device)
    one = picked[:1]
    potential = X.potentials(X[one], closest, weights)
    closest = X.closer(X[one], closest)
    for step in range(1, count):
        weighted = closest if weights is None else closest * weights
        passed = _running_sum(weighted)
        found = torch.searchsorted(passed.double(), drawn[step - 1] * potential)
        candidates = found.clamp_(max=len(X) - 1)
        potentials = X.potentials(X[candidates], closest, weights)
        best = torch.argmin(potentials, dim=0, keepdim=True)
        potential, one = potentials[best], candidates[best]
        closest = X.closer(X[one], closest)
        picked[step] = one[0]
    return X[picked]


def _running_sum(values: torch.Tensor) -> torch.Tensor:
    """Return running sums with the rounding of NumPy's, where NumPy can have the memory."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.cumsum(values.numpy()))
    return torch.cumsum(values, 0)


def _potentials(X: Any, candidates: Any, closest: Any, weights: Any) -> torch.Tensor:
    """Return for each candidate what the sum of distances would be with it."""
    found = torch.zeros(len(candidates), dtype=torch.float64, device=X.device)
    for rows in tiles(X, 4 * len(candidates)):
        table = squared_distances(candidates, X[rows]).to(X.dtype)
        table = torch.minimum(closest[rows], table)
        if weights is not None:
            table = table * weights[rows]
        found += table.sum(dim=1, dtype=torch.float64)
    return found


def _closer(X: Any, center: Any, closest: Any) -> torch.Tensor:
    """Return the squared distance of each row from the nearest of the centres so far."""
    found = torch.empty_like(closest)
    for rows in tiles(X, 4):
        new = squared_distances(center, X[rows])[0].to(X.dtype)
        torch.minimum(closest[rows], new, out=found[rows])
    return found


# -- Lloyd's iterations -----------------------------------------------------------------------


def sizes(labels: torch.Tensor, weights: torch.Tensor | None, clusters: int) -> torch.Tensor:
    """Return the weight of each cluster, or how many rows it has, in 64 bits.

    Some rows at a time: `torch.bincount` makes 64 bits of each label.
    """

    def of_part(rows: slice) -> torch.Tensor:
        return torch.bincount(
            labels[rows], weights=None if weights is None else weights[rows], minlength=clusters
        )

    # There is one number for each row.
    parts = in_threads(of_part, _parts(labels, 8 * _part(labels)), labels.device)
    return _total(parts).double()


class Sums:
    """The sum of the rows of each cluster, in 64 bits, brought up to date by what changed.

    Parameters
    ----------
    X : Points
    weights : torch.Tensor or None
    clusters : int
    """

    def __init__(self, X: Points, weights: torch.Tensor | None, clusters: int) -> None:
        self.X, self.weights, self.clusters = X, weights, clusters
        self.sums = torch.zeros((clusters, X.features), dtype=torch.float64, device=X.device)
        self.wide = None if weights is None else weights.double()

    def weights_of_clusters(self, labels: torch.Tensor) -> torch.Tensor:
        """Return the weight of each cluster in 64 bits."""
        return sizes(labels, self.wide, self.clusters)

    def update(self, labels: torch.Tensor, before: torch.Tensor, changed: int) -> torch.Tensor:
        """Return the sums for new labels.

        Parameters
        ----------
        labels, before : torch.Tensor
        changed : int
            In how many places they differ.
        """
        if changed > _MANY * len(labels):
            self.sums = self.X.sums(labels, self.wide, self.clusters)
        else:
            which = torch.nonzero(labels != before)[:, 0]
            self.sums += self.X.changes(which, self.wide, before, labels, self.clusters)
        return self.sums


def _relocated(
    X: Any, weights: Any, centers: Any, sums: Any, mass: Any, labels: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Give each empty cluster a row that is far from its own centre."""
    empty = torch.nonzero(mass == 0)[:, 0]
    distances = torch.empty(len(X), dtype=X.dtype, device=X.device)
    for rows in _parts(X):
        away = X[rows] - centers[labels[rows]]
        distances[rows] = (away * away).sum(dim=1)
    if transfers.number(distances.max()) == 0:
        return sums, mass
    sums, mass = sums.clone(), mass.clone()
    # On the host: which rows these are, and in which order, is NumPy's business.
    far = np.argpartition(transfers.to_host(distances), -len(empty))
    chosen = far[: -len(empty) - 1 : -1].copy()
    for new, row in zip(empty, torch.from_numpy(chosen).to(X.device), strict=True):
        weight = mass.new_ones(()) if weights is None else weights[row].double()
        part = X[row].double() * weight
        sums[labels[row]] -= part
        sums[new] = part
        mass[new] = weight
        mass[labels[row]] -= weight
    return sums, mass


def _averages(sums: torch.Tensor, mass: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the centres; of a cluster that stays empty, what scikit-learn has there.

    That is the largest cluster's row as its loop over clusters finds it: before it was divided, if
    that cluster comes later.
    """
    there = mass > 0
    means = sums / torch.where(there, mass, 1.0)[:, None]
    largest = torch.argmax(mass)
    later = torch.arange(len(mass), device=mass.device) < largest
    stand_in = torch.where(later[:, None], sums[largest], means[largest])
    return torch.where(there[:, None], means, stand_in).to(dtype)


def lloyd(
    X: Points, weights: torch.Tensor | None, centers: torch.Tensor, limit: int, tol: float
) -> tuple[torch.Tensor, float, torch.Tensor, int]:
    """Run k-means from given centres.

    Parameters
    ----------
    X : Points
    weights : torch.Tensor or None
    centers : torch.Tensor
    limit : int
        How many iterations at most.
    tol : float
        It ends when the squared shifts of the centres sum up to no more.

    Returns
    -------
    labels : torch.Tensor
        int32.
    inertia : float
    centers : torch.Tensor
    iterations : int
    """
    sums = Sums(X, weights, len(centers))
    before, room = X.labels().fill_(-1), X.labels()
    strict = False
    iterations = 0
    while iterations < limit:
        iterations += 1
        labels = X.nearest(centers, room)
        mass = sums.weights_of_clusters(labels)
        moved = torch.count_nonzero(labels != before)  # a sum would make 64 bits of each
        changed, empty = transfers.numbers(moved, (mass == 0).sum())
        total = sums.update(labels, before, changed)
        if empty:
            total, mass = _relocated(X, weights, centers, total, mass, labels)
        new = _averages(total, mass, X.dtype)
        shift = ((new - centers) ** 2).sum()
        centers, before, room = new, labels, before
        if not changed:
            strict = True
            break
        if transfers.number(shift) <= tol:
            break
    if not strict:
        labels = X.nearest(centers, room)
    return labels, inertia(X, weights, centers, labels), centers, iterations


def _part(X: Any) -> int:
    return _CPU_PART if X.device.type == "cpu" else _GPU_PART


def _parts(X: Any, step: int | None = None) -> Iterator[slice]:
    step = step or _part(X)
    for start in range(0, len(X), step):
        yield slice(start, min(start + step, len(X)))


def inertia(X: Any, weights: Any, centers: Any, labels: Any) -> float:
    """Return the sum of the squared distances of rows from their centres."""
    return float(transfers.number(points(X, len(centers)).inertia(centers, labels, weights)))


def _inertia(X: Any, centers: Any, labels: Any, weights: Any) -> torch.Tensor:
    found = torch.zeros((), dtype=torch.float64, device=X.device)
    for rows in _parts(X):
        away = X[rows] - centers[labels[rows]]
        squares = torch.linalg.vecdot(away, away).double()
        found += (squares if weights is None else squares * weights[rows]).sum()
    return found


def same_clustering(one: torch.Tensor, other: torch.Tensor, clusters: int) -> bool:
    """Whether labels differ by nothing but the clusters' numbers."""
    one, other = one.long(), other.long()
    low = torch.full((clusters,), clusters, device=one.device)
    high = torch.full((clusters,), -1, device=one.device)
    low.scatter_reduce_(0, one, other, "amin")
    high.scatter_reduce_(0, one, other, "amax")
    return bool(transfers.number(((high < 0) | (low == high)).all()))
