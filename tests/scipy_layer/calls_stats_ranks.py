"""Calls of functions of `scipy.stats` that rank, correlate and measure distances."""

from npaccel._scipy.dispatch.listing import scipy_since

_TWO = ["x, y", "tall, 2 * tall ** 2", "tall, tall ** 3, axis=1", "integers, x"]
_KEPT = ["tall, tall ** 2, axis=1, keepdims=True", "tall, tall ** 2, axis=None"]
_NAN = ["with_nan, x", "with_nan, x, nan_policy='omit'"]
_SIDES = ["x, y + x, alternative='less'", "x, y - x, alternative='greater'"]

CALLS = {
    "stats.brunnermunzel": [*_TWO, *_KEPT, *_NAN, *_SIDES, "x, y, distribution='normal'"],
    "stats.energy_distance": ["x, y", "x, integers", "x, y, w, unit", "x, points[:, 0]", "one, x"],
    "stats.ks_1samp": [
        "x, scipy.stats.norm.cdf",
        "unit, lambda t: t ** 2, alternative='less'",
        "unit, lambda t: t ** 2, (), 'greater'",
        "unit, lambda t: t ** 2, method='asymp'",
        "unit, lambda t: t ** 3, method='approx'",
        "tall, scipy.stats.norm.cdf, axis=1",
    ],
    "stats.ks_2samp": [
        "x, y",
        "x, y, method='asymp'",
        "x, 2 * w, 'less', 'asymp'",
        "x, unit, 'greater', 'asymp'",
        "integers, x, method='asymp'",
        "tall, 2 * tall, axis=1",
    ],
    "stats.kstest": [
        "x, 'norm'",
        "x, 'expon', (0.1, 2.0)",
        "x, y",
        "x, y, method='asymp'",
        "unit, lambda t: t",
    ],
    "stats.linregress": [
        *(*_TWO, "tall, tall ** 2, axis=1, keepdims=True", *_NAN, *_SIDES),
        *(["0 * x, y"] if scipy_since(1, 18) else []),
    ],
    "stats.mannwhitneyu": ["x, y", "tall, 2 * tall, axis=1"],
    "stats.pearsonr": [
        *_TWO,
        *_SIDES,
        "tall, tall ** 2, axis=None",
        "x[:2], y[:2]",
        "with_nan, x",
        "tall, tall[:, :1]",
        "x, 0 * x",
    ],
    "stats.pointbiserialr": ["integers > 4, x", "x, y", "with_nan, x", *_KEPT],
    "stats.rankdata": [
        "x",
        *(f"integers, '{name}'" for name in ("average", "min", "max", "dense", "ordinal")),
        "tall",
        "tall, axis=1",
        "counts, 'min', axis=0",
        "with_nan",
        "with_nan, nan_policy='omit'",
        "with_nan, 'min'",
        "with_nan, 'max', nan_policy='omit'",
        "special",
        "empty",
        "zero_d",
        "booleans, axis=-1",
    ],
    "stats.ranksums": [*_TWO, *_KEPT, *_NAN, *_SIDES],
    "stats.spearmanr": [
        "x, y",
        "integers, x",
        "tall",
        "tall, axis=1",
        "tall, 2 * tall",
        "x, y, alternative='less'",
        "tall, tall ** 3, axis=None",
        "with_nan, x",
        "with_nan, x, nan_policy='omit'",
        "tall[:, :2]",
        "x, 0 * x",
    ],
    "stats.spearmanrho": [*_TWO, *_KEPT, *_NAN, *_SIDES],
    "stats.tiecorrect": ["integers", "x", "one"],
    "stats.wasserstein_distance": ["x, y", "x, integers", "x, y, w, unit", "integers, integers"],
}

ERRORS = {
    "stats.pearsonr": ["x, y[:3]", "one, one", "x, y, alternative='more'", "x, y, axis=2", "x, z"],
    "stats.linregress": ["x, y[:3]", *([] if scipy_since(1, 18) else ["0 * x, y"])],
    "stats.rankdata": ["x, 'most'", "with_nan, nan_policy='raise'", "x, nan_policy='skip'"],
    "stats.spearmanr": ["cube", "x", "x, y[:4]", "tall, axis=2"],
    "stats.wasserstein_distance": ["empty, x", "x, y, w[:3]", "x, y, -w"],
    "stats.ks_2samp": ["x, y, method='some'", "x, y, 'more'"],
    "stats.ks_1samp": ["x, 'nothing'", "x, 'norm', alternative='more'"],
    "stats.brunnermunzel": ["x, y, distribution='f'"],
}

#: p-values of SciPy's own distributions, for a statistic that the host reads; NaN decides on the
#: dtype of ranks, or constant variables on the shape.
READS = {
    "stats.ks_1samp": CALLS["stats.ks_1samp"],
    "stats.ks_2samp": CALLS["stats.ks_2samp"],
    "stats.kstest": CALLS["stats.kstest"],
    "stats.rankdata": ["with_nan, 'min'", "with_nan, 'max', nan_policy='omit'"],
    "stats.spearmanr": ["tall", "tall, axis=1", "tall, 2 * tall"],
}
