"""``sklearn.metrics.roc_curve`` and ``roc_auc_score`` on tensors."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.metrics._routing import NotHere, metric, tensors


def _classes(y: torch.Tensor) -> torch.Tensor:
    if y.is_floating_point() and not bool((y == y.round()).all()):
        raise NotHere
    return torch.unique(y)


def _weights(sample_weight: Any, y: torch.Tensor) -> torch.Tensor:
    if sample_weight is None:
        return torch.ones(len(y), dtype=torch.float64, device=y.device)
    (found,) = tensors(torch.as_tensor(sample_weight, device=y.device))
    if found.shape != (len(y),):
        raise NotHere
    return found.double()


def _counts(
    positive: torch.Tensor, score: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the weights of false and of true positives above each score, and the scores."""
    score, order = torch.sort(score, descending=True, stable=True)
    weights, positive = weights[order], positive[order]
    true = torch.cumsum(torch.where(positive, weights, 0.0), 0)
    false = torch.cumsum(torch.where(positive, 0.0, weights), 0)
    last = torch.ones_like(positive)
    last[:-1] = score[1:] != score[:-1]
    return false[last], true[last], score[last]


def _area(positive: Any, score: Any, weights: Any) -> torch.Tensor:
    """Return the area under the curve (0 dimensions)."""
    false, true, _ = _counts(positive, score, weights)
    zero = false.new_zeros(1)
    area = torch.trapezoid(torch.cat([zero, true]), torch.cat([zero, false]))
    return area / (false[-1] * true[-1])


def _is_both(positive: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return whether both classes have some weight."""
    return (weights[positive] > 0).any() & (weights[~positive] > 0).any()


def _areas(positive: torch.Tensor, scores: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return the area for each column."""
    both = [_is_both(one, weights) for one in positive.T]
    if not transfers.number(torch.stack(both).all()):
        raise NotHere  # scikit-learn warns
    return torch.stack(
        [_area(one, score, weights) for one, score in zip(positive.T, scores.T, strict=True)]
    )


def _averaged(positive: Any, scores: Any, weights: Any, average: Any) -> Any:
    if average == "micro":
        many = weights[:, None].expand(positive.shape).reshape(-1)
        positive, scores = positive.reshape(-1, 1), scores.reshape(-1, 1)
        return float(transfers.number(_areas(positive, scores, many)[0]))
    areas = _areas(positive, scores, weights)
    if average is None:
        return areas
    if average == "weighted":
        sizes = weights @ positive.double()
        return float(transfers.number((areas * sizes).sum() / sizes.sum()))
    if average != "macro":
        raise NotHere
    return float(transfers.number(areas.mean()))


def _of_pairs(y: torch.Tensor, scores: torch.Tensor, classes: Any, average: Any) -> float:
    """Return the mean over pairs of classes (Hand and Till, 2001)."""
    if average not in ("macro", "weighted"):
        raise NotHere
    areas, sizes = [], []
    for a, b in itertools.combinations(range(len(classes)), 2):
        first = y == classes[a]
        both = first | (y == classes[b])
        weights = torch.ones_like(first[both], dtype=torch.float64)
        one = _area(first[both], scores[both, a], weights)
        other = _area(~first[both], scores[both, b], weights)
        areas.append((one + other) / 2)
        sizes.append(both.double().mean())
    parts, found = torch.stack(sizes), torch.stack(areas)
    mean = (found * parts).sum() / parts.sum() if average == "weighted" else found.mean()
    return float(transfers.number(mean))


@metric("metrics.roc_auc_score", refused="`max_fpr`; one class alone")
def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Any = "macro",
    sample_weight: Any = None,
    max_fpr: Any = None,
    multi_class: Any = "raise",
    labels: Any = None,
) -> Any:
    if max_fpr is not None and max_fpr != 1:
        raise NotHere
    y, scores = tensors(y_true, y_score)
    if len(y) != len(scores) or not len(y) or y.ndim > 2 or scores.ndim > 2:
        raise NotHere
    weights = _weights(sample_weight, y)
    if y.ndim == 2:
        if y.shape != scores.shape or len(_classes(y)) > 2 or y.shape[1] < 2:
            raise NotHere
        return _averaged(y == 1, scores, weights, average)
    classes = _classes(y)
    if len(classes) == 2 and scores.ndim == 1:
        return float(transfers.number(_areas((y == classes[1])[:, None], scores[:, None], weights)))
    if scores.ndim != 2 or scores.shape[1] < 3:
        raise NotHere
    return _of_classes(y, scores, classes, average, sample_weight, multi_class, labels, weights)


def _of_classes(
    y: Any,
    scores: Any,
    classes: Any,
    average: Any,
    sample_weight: Any,
    multi_class: Any,
    labels: Any,
    weights: Any,
) -> Any:
    """Return the score of several classes, each against the others or against each other."""
    sums = scores.sum(dim=1)
    close = bool(torch.isclose(sums, torch.ones_like(sums), rtol=1e-5, atol=1e-8).all())
    if labels is not None or len(classes) != scores.shape[1] or not close:
        raise NotHere
    if multi_class == "ovo" and sample_weight is None:
        return _of_pairs(y, scores, classes, average)
    if multi_class != "ovr":
        raise NotHere
    return _averaged(y[:, None] == classes, scores, weights, average)


@metric("metrics.roc_curve", refused="one class alone")
def roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = True,
) -> Any:
    y, score = tensors(y_true, y_score)
    if y.ndim != 1 or score.shape != y.shape or not len(y):
        raise NotHere
    classes, weights = _classes(y), _weights(sample_weight, y)
    if pos_label is None:
        if len(classes) != 2 or classes.tolist() not in ([0, 1], [-1, 1]):
            raise NotHere
        pos_label = 1
    positive = y == pos_label
    kept = weights != 0
    positive, score, weights = positive[kept], score[kept], weights[kept]
    if len(classes) > 2 or not transfers.number(_is_both(positive, weights)):
        raise NotHere
    false, true, thresholds = _counts(positive, score, weights)
    if drop_intermediate and len(false) > 2:
        corner = torch.ones_like(false, dtype=torch.bool)
        corner[1:-1] = (torch.diff(false, n=2) != 0) | (torch.diff(true, n=2) != 0)
        false, true, thresholds = false[corner], true[corner], thresholds[corner]
    zero = false.new_zeros(1)
    false, true = torch.cat([zero, false]), torch.cat([zero, true])
    floats = thresholds if thresholds.is_floating_point() else thresholds.double()
    start = torch.full((1,), torch.inf, dtype=floats.dtype, device=floats.device)
    return false / false[-1], true / true[-1], torch.cat([start, floats])
