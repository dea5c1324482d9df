"""Calls of the binned statistics of `scipy.stats`."""

_EACH = ("mean", "median", "count", "sum", "std", "min", "max")

CALLS = {
    "stats.binned_statistic": [
        *(f"x, y, '{name}'" for name in _EACH),
        *(f"x, y, '{name}', 20" for name in ("median", "min", "std")),
        "x, xp.stack([y, w]), 'mean', 5",
        "x, xp.stack([y, w]), 'count', 5",
        "x, y, 'sum', [-1.0, 0.0, 0.5, 2.0]",
        "x, y, 'mean', sorted_x[::10]",
        "x, y, 'mean', 4, (-1, 1)",
        "integers, x, 'max', 5",
        "x, with_nan, 'max', 5",
        "x, with_nan, 'min', 5",
        "x, with_nan, 'mean', 5",
        "x, None, 'count'",
        "x, y, lambda v: float(v.sum())",
        "0 * x, y",
    ],
    "stats.binned_statistic_2d": [
        *(f"x, y, w, '{name}', 4" for name in _EACH),
        "x, y, w, 'sum', [3, 4], expand_binnumbers=True",
        "x, y, w, 'sum', [[-1.0, 0.0, 1.0], [-2.0, 2.0]]",
        "x, y, w, 'mean', 3, [[-1, 1], [-2, 2]]",
        "x, y, w, 'mean', sorted_x[::10]",
    ],
    "stats.binned_statistic_dd": [
        "points, points[:, 0], bins=3",
        "points, points[:, 0], 'median', bins=[2, 3, 4], expand_binnumbers=True",
        "points, points.T, 'std', bins=2",
        "points, None, 'count', bins=3",
        "points, points[:, 0], 'sum', bins=2, range=[(-1, 1), (-1, 1), (-2, 2)]",
    ],
}

ERRORS = {
    "stats.binned_statistic": [
        "with_nan, y",
        "x, y[:3]",
        "x, y, 'most'",
        "x, y, 'mean', 4, (1, -1)",
    ],
    "stats.binned_statistic_dd": ["points, points[:, 0], bins=[2, 3]"],
}
