"""Check rows: call one as traced code would, and compare it with the NumPy that is installed."""

import warnings

import numpy as np
import torch

from npaccel import _numpy
from npaccel._numpy.core.table import row_named, row_of

_numpy.load()

ALL = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "F", "D"]
REAL = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d"]
NUMBERS = ["b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "F", "D"]
INEXACT = ["e", "f", "d", "F", "D"]
LAPACK = ["f", "d", "F", "D"]


def tensors(x):
    """Return the same arguments with tensors where there are arrays or NumPy scalars."""
    if isinstance(x, np.ndarray | np.generic):
        return torch.from_numpy(np.array(x))
    if type(x) in (list, tuple):
        return type(x)(tensors(item) for item in x)
    return {k: tensors(v) for k, v in x.items()} if isinstance(x, dict) else x


def implementation(function):
    """Return the implementation of a NumPy function, or of a dotted name."""
    row = row_named(function) if isinstance(function, str) else row_of(function)
    assert row is not None, f"no row for {function}"
    return row.implementation


def _parts(found):
    return list(found) if isinstance(found, tuple | list) else [found]


def _close(found, expected, ulps):
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind not in "fc" or expected.size == 0:
        np.testing.assert_array_equal(found, expected)
        return
    eps = np.finfo(expected.dtype).eps
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(found, expected, rtol=ulps * eps, atol=ulps * eps * scale)


def same(found, expected, ulps=16):
    """Assert that tensors equal NumPy's results: structure, dtype, shape, values."""
    found, expected = _parts(found), _parts(expected)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        if theirs is None:
            assert mine is None
            continue
        array = mine.numpy() if isinstance(mine, torch.Tensor) else np.asarray(mine)
        theirs = np.asarray(theirs)
        assert array.dtype == theirs.dtype, f"dtype {array.dtype}, NumPy's is {theirs.dtype}"
        assert array.shape == theirs.shape, f"shape {array.shape}, NumPy's is {theirs.shape}"
        _close(array, theirs, ulps)


def check(function, *args, ulps=16, numpy=None, **kwargs):
    """Call the row and NumPy with the same arguments; compare results, or exception classes."""
    call = numpy or function
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        error = _raised(call, args, kwargs)
        if error is None:
            found = implementation(function)(*tensors(args), **tensors(kwargs))
            same(found, call(*args, **kwargs), ulps)
            return
        mine = _raised(implementation(function), tensors(args), tensors(kwargs))
        assert isinstance(mine, _class_of(error)), f"{mine!r}, NumPy's is {error!r}"


def _class_of(error):
    """Return the public class of an error: NumPy derives private ones of its own."""
    return next(c for c in type(error).__mro__ if not c.__name__.startswith("_UFunc"))


def _raised(function, args, kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
        return error
    return None


def data(shape, dtype, seed=0):
    """Return an array of small numbers, some of them equal, of either sign where there is one."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    whole = rng.integers(0 if dtype.kind in "bu" else -9, 2 if dtype.kind == "b" else 10, shape)
    if dtype.kind == "c":
        return (whole / 4 + 1j * rng.integers(-9, 9, shape) / 4).astype(dtype)
    return (whole / 4 if dtype.kind == "f" else whole).astype(dtype)


def with_nan(shape, dtype, seed=0):
    """Return numbers among which are NaN and both infinities."""
    x = data(shape, dtype, seed)
    flat = x.reshape(-1)
    flat[1::5], flat[2::7], flat[3::11] = np.nan, np.inf, -np.inf
    return x


def traced(function, *args, **kwargs):
    """Trace the row with symbolic sizes, run the graph, and compare with NumPy."""
    from torch.fx.experimental.proxy_tensor import make_fx

    run = implementation(function)
    arrays = [x for x in _leaves((args, kwargs)) if isinstance(x, np.ndarray)]

    def flat(*given):
        rest = iter(given)
        mine_args, mine_kwargs = _filled((args, kwargs), rest)
        return run(*mine_args, **mine_kwargs)

    graph = make_fx(flat, tracing_mode="symbolic")(*tensors(arrays))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        same(graph(*tensors(arrays)), function(*args, **kwargs), ulps=64)
    return graph


def _leaves(x):
    if isinstance(x, dict):
        return [leaf for v in x.values() for leaf in _leaves(v)]
    if isinstance(x, list | tuple):
        return [leaf for v in x for leaf in _leaves(v)]
    return [x]


def _filled(x, rest):
    if isinstance(x, dict):
        return {k: _filled(v, rest) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(_filled(v, rest) for v in x)
    return next(rest) if isinstance(x, np.ndarray) else x
