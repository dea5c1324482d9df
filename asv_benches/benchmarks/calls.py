"""How each compiled row of npaccel's table is called with a million elements.

A call is one expression over the names of `arrays`. Rows of a family share a template. What has
no call here, and why, is in `NOT_TIMED`. Random numbers, which NumPy draws, aren't timed.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

SIZE = 1_000_000
DTYPES = ("float64", "int64")

#: Ufuncs whose arguments can't be any numbers.
_UNIT = {"arccos", "arcsin", "arctanh"}
_POSITIVE = {"arccosh", "log", "log10", "log1p", "log2", "sqrt", "reciprocal"}
_SHIFTS = {"left_shift", "right_shift", "ldexp"}
_PRODUCTS = {"matmul": "m, m2", "matvec": "m, g", "vecmat": "g, m", "vecdot": "m, m2"}

#: Functions of one array of any shape.
_ONE_ARGUMENT = """
    all any argmax argmin argwhere around array average copy count_nonzero cumprod
    cumsum cumulative_prod cumulative_sum diff ediff1d fix flatnonzero gradient i0
    iscomplex isneginf isposinf isreal max mean median min nan_to_num nanargmax nanargmin nancumprod
    nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar nonzero prod ptp
    round sinc sort sort_complex std sum trapezoid unique unique_all unique_counts unique_inverse
    unique_values unwrap var zeros_like ones_like argsort amax amin
""".split()  # noqa: SIM905 (a list of 70 strings is no easier to read)

#: Functions of one matrix.
_MATRIX = """
    cov corrcoef diag trace tril triu vander kron
""".split()  # noqa: SIM905 (a list of 70 strings is no easier to read)

#: Rows that read no element: what follows them has to be fast, so that it's timed with them.
_VIEWS = {
    "asanyarray": "a",
    "asarray": "a",
    "ascontiguousarray": "a",
    "asfortranarray": "m",
    "atleast_1d": "a",
    "atleast_2d": "a",
    "atleast_3d": "a",
    "broadcast_to": "a, (2, n)",
    "diagonal": "m",
    "expand_dims": "a, 0",
    "flip": "a",
    "fliplr": "m",
    "flipud": "m",
    "rot90": "m",
    "imag": "z",
    "matrix_transpose": "m",
    "moveaxis": "m, 0, 1",
    "permute_dims": "m, (1, 0)",
    "ravel": "m",
    "real": "z",
    "require": "a",
    "reshape": "a, (1000, 1000)",
    "rollaxis": "m, 1",
    "squeeze": "m[None]",
    "swapaxes": "m, 0, 1",
    "transpose": "m",
    "linalg.matrix_transpose": "m",
    "linalg.diagonal": "m",
    "lib.stride_tricks.sliding_window_view": "a, 3",
}

#: Functions that are called with more than one array, by what stands between the brackets.
_ARGUMENTS = {
    "packbits": "t",
    "unpackbits": "bytes",
    "row_stack": "(m, m2)",
    "mask_indices": "1000, np.triu",
    "apply_along_axis": "np.sum, 1, m",
    "allclose": "a, a",
    "angle": "z",
    "append": "a, b",
    "apply_over_axes": "np.sum, m, [0, 1]",
    "arange": "n",
    "argpartition": "a, n // 2",
    "array_equal": "a, a",
    "array_equiv": "a, a",
    "astype": "a, np.float32",
    "bincount": "k",
    "blackman": "n",
    "bartlett": "n",
    "hamming": "n",
    "hanning": "n",
    "kaiser": "n, 8.0",
    "block": "[[m, m], [m, m]]",
    "choose": "i % 3, [a, b, p]",
    "clip": "a, -1, 1",
    "column_stack": "(a, b)",
    "compress": "t, a",
    "concatenate": "(a, b)",
    "convolve": "a, c",
    "correlate": "a, c",
    "cross": "r, r[::-1]",
    "delete": "a, k[:100]",
    "digitize": "a, c_sorted",
    "dot": "m, m2",
    "dsplit": "m[None], 2",
    "dstack": "(a, b)",
    "einsum": "'ij,jk->ik', m, m2",
    "extract": "t, a",
    "eye": "1000",
    "full": "n, 2.5",
    "full_like": "a, 2",
    "geomspace": "1.0, 9.0, n",
    "histogram": "a, 50",
    "histogram_bin_edges": "a, 50",
    "histogram2d": "a, b, 20",
    "histogramdd": "(a, b), 20",
    "hstack": "(a, b)",
    "identity": "1000",
    "indices": "(1000, 1000)",
    "inner": "m, m2",
    "insert": "a, 500, 1",
    "interp": "a, c_sorted, c",
    "intersect1d": "k, k2",
    "isclose": "a, b",
    "isin": "k, k2[:1000]",
    "ix_": "k[:1000], k[:1000]",
    "kron": "m[:30, :30], m[:30, :30]",
    "lexsort": "(a, b)",
    "linspace": "0.0, 1.0, n",
    "logspace": "0.0, 1.0, n",
    "meshgrid": "a[:1000], b[:1000]",
    "nanpercentile": "a, 30",
    "nanquantile": "a, 0.3",
    "ones": "n",
    "outer": "a[:1000], b[:1000]",
    "pad": "m, 2",
    "partition": "a, n // 2",
    "percentile": "a, 30",
    "piecewise": "a, [t], [1, 2]",
    "poly": "c",
    "polyadd": "a, b",
    "polyder": "a",
    "polydiv": "a[:1000], c",
    "polyfit": "u, b, 3",
    "polyint": "a",
    "polymul": "a, c",
    "polysub": "a, b",
    "polyval": "c, u",
    "quantile": "a, 0.3",
    "ravel_multi_index": "(k // 1000, k % 1000), (1000, 1000)",
    "repeat": "a, 2",
    "resize": "a, 1500000",
    "roll": "a, 5",
    "searchsorted": "s, a",
    "select": "[a > 0, b > 0], [a, b], 1",
    "setdiff1d": "k, k2",
    "setxor1d": "k, k2",
    "stack": "(a, b)",
    "take": "a, k",
    "take_along_axis": "m, km, 1",
    "tensordot": "m, m2, 1",
    "tile": "a, 2",
    "tri": "1000",
    "tril_indices": "1000",
    "tril_indices_from": "m",
    "triu_indices": "1000",
    "triu_indices_from": "m",
    "trim_zeros": "a",
    "union1d": "k, k2",
    "unravel_index": "k, (1000, 1000)",
    "vander": "a[:100000], 10",
    "vdot": "a, b",
    "vstack": "(a, b)",
    "where": "t, a, b",
    "zeros": "n",
    "diag_indices": "1000",
    "diag_indices_from": "m",
    "diag": "m",
    "array_split": "a, 3",
    "split": "a, 4",
    "hsplit": "m, 4",
    "vsplit": "m, 4",
    "unstack": "m[:4]",
    "broadcast_arrays": "a, m[:1, :1]",
    "fromfunction": "lambda x, y: x + y, (1000, 1000)",
    "diagflat": "c",
}

#: Functions that write to their first array: they get a copy, in NumPy too.
_WRITES = {
    "copyto": "x, b",
    "fill_diagonal": "x, 3",
    "place": "x, t, c",
    "put": "x, k, 3",
    "put_along_axis": "x, km, 3, 1",
    "putmask": "x, t, b",
    "add.at": "x, k, 1",
}
_WRITES_TO_MATRIX = {"fill_diagonal", "put_along_axis"}

#: O(n^3): a million elements would take seconds.
_LINALG = {
    "cholesky": "spd",
    "cond": "q",
    "cross": "r, r[::-1]",
    "det": "q",
    "eig": "q",
    "eigh": "spd",
    "eigvals": "q",
    "eigvalsh": "spd",
    "inv": "q",
    "lstsq": "tall, a[:20000]",
    "matmul": "m, m2",
    "matrix_norm": "m",
    "matrix_power": "m, 3",
    "matrix_rank": "q",
    "multi_dot": "[m, m2, m]",
    "norm": "a",
    "outer": "a[:1000], b[:1000]",
    "pinv": "q",
    "qr": "q",
    "slogdet": "q",
    "solve": "q, q",
    "svd": "q",
    "svdvals": "q",
    "tensordot": "m, m2, axes=1",
    "tensorinv": "q.reshape(20, 15, 20, 15)",
    "tensorsolve": "q.reshape(20, 15, 20, 15), q[0].reshape(20, 15)",
    "trace": "m",
    "vecdot": "m, m2",
    "vector_norm": "a",
}
_FFT = {
    "fftfreq": "n",
    "rfftfreq": "n",
    "fft2": "m",
    "ifft2": "m",
    "rfft2": "m",
    "irfft2": "m",
    "fftn": "m",
    "ifftn": "m",
    "rfftn": "m",
    "irfftn": "m",
}

#: Operators and methods of arrays.
_METHODS = {
    "T": "m.T + 1",
    "mT": "m.mT + 1",
    "imag": "z.imag + 1",
    "real": "z.real + 1",
    "flat": "m.flat[:] + 1",
    "view": "a.view(np.int64) + 1",
    "reshape": "a.reshape(1000, 1000) + 1",
    "ravel": "m.ravel() + 1",
    "squeeze": "m[None].squeeze() + 1",
    "swapaxes": "m.swapaxes(0, 1) + 1",
    "transpose": "m.transpose() + 1",
    "diagonal": "m.diagonal() + 1",
    "__getitem__": "a[k]",
    "__setitem__": "x.__setitem__(slice(2, -2), 3)",
    "argpartition": "a.argpartition(n // 2)",
    "astype": "a.astype(np.float32)",
    "choose": "(i % 3).choose([a, b, p])",
    "clip": "a.clip(-1, 1)",
    "compress": "a.compress(t)",
    "dot": "m.dot(m2)",
    "fill": "x.fill(3)",
    "partition": "x.partition(n // 2)",
    "put": "x.put(k, 3)",
    "repeat": "a.repeat(2)",
    "searchsorted": "s.searchsorted(a)",
    "sort": "x.sort()",
    "take": "a.take(k)",
    "trace": "m.trace()",
    "flat.__set__": "x.__setattr__('flat', b)",
    "real.__set__": "x.__setattr__('real', b)",
    "imag.__set__": "zx.__setattr__('imag', b)",
    "__matmul__": "m @ m2",
    "__rmatmul__": "m @ m2",
    "__imatmul__": "mx.__imatmul__(m2)",
}
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
    "lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">=",
}  # fmt: skip
_UNARY = {"neg": "-a", "pos": "+a", "abs": "abs(a)", "invert": "~a"}

#: Rows that can't be timed by elements.
_METADATA = """
    can_cast common_type broadcast_shapes iscomplexobj isdtype isfortran isrealobj isscalar
    issubdtype iterable min_scalar_type mintypecode ndim promote_types result_type shape size
    errstate
    printoptions ndarray.dtype ndarray.item ndarray.itemsize ndarray.nbytes ndarray.ndim
    ndarray.shape ndarray.size ndarray.strides ndarray.__rdivmod__
""".split()  # noqa: SIM905 (a list of 70 strings is no easier to read)
NOT_TIMED = {f"numpy.{name}": "asks for no element" for name in _METADATA} | {
    f"numpy.{name}": "its values are anything" for name in ("empty", "empty_like")
}
NOT_TIMED["numpy.polydiv"] = "its steps are written out, one per coefficient of the quotient"


@functools.cache
def arrays(dtype: str) -> dict[str, Any]:
    """Return the names that the expressions use, for one dtype of the main arrays."""
    rng = np.random.default_rng(0)
    if dtype == "int64":
        a, b = (rng.integers(-1000, 1000, SIZE) for _ in range(2))
        c = rng.integers(-9, 9, 51)
    else:
        a, b = (rng.standard_normal(SIZE) for _ in range(2))
        c = rng.standard_normal(51)
    a, b, c = (value.astype(dtype) for value in (a, b, c))
    b[b == 0] = 1
    q = rng.standard_normal((300, 300)) + 20 * np.eye(300)
    k, k2 = rng.integers(0, SIZE, SIZE), rng.integers(0, SIZE, SIZE)
    m, m2 = a.reshape(1000, 1000), b.reshape(1000, 1000)
    return {
        "n": SIZE, "a": a, "b": b, "c": c, "c_sorted": np.sort(c), "k": k, "k2": k2,
        "m": m, "m2": m2,
        "i": rng.integers(0, 16, SIZE), "p": np.abs(a) + np.asarray(1, dtype),
        "e": (a / 1e4).astype(dtype),
        "u": np.linspace(-1, 1, SIZE), "s": np.sort(a), "t": a > 0, "z": a + 1j * b,
        "r": a[:999_999].reshape(-1, 3), "km": np.argsort(m, axis=1), "q": q, "spd": q @ q.T,
        "tall": rng.standard_normal((20000, 50)), "x": a.copy(), "mx": m.copy(), "zx": a + 1j * b,
        "starts": np.arange(0, SIZE, 100),
        "bytes": rng.integers(0, 256, SIZE // 8, np.uint8),
        "c2": rng.standard_normal((4, 4)), "c3": rng.standard_normal((3, 3, 3)),
        "g": np.linspace(-1, 1, 1000), "g3": np.linspace(-1, 1, 100),
    }  # fmt: skip


def _ufunc(name: str) -> str:
    ufunc: np.ufunc = getattr(np, name)
    if name in _PRODUCTS:
        return f"np.{name}({_PRODUCTS[name]})"
    if ufunc.nin == 1:
        first = "e" if name in _UNIT else "p" if name in _POSITIVE else "a"
        return f"np.{name}({first})"
    if name in _SHIFTS:
        return f"np.{name}(a, i)"
    return f"np.{name}(p, i)" if name in ("power", "float_power") else f"np.{name}(a, b)"


def _ufunc_method(name: str) -> str:
    ufunc, _, method = name.partition(".")
    if not isinstance(getattr(np, ufunc, None), np.ufunc):
        raise KeyError(name)
    shift = ufunc in _SHIFTS
    if method == "at":
        second = "" if getattr(np, ufunc).nin == 1 else ", 1"
        return f"np.{name}(x, k{second})"
    if method == "outer":
        return f"np.{name}(a[:1000], {'i' if shift or ufunc == 'power' else 'b'}[:1000])"
    return f"np.{name}(a, starts)" if method == "reduceat" else f"np.{name}(a)"


def _method(name: str) -> str:
    if name in _METHODS:
        return _METHODS[name]
    bare = name.strip("_")
    if name.startswith("__"):
        if bare in _UNARY:
            return _UNARY[bare]
        if bare == "divmod":
            return "divmod(a, b)"
        plain = bare if bare in _OPERATORS else bare[1:]
        second = "i" if plain in ("lshift", "rshift", "pow") else "b"
        if bare[0] == "r" and bare not in _OPERATORS:
            return f"3 {_OPERATORS[plain]} {'i' if second == 'i' else 'b'}"
        if bare[0] == "i" and bare not in _OPERATORS:
            return f"x.{name}({second})"
        return f"{'p' if bare == 'pow' else 'a'} {_OPERATORS[bare]} {second}"
    return f"a.{name}()"


def _series(name: str) -> str:
    function = name.rsplit(".", 1)[1]
    for ending, arguments in (
        ("grid2d", "g, g, c2"), ("grid3d", "g3, g3, g3, c3"), ("val2d", "u, u, c2"),
        ("val3d", "u, u, u, c3"), ("val", "u, c2[0]"), ("valfromroots", "u, c2[0]"),
        ("vander2d", "u, u, (1, 2)"), ("vander3d", "u, u, u, (1, 1, 1)"), ("vander", "u, 5"),
        ("add", "a, b"), ("sub", "a, b"), ("mulx", "a"), ("weight", "u"), ("fit", "u, a, 3"),
        ("mapdomain", "a, (-1, 1), (0, 3)"), ("getdomain", "a"),
    ):  # fmt: skip
        if function.endswith(ending):
            return f"np.{name}({arguments})"
    raise KeyError(name)


def expression(full_name: str) -> str:
    """Return the expression that calls a row.

    Raises
    ------
    KeyError
        If there is none: enter the row here.
    """
    name = full_name.removeprefix("numpy.")
    if name.startswith("ndarray."):
        return _method(name.removeprefix("ndarray."))
    if name in _VIEWS:
        return f"np.{name}({_VIEWS[name]}) + 1"
    if name in _WRITES:
        target = _WRITES[name].replace("x", "mx", 1) if name in _WRITES_TO_MATRIX else _WRITES[name]
        return f"np.{name}({target})"
    if name in _ARGUMENTS:
        return f"np.{name}({_ARGUMENTS[name]})"
    if name.startswith("linalg."):
        return f"np.{name}({_LINALG[name.removeprefix('linalg.')]})"
    if name.startswith("fft."):
        return f"np.{name}({_FFT.get(name.removeprefix('fft.'), 'a')})"
    if name.startswith("polynomial."):
        return _series(name)
    if "." in name:
        return _ufunc_method(name)
    if isinstance(getattr(np, name), np.ufunc):
        return _ufunc(name)
    if name in _ONE_ARGUMENT:
        return f"np.{name}(a)"
    if name in _MATRIX:
        return f"np.{name}(m)"
    raise KeyError(f"{full_name} has no call; enter it in calls.py, or in NOT_TIMED")


#: Along both axes of a matrix, where one of them is often the slow one.
ALONG_AXES = (  # noqa: SIM905
    "sum prod max min mean std var any all argmax argmin median sort argsort cumsum cumprod "
    "ptp count_nonzero nansum nanmax nanmean nanmedian nanstd diff partition"
).split()


def more_calls() -> dict[str, str]:
    """Return further calls of rows whose speed depends on how they're called, by name."""
    found = {}
    for name in ALONG_AXES:
        for axis in (0, 1):
            kth = ", 500" if name == "partition" else ""
            found[f"numpy.{name} axis={axis}"] = f"np.{name}(m{kth}, axis={axis})"
    chains = {
        "arithmetic": "(a + b) * a - b",
        "transcendental": "np.exp(-np.abs(a)) + b",
        "roots": "np.sqrt(a * a + b * b)",
        "selection": "np.where(a > b, a * 2, b + 1)",
        "comparison": "np.clip(a * 2 - b, -1, 1)",
        "trigonometry": "np.sin(a) * np.cos(b) + a",
    }
    return found | {f"chain: {name}": text for name, text in chains.items()}


def calls(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the expressions of rows by name, `more_calls` included, and names without one."""
    found, without = {}, []
    for name in names:
        if name in NOT_TIMED:
            continue
        try:
            found[name] = expression(name)
        except KeyError:
            without.append(name)
    return found | more_calls(), without


def names() -> list[str]:
    """Return the names of the rows that asv times, whatever is installed."""
    ufuncs = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc))
    plain = [*_ONE_ARGUMENT, *_MATRIX, *_VIEWS, *_ARGUMENTS, *ufuncs]
    plain += [f"linalg.{name}" for name in _LINALG] + [f"fft.{name}" for name in _FFT]
    known = [f"numpy.{name}" for name in dict.fromkeys(plain) if name != "isnat"]
    return [*known, *more_calls()]


def function_of(text: str, names: Iterable[str]) -> types.FunctionType:
    """Return a function of those arrays that an expression needs."""
    parameters = [name for name in names if name in _words(text)]
    body = f"def call({', '.join(parameters)}):\n    return {text}\n"
    scope: dict[str, Any] = {"np": np}
    exec(compile(body, f"<row {text}>", "exec"), scope)  # noqa: S102 (our own expressions)
    return scope["call"]  # type: ignore[no-any-return]


#: The arrays that some calls write to.
WRITTEN = ("x", "mx", "zx")


def operands(text: str, dtype: str) -> tuple[types.FunctionType, list[Any]]:
    """Return the function of an expression and its arguments; those it may write to are copies."""
    known = arrays(dtype)
    function = function_of(text, known)
    used = function.__code__.co_varnames[: function.__code__.co_argcount]
    return function, [known[n].copy() if n in WRITTEN else known[n] for n in used]


def _words(text: str) -> set[str]:
    return set(re.findall(r"(?<![.\w'])\w+", text))
