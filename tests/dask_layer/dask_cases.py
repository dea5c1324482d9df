"""Functions of NumPy's namespace on Dask arrays, each with the arrays that it takes."""

import numpy as np

_rng = np.random.default_rng(0)
X = _rng.normal(size=(23, 17))
Y = _rng.uniform(0.5, 2.0, size=(23, 17))
N = X.copy()
N[3, 4] = np.nan
N[:, 2] = np.nan
#: By name; `chunks` has how Dask parts them.
ARRAYS = {
    "x": X,
    "y": Y,
    "n": N,
    "v": _rng.normal(size=17),
    "i": _rng.integers(-9, 9, size=(23, 17)),
    "b": X > 0,
    "c": X + 1j * Y,
    "f": X.astype(np.float32),
}


def chunks(array):
    """Return the chunks of an array: several along each axis, the last ones shorter."""
    return (7, 5)[-array.ndim :]


def _ufunc(name):
    return lambda *arrays: getattr(np, name)(*arrays)


def _reduction(name, axis):
    return lambda x: getattr(np, name)(x, axis=axis)


_UNARY = (
    *("sin", "cos", "exp", "log1p", "sqrt", "arctan", "tanh", "abs", "sign", "floor", "ceil"),
    *("rint", "square", "negative", "isnan", "isfinite", "cbrt", "expm1", "deg2rad"),
)
_BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "arctan2", "fmod"),
    *("copysign", "power", "greater", "less_equal", "logical_and", "floor_divide"),
)
_REDUCTIONS = (
    *("sum", "mean", "std", "var", "min", "max", "prod", "any", "all", "argmin", "argmax", "ptp"),
)
_WITHOUT_NANS = ("nansum", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "nanprod")

#: By name: the function, and the names of its arrays.
CASES = {
    **{name: (_ufunc(name), "y") for name in _UNARY},
    **{name: (_ufunc(name), "yy") for name in _BINARY},
    **{name: (_reduction(name, 0), "x") for name in _REDUCTIONS},
    **{f"{name} of all": (_reduction(name, None), "x") for name in _REDUCTIONS},
    **{name: (_reduction(name, 1), "n") for name in _WITHOUT_NANS},
    "sum of integers": (lambda i: np.sum(i * i, axis=1, keepdims=True), "i"),
    "mean of integers": (lambda i: np.mean(i, axis=0), "i"),
    "sum of truth values": (np.sum, "b"),
    "std of float32": (lambda f: np.std(f, axis=1, ddof=1), "f"),
    "var of complex": (lambda c: np.var(c, axis=0), "c"),
    "count_nonzero": (lambda i: np.count_nonzero(i > 2, axis=0), "i"),
    "average": (lambda x, y: np.average(x, axis=0, weights=y), "xy"),
    "median": (lambda x: np.median(x, axis=1), "x"),
    "percentile": (lambda v: np.percentile(v, 50, method="linear"), "v"),
    "cumsum": (lambda x: np.cumsum(x * 2, axis=0), "x"),
    "cumprod": (lambda y: np.cumprod(y, axis=1), "y"),
    "diff": (lambda x: np.diff(x * x, axis=0), "x"),
    "where": (lambda x, y: np.where(x > 0, y, -x), "xy"),
    "select": (lambda x: np.select([x > 1, x < -1], [x, -x], 0.0), "x"),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), "x"),
    "round": (lambda x: np.round(x * 10, 1), "x"),
    "isclose": (np.isclose, "xy"),
    "isin": (lambda i: np.isin(i, [1, 2, 3]), "i"),
    "digitize": (lambda x: np.digitize(x, np.array([-1.0, 0.0, 1.0])), "x"),
    "nan_to_num": (np.nan_to_num, "n"),
    "real and imag": (lambda c: np.real(c) + np.imag(c), "c"),
    "conj": (lambda c: np.conj(c) * c, "c"),
    "angle": (np.angle, "c"),
    "divmod": (lambda y: np.divmod(y, 0.3)[1], "y"),
    "modf": (lambda y: np.modf(y * 3)[0] + np.modf(y * 3)[1], "y"),
    "division of integers": (lambda i: i / 3 + i // 2, "i"),
    "float32 and numbers": (lambda f: f * 2.5 - np.exp(f), "f"),
    "astype": (lambda x: x.astype(np.int32) + np.int8(2), "x"),
    "astype float32": (lambda i: i.astype("float32") / 7, "i"),
    "transpose": (lambda x: (x + 1).T * 2, "x"),
    "array and its transpose": (lambda x: x[:17] * 2 + (x[:17] * 2).T, "x"),
    "moveaxis": (lambda x: np.moveaxis(x, 0, 1) * 2, "x"),
    "ravel": (lambda x: np.ravel(x) + 1, "x"),
    "squeeze": (lambda x: np.squeeze(x[None] * 2, 0), "x"),
    "newaxis": (lambda v: v[:, None] * v[None, :] + 1, "v"),
    "slices": (lambda x: x[2:, ::2] * 2 - x[:-2, ::2], "x"),
    "take": (lambda x: np.take(x * 2, [1, 5, 3], axis=0), "x"),
    "mask": (lambda x: x[x > 0] * 2 + 1, "x"),
    "concatenate": (lambda x, y: np.concatenate([x, y * 2], axis=1), "xy"),
    "stack": (lambda x, y: np.stack([x, y], axis=0) * 3, "xy"),
    "vstack": (lambda x, y: np.vstack([x, y]), "xy"),
    "repeat": (lambda x: np.repeat(x, 2, axis=0) + 1, "x"),
    "tile": (lambda x: np.tile(x, (1, 2)), "x"),
    "roll": (lambda x: np.roll(x, 3, axis=0) - x, "x"),
    "flip": (lambda x: np.flip(x, axis=1) + x, "x"),
    "rot90": (np.rot90, "x"),
    "pad": (lambda x: np.pad(x, 2), "x"),
    "tril": (lambda x: np.tril(x * 2), "x"),
    "zeros_like": (lambda x: np.zeros_like(x) + x, "x"),
    "broadcast_to": (lambda v: np.broadcast_to(v * 2, (3, 17)), "v"),
    "outer": (lambda v: np.outer(v, v * 2), "v"),
    "dot": (lambda x, y: np.dot(x, y.T), "xy"),
    "matmul": (lambda x, v: x @ v, "xv"),
    "tensordot": (lambda x, y: np.tensordot(x * 2, y, axes=([0], [0])), "xy"),
    "einsum": (lambda x, y: np.einsum("ij,ij->i", x, y), "xy"),
    "norm": (lambda x: np.linalg.norm(x, axis=1), "x"),
    "cov": (np.cov, "x"),
    "corrcoef": (np.corrcoef, "x"),
    "bincount": (lambda i: np.bincount(np.ravel(np.abs(i)), minlength=12), "i"),
    "unique": (np.unique, "i"),
    "histogram": (lambda x: np.histogram(x, bins=5, range=(-3, 3))[0], "x"),
    "standard scores": (lambda x: (x - x.mean(axis=0)) / x.std(axis=0), "x"),
    "several results": (lambda x: (x.sum(), {"a": x * 2, "b": [x.T, 3]}), "x"),
    "the argument": (lambda x: x, "x"),
}

#: Cases that differ in one ufunc, or in the axes of a reduction.
OFTEN = frozenset((*_UNARY, *_BINARY, *(name for name in CASES if name.endswith(" of all"))))
