"""Calls of functions of `scipy.stats` that compare means and variances."""

_NAN = ["with_nan, 0.1", "with_nan, 0.1, nan_policy='omit'"]
_TWO = ["x, y", "tall, 2 * tall", "tall, tall[:4] + 1", "x, with_nan", "integers, x"]
_PAIRS = ["x, y", "tall, 2 * tall", "x, with_nan", "integers, x", "x, y, nan_policy='omit'"]

CALLS = {
    "stats.combine_pvalues": [
        *(f"unit, '{name}'" for name in ("fisher", "pearson", "tippett", "stouffer")),
        "unit, 'mudholkar_george'",
        "unit, 'stouffer', w",
        "xp.abs(signed_unit).reshape((5, 10)), axis=1, keepdims=True",
        "xp.abs(with_nan) / 9",
        "unit, axis=None",
    ],
    "stats.f_oneway": [
        "x, y, w",
        "tall, 2 * tall, tall + 1, axis=1",
        "tall, tall[:4], axis=0",
        "x, y, w, equal_var=False",
        "tall, 2 * tall, axis=None, keepdims=True",
        "x, with_nan",
        "integers, integers + 2",
        "x * 0, x * 0 + 1",
        "x * 0, x * 0",
    ],
    "stats.levene": [
        "x, y, w",
        "x, 2 * y, center='mean'",
        "x, w, center='trimmed', proportiontocut=0.1",
        "tall, 2 * tall, axis=1",
        "tall, 2 * tall, axis=1, keepdims=True",
        "x, with_nan",
        "integers, integers * 2",
    ],
    "stats.ttest_1samp": [
        "x, 0.1",
        "tall, 0.1",
        "tall, tall[:1], axis=0",
        "tall, 0.5, axis=1, keepdims=True",
        "x, 0.1, alternative='less'",
        "x, 0.1, alternative='greater'",
        "integers, 4",
        "tall, 1.0, axis=None",
        *_NAN,
    ],
    "stats.ttest_ind": [
        *_TWO,
        "x, 2 * w, equal_var=False",
        "tall, 2 * tall, axis=1, keepdims=True, alternative='less'",
        "tall, 2 * tall, axis=None",
        "x, w, trim=0.1",
        "x, with_nan, nan_policy='omit'",
    ],
    "stats.ttest_ind_from_stats": [
        "x, w, 5, y, unit, 7",
        "x, w, 5, y, unit, 7, equal_var=False",
        "zero_d, 2.0, 10, 3.0, 1.0, 12, alternative='greater'",
    ],
    "stats.ttest_rel": [*_PAIRS, "tall, tall ** 2, axis=1, keepdims=True, alternative='less'"],
    "stats.boxcox": [
        "positive, 0.5",
        "positive, 0.0",
        "special, -1.0",
        "positive, x",
        "special, 2",
    ],
    "stats.yeojohnson": ["x, 0.5", "x, 0.0", "x, 2.0", "special, 1.5", "integers, 0.3", "empty, 1"],
    "stats.obrientransform": ["integers, integers + 1", "integers", "booleans[:, 0]"],
    "stats.trimboth": [
        "0 * x, 0.1",
        "xp.zeros((3, 4), dtype=xp.int64), 0.3, axis=1",
        "empty, 0.1",
        "one, 0.2, axis=None",
    ],
    "stats.trim1": [
        "0 * x, 0.1",
        "0 * tall, 0.1, 'left'",
        "xp.zeros((3, 4), dtype=xp.int64), 0.3, axis=None",
    ],
    "stats.cumfreq": ["x", "x, 7", "x, 5, (-1, 1)", "x, 6, None, w", "integers, 4", "image"],
    "stats.relfreq": ["x", "x, 7", "x, 5, (-1, 1)", "x, 6, None, w", "integers, 4"],
    "stats.percentileofscore": [
        "x, y",
        *(f"integers, x, '{kind}'" for kind in ("rank", "strict", "weak", "mean")),
        "x, 0.5",
        "integers, integers",
        "x, with_nan",
        "with_nan, x",
        "x, tall",
        "empty, x",
    ],
    "stats.scoreatpercentile": [
        "x, 30",
        "tall, 50, axis=1",
        "x, 33.3, interpolation_method='lower'",
        "x, 33.3, interpolation_method='higher'",
        "integers, 40",
        "x, [10, 20]",
        "x, 50, limit=(-1, 1)",
        "tall, 0",
        "tall, 100, axis=0",
    ],
}

ERRORS = {
    "stats.ttest_ind": ["x, y, alternative='more'", "x, y, trim=0.9", "x, y, axis=3"],
    "stats.ttest_1samp": ["tall, tall, axis=0"],
    "stats.f_oneway": ["x, y, equal_var='False'", "x", "tall, tall[:, :3]"],
    "stats.levene": ["x", "x, y, center='middle'"],
    "stats.combine_pvalues": ["unit, 'most'"],
    "stats.trimboth": ["x, 0.6"],
    "stats.percentileofscore": ["tall, 1", "x, 1, 'some'"],
    "stats.scoreatpercentile": ["x, 101", "x, 30.3, interpolation_method='some'"],
    "stats.cumfreq": ["x, 0", "x, 5, (2, 1)"],
}
#: Whether degrees of freedom are floats depends on whether a value is NaN.
READS = {"stats.ttest_1samp": ["with_nan, 0.1"], "stats.ttest_rel": ["x, with_nan"]}
