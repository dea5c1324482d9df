"""Functions of NumPy's that are called with DTensors, each of arrays of one shape."""

import numpy as np

#: The arguments: positive and other floats, integers, some NaNs, and flags.
SHAPE = (9, 5)


def arrays():
    """Return the arguments of each case, the same in each process."""
    rng = np.random.default_rng(0)
    with_nan = rng.normal(size=SHAPE)
    with_nan[rng.random(SHAPE) < 0.2] = np.nan
    return {
        "x": rng.normal(size=SHAPE),
        "p": rng.random(SHAPE) + 0.5,
        "n": with_nan,
        "i": rng.integers(-5, 20, SHAPE),
        "b": rng.random(SHAPE) < 0.5,
    }


ELEMENTWISE = {
    "add": lambda x, p: x + p,
    "subtract": lambda x, p: x - p[0],
    "multiply": lambda x: x * 2.5,
    "divide": lambda x, p: x / p,
    "power": lambda x, p: p**x,
    "floor_divide": lambda i: i // 3,
    "remainder": lambda i: i % 4,
    "negative": lambda x: -x,
    "abs": lambda x: np.abs(x),
    "exp": lambda x: np.exp(x),
    "log": lambda p: np.log(p),
    "sqrt": lambda p: np.sqrt(p),
    "sin": lambda x: np.sin(x),
    "tanh": lambda x: np.tanh(x),
    "hypot": lambda x, p: np.hypot(x, p),
    "arctan2": lambda x, p: np.arctan2(x, p),
    "maximum": lambda x, n: np.maximum(x, n),
    "fmin": lambda x, n: np.fmin(x, n),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "where": lambda x, b: np.where(b, x, -1.0),
    "isnan": lambda n: np.isnan(n),
    "nan_to_num": lambda n: np.nan_to_num(n, nan=3.0),
    "logical_and": lambda b, x: np.logical_and(b, x > 0),
    "bitwise_xor": lambda i: i ^ 5,
    "left_shift": lambda i: i << 2,
    "sign": lambda x: np.sign(x),
    "round": lambda x: np.round(x, 1),
    "floor": lambda x: np.floor(x),
    "astype": lambda x: x.astype(np.float32),
    "float32": lambda x: (x.astype(np.float32) * np.pi).sum(axis=0),
    "complex": lambda x, p: np.abs(x + 1j * p),
    "angle": lambda x, p: np.angle(x + 1j * p),
    "outer_sum": lambda x, p: x[:, None, :] + p[None, :4, :],
    "select": lambda x: np.select([x > 1, x > 0], [x, 2 * x], 0.0),
    "full_like": lambda x: np.full_like(x, 7.0) + x,
    "invented": lambda i: i * 0.5,
}

REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum_0": lambda x: x.sum(axis=0),
    "sum_1": lambda x: x.sum(axis=1),
    "sum_keepdims": lambda x: x - x.sum(axis=0, keepdims=True),
    "sum_int": lambda i: i.sum(axis=0),
    "sum_bool": lambda b: b.sum(axis=1),
    "mean": lambda x: x.mean(),
    "mean_0": lambda x: np.mean(x, axis=0),
    "mean_int": lambda i: i.mean(axis=1),
    "std": lambda x: x.std(axis=0),
    "var": lambda x: x.var(axis=1, ddof=1),
    "prod": lambda p: np.prod(p, axis=0),
    "max": lambda x: x.max(axis=0),
    "max_nan": lambda n: n.max(axis=0),
    "min_nan": lambda n: n.min(axis=1),
    "max_int": lambda i: i.max(),
    "ptp": lambda x: np.ptp(x, axis=0),
    "any": lambda b: b.any(axis=0),
    "all": lambda b: np.all(b),
    "argmax": lambda x: x.argmax(axis=0),
    "argmin_1": lambda x: np.argmin(x, axis=1),
    "argmax_flat": lambda x: np.argmax(x),
    "argmax_nan": lambda n: np.argmax(n, axis=0),
    "nansum": lambda n: np.nansum(n, axis=0),
    "nanmean": lambda n: np.nanmean(n, axis=1),
    "nanmax": lambda n: np.nanmax(n, axis=0),
    "nanstd": lambda n: np.nanstd(n, axis=0),
    "count_nonzero": lambda b: np.count_nonzero(b, axis=0),
    "average": lambda x, p: np.average(x, axis=0, weights=p),
    "norm": lambda x: np.linalg.norm(x),
    "norm_1": lambda x: np.linalg.norm(x, axis=1),
    "median_0": lambda x: np.median(x, axis=0),
    "median_1": lambda x: np.median(x, axis=1),
    "percentile": lambda x: np.percentile(x, [10, 50], axis=1),
    "cov": lambda x: np.cov(x, rowvar=False),
    "corrcoef": lambda x: np.corrcoef(x),
    "softmax": lambda x: (
        np.exp(x - x.max(axis=1, keepdims=True))
        / np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
    ),
    "bincount": lambda i: np.bincount(np.abs(i).ravel(), minlength=21),
    "histogram": lambda x: np.histogram(x, bins=4, range=(-2.0, 2.0))[0],
    "trapezoid": lambda x: np.trapezoid(x, axis=1),
}

PRODUCTS = {
    "matmul": lambda x, p: x @ p.T,
    "matmul_t": lambda x, p: x.T @ p,
    "matvec": lambda x: x @ np.arange(5.0),
    "vecmat": lambda x: np.arange(9.0) @ x,
    "dot": lambda x, p: np.dot(x.ravel(), p.ravel()),
    "tensordot": lambda x, p: np.tensordot(x, p, axes=2),
    "einsum": lambda x, p: np.einsum("ij,ik->jk", x, p),
    "inner": lambda x, p: np.inner(x, p),
    "outer": lambda x: np.outer(x[:, 0], x[:, 1]),
    "kron": lambda x: np.kron(x, np.eye(2)),
    "matmul_int": lambda i: i @ i.T,
    "batched": lambda x, p: x[:, None, :] @ p[:, :, None],
    "solve": lambda x: np.linalg.solve(x.T @ x + np.eye(5), x.T),
    "inv": lambda x: np.linalg.inv(x.T @ x + np.eye(5)),
}

SHAPES = {
    "transpose": lambda x: x.T,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1) * 2,
    "ravel": lambda x: x.ravel(),
    "reshape": lambda x: x.reshape(3, 3, 5),
    "reshape_1": lambda x: x.reshape(9, 5, 1).sum(axis=2),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "squeeze": lambda x: np.squeeze(x[:, None]),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 9, 5)) + 0,
    "tile": lambda x: np.tile(x, (1, 2)),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "concatenate_0": lambda x, p: np.concatenate([x, p]),
    "concatenate_1": lambda x, p: np.concatenate([x, p], axis=1),
    "stack": lambda x, p: np.stack([x, p]),
    "vstack": lambda x, p: np.vstack([x, p]),
    "split": lambda x: np.split(x, [2], axis=1)[0] * 2,
    "flip_0": lambda x: np.flip(x, 0) + 0,
    "flip_1": lambda x: x[:, ::-1] + 0,
    "roll": lambda x: np.roll(x, 1, axis=1),
    "pad": lambda x: np.pad(x, ((0, 0), (1, 2))),
    "diff_1": lambda x: np.diff(x, axis=1),
    "diff_0": lambda x: np.diff(x, axis=0),
    "slice_0": lambda x: x[2:7],
    "slice_1": lambda x: x[:, 1:4],
    "step": lambda x: x[:, ::2],
    "row": lambda x: x[3],
    "column": lambda x: x[:, -1],
    "triu": lambda x: np.triu(x),
    "diagonal": lambda x: np.diagonal(x),
}

INDICES = {
    "take_1": lambda x: np.take(x, [0, 3, 3], axis=1),
    "take_0": lambda x: x[np.array([8, 0, 2])],
    "table": lambda i: np.linspace(0.0, 1.0, 26)[i + 5],
    "take_along": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "sort_1": lambda x: np.sort(x, axis=1),
    "sort_0": lambda x: np.sort(x, axis=0),
    "argsort_1": lambda x: np.argsort(x, axis=1),
    "partition": lambda x: np.sort(np.partition(x, 2, axis=1)[:, :2], axis=1),
    "cumsum_1": lambda x: np.cumsum(x, axis=1),
    "cumsum_0": lambda x: np.cumsum(x, axis=0),
    "cumprod": lambda p: np.cumprod(p, axis=1),
    "searchsorted": lambda x: np.searchsorted(np.array([-1.0, 0.0, 1.0]), x),
    "digitize": lambda x: np.digitize(x, np.array([-1.0, 0.0, 1.0])),
    "unique": lambda i: np.unique(i),
    "mask": lambda x: x[x > 0],
    "mask_sum": lambda x: x[x > 0].sum(),
    "nonzero": lambda b: np.nonzero(b)[0],
    "fft": lambda x: np.fft.rfft(x, axis=1),
    "interp": lambda x: np.interp(x, np.array([-1.0, 0.0, 2.0]), np.array([3.0, 4.0, 9.0])),
    "convolve": lambda x: np.convolve(x[:, 0], np.array([1.0, 2.0, 1.0]), "same"),
    "one_hot": lambda i: (np.abs(i)[..., None] == np.arange(20)).sum(axis=(0, 1)),
    "isin": lambda i: np.isin(i, np.array([1, 2, 3])),
    "meshgrid": lambda x: np.meshgrid(x[0], x[:, 0])[0],
    "arange": lambda x: x + np.arange(9.0)[:, None],
}


def written(x):
    """Write to a copy."""
    y = x.copy()
    y[:, 1] = 0.0
    y[y > 1] = 1.0
    return y


def shifted(x):
    """Write sums of neighbours."""
    y = np.zeros_like(x)
    y[1:-1] = x[:-2] + x[2:]
    return y


def summed_by_label(x, i):
    """Add rows by label."""
    sums = np.zeros((20, x.shape[1]))
    np.add.at(sums, np.abs(i[:, 0]), x)
    return sums


def several(x, p):
    """Return a structure."""
    return {"sum": x.sum(), "both": (x + p, x.shape[0]), "none": None}


def by_function(x):
    """Call a function of the row."""
    return np.apply_along_axis(np.sum, 1, x)


FUNCTIONS = {one.__name__: one for one in (written, shifted, summed_by_label, several, by_function)}

CASES = ELEMENTWISE | REDUCTIONS | PRODUCTS | SHAPES | INDICES | FUNCTIONS

#: The cases for which arrays move among two ranks, and the axes.
GATHERS = {
    "outer_sum": "0",
    "argmax_flat": "01",
    "median_0": "0",
    "median_1": "1",
    "percentile": "1",
    "cov": "1",
    "corrcoef": "0",
    "bincount": "01",
    "histogram": "01",
    "matmul": "0",
    "matmul_t": "1",
    "vecmat": "1",
    "dot": "01",
    "tensordot": "01",
    "einsum": "1",
    "inner": "0",
    "outer": "0",
    "kron": "01",
    "matmul_int": "0",
    "solve": "01",
    "inv": "1",
    "ravel": "01",
    "reshape": "0",
    "tile": "1",
    "repeat": "1",
    "concatenate_0": "0",
    "concatenate_1": "1",
    "vstack": "0",
    "flip_0": "0",
    "flip_1": "1",
    "roll": "1",
    "step": "1",
    "diagonal": "01",
    "take_1": "1",
    "take_0": "0",
    "take_along": "1",
    "sort_1": "1",
    "sort_0": "0",
    "argsort_1": "1",
    "partition": "1",
    "cumsum_1": "1",
    "cumsum_0": "0",
    "cumprod": "1",
    "unique": "01",
    "mask": "01",
    "nonzero": "01",
    "fft": "1",
    "interp": "01",
    "convolve": "0",
    "summed_by_label": "01",
}
