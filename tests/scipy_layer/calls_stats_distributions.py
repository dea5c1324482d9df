"""Calls of the methods of the distributions of `scipy.stats`."""

#: By distribution: its shapes as texts, and values that are in its support.
_SHAPES = {
    **dict.fromkeys(("norm", "cauchy", "laplace", "logistic", "gumbel_r", "gumbel_l"), ("",)),
    **dict.fromkeys(("uniform", "expon", "rayleigh", "halfnorm", "halfcauchy"), ("",)),
    "triang": ("0.3, ", "0.0, ", "1.0, ", "unit, ", "signed_unit, "),
    "powerlaw": ("1.7, ", "positive, ", "x, "),
    "pareto": ("2.6, ", "positive, "),
    "weibull_min": ("1.8, ", "0.6, ", "w, "),
    "weibull_max": ("2.9, ", "w, "),
    "lognorm": ("0.9, ", "w, ", "x, "),
    "geom": ("0.3, ", "1.0, ", "unit, ", "signed_unit, "),
    "bernoulli": ("0.3, ", "0.0, ", "1.0, ", "signed_unit, "),
    "gamma": ("2.5, ", "w, ", "0.4, "),
    "chi2": ("3.5, ", "w, ", "0.7, "),
    "invgamma": ("2.5, ", "w, "),
    "beta": ("1.5, 2.5, ", "w, 0.7, ", "0.5, unit, ", "1.0, 1.0, "),
    "t": ("4.5, ", "w, ", "np.inf, ", "x, "),
    "f": ("3.5, 7.0, ", "w, positive, "),
    "truncnorm": ("-1.5, 2.5, ", "1.0, 4.0, ", "x, 3.5, ", "-6.0, -2.0, "),
    "poisson": ("3.5, ", "w, ", "x, ", "0.0, "),
    "binom": ("12, 0.3, ", "integers, 0.4, ", "9, unit, ", "5, 0.0, ", "5, 1.0, "),
    "nbinom": ("5, 0.4, ", "w, unit, "),
    "randint": ("2, 9, ", "integers, 12, ", "0.5, 3, "),
}
_DISCRETE = ("geom", "bernoulli", "randint", "poisson", "binom", "nbinom")
#: Called with all there is; the other distributions go the same way.
_ALL_VALUES = ("norm", "gamma", "randint")
_METHODS = ("cdf", "sf", "logcdf", "logsf", "ppf", "isf")
_VALUES = ("x", "3 * w", "special", "empty", "zero_d", "integers", "image")
_WHOLE = ("integers", "integers - 3", "xp.floor(w * 4)", "x", "special", "empty", "zero_d")
_PROBABILITIES = ("unit", "special", "with_nan", "empty", "zero_d", "xp.abs(signed_unit)")


def _texts(name, method, shapes):
    quantile, discrete = method in ("ppf", "isf"), name in _DISCRETE
    values = _PROBABILITIES if quantile else _WHOLE if discrete else _VALUES
    first = "unit" if quantile else "integers" if discrete else "w"
    if method.startswith("log") or method == "isf":
        # Without 1e-30, whose square is 0 in float32, and 1 without it is 1 in SciPy.
        values = ["special[:7]" if value == "special" else value for value in values]
    if discrete and method == "logcdf":
        # SciPy gives 0 for bad parameters, where k is large.
        shapes = [text for text in shapes if "signed" not in text and "0.5," not in text]
    if name not in _ALL_VALUES:
        values = [value for value in values if value not in ("empty", "zero_d", "image", "x")]
    texts = [f"{value}, {shapes[0]}" for value in values]
    texts += [f"{first}, {shape}" for shape in shapes[1:]]
    texts += [f"x[:, None], {shapes[0]}loc=y"]
    texts += [f"{first}, {shapes[0]}y" if discrete else f"{first}, {shapes[0]}y, x"]
    if name in _ALL_VALUES:
        texts += [f"{first}, {shapes[0]}loc=0.5"]
        texts += (
            [] if discrete else [f"{first}, {shapes[0]}scale={s}" for s in ("2.0", "-1.0", "w")]
        )
    return texts


CALLS = {
    f"stats.{name}.{method}": _texts(name, method, shapes)
    for name, shapes in _SHAPES.items()
    for method in (*(("pmf", "logpmf") if name in _DISCRETE else ("pdf", "logpdf")), *_METHODS)
}

ERRORS = {
    "stats.norm.pdf": ["x, 0.0, 1.0, 2.0", "x, place=3", "x, y[:3]"],
    "stats.weibull_min.cdf": ["x"],
}
