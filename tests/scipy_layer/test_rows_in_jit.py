"""SciPy's native functions in jitted functions: part of one graph, and equal to SciPy's."""

import re
import warnings
from fnmatch import fnmatchcase

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.special
import torch
from scipy import integrate, stats
from scipy_row_calls import function_of, native_calls
from scipy_running import differences, tolerance

import npaccel
from npaccel.errors import NotCompiledError

#: Why calls stay SciPy's, as the error says it, by patterns of names.
LEFT_TO_SCIPY = {
    "cluster.vq.kmeans*": "until the values have settled",
    "ndimage.binary_fill_holes": "no compiled implementation",
    "ndimage.binary_propagation": "no compiled implementation",
    "ndimage.generic_*": "neither an array nor a number",
    "ndimage.label": "no compiled implementation",
    "signal.argrelextrema": "neither an array nor a number",
    "signal.find_peaks": "no compiled implementation",
    "signal.order_filter": "no compiled implementation",
    "signal.sepfir2d": "no compiled implementation",
    "spatial.distance.is_valid_y": "no compiled implementation",
    "spatial.distance.num_obs_*": "no compiled implementation",
    "stats.ks*": "no compiled implementation|neither an array",
}


def jitted(function, **options):
    options = {"backend": "eager", "cache": False, "compile": "now", "strict": True, **options}
    return npaccel.jit(function, **options)


def as_tensors(value):
    """Return a result with tensors in place of arrays, as `differences` takes it."""
    if isinstance(value, np.ndarray | np.generic):
        return torch.from_numpy(np.array(value))
    if isinstance(value, tuple | list):
        parts = [as_tensors(part) for part in value]
        if hasattr(value, "_extra_fields"):  # SciPy's own kind of named tuple.
            found = tuple.__new__(type(value), parts)
            found.__dict__.update({name: as_tensors(one) for name, one in vars(value).items()})
            return found
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", native_calls())
def test_rows(name):
    function, values = function_of(name)
    call = jitted(function, default_float="float64")
    with np.errstate(all="ignore"):
        wanted = function(*[value.copy() for value in values])
    why = next((why for one, why in LEFT_TO_SCIPY.items() if fnmatchcase(name, one)), None)
    if why is not None:
        with pytest.raises(NotCompiledError) as raised:
            call(*values)
        assert re.search(why, str(raised.value))
        return
    found = call(*values)
    assert not differences(wanted, as_tensors(found), False, tolerance(name))


X = np.linspace(0.1, 1.0, 64)

OF_CONSTANTS = {
    "window": lambda x: x * scipy.signal.get_window("hann", len(x)),
    "kaiser": lambda x: x * scipy.signal.windows.kaiser(64, beta=8.0),
    "sections": lambda x: scipy.signal.sosfilt(scipy.signal.butter(4, 0.2, output="sos"), x),
    "polynomials": lambda x: scipy.signal.filtfilt(*scipy.signal.butter(2, 0.3), x),
    "list": lambda x: np.convolve(x, scipy.signal.firwin(15, [0.1, 0.3], pass_zero=False)),
    "frequencies": lambda x: x + scipy.fft.fftfreq(64, 0.1),
    "number": lambda x: np.pad(x, (0, scipy.fft.next_fast_len(67) - 64)),
    "tuple": lambda x: x * np.sum(np.outer(*scipy.special.roots_legendre(5))),
    "scalar": lambda x: x * scipy.signal.buttord(0.2, 0.3, 3, 40)[1],
    "complex": lambda x: x @ scipy.linalg.dft(64),
    "integers": lambda x: x @ scipy.linalg.hadamard(64),
    "booleans": lambda x: x[:9].reshape(3, 3) * scipy.ndimage.generate_binary_structure(2, 1),
}


@pytest.mark.parametrize("f", OF_CONSTANTS.values(), ids=OF_CONSTANTS)
def test_calls_of_constants_are_made_by_the_capture(f, backend):
    call = jitted(f, backend=backend)
    for _ in range(2):
        found = call(X)
        np.testing.assert_allclose(found, f(X), rtol=1e-12, atol=1e-12)
        assert found.dtype == f(X).dtype
    narrow = call(X.astype(np.float32))
    assert narrow.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(narrow, f(X), rtol=1e-4, atol=1e-4)


def test_an_error_of_constants_is_scipys():
    @npaccel.jit(backend="eager", cache=False, compile="now")
    def f(x):
        return scipy.signal.butter(4, 1.5)[0][0] * x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="critical frequencies"):
            f(X)


def test_functions_that_depend_on_a_state_are_left_alone():
    with pytest.raises(NotCompiledError, match="no compiled implementation"):
        jitted(lambda x: x * scipy.fft.get_workers())(X)


def test_results_that_are_objects_keep_their_names():
    @npaccel.jit(backend="eager", cache=False, compile="now")
    def f(x, y):
        return scipy.stats.spearmanr(x, y).statistic + 0.5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = f.__wrapped__(X, X[::-1] ** 2)
        assert f(X, X[::-1] ** 2) == pytest.approx(wanted, rel=1e-12)


def test_lists_in_place_of_arrays():
    def f(image):
        matrix = [[0.9, 0.1], [-0.2, 1.1]]
        return scipy.ndimage.affine_transform(image, matrix, offset=(1.0, -0.5))

    image = X.reshape(8, 8)
    np.testing.assert_allclose(jitted(f)(image), f(image), rtol=1e-10, atol=1e-12)


M = np.random.default_rng(0).normal(size=(5, 9))
K = np.arange(12).reshape(3, 4)

#: Functions that SciPy computes on tensors itself, and that a graph has a form of in NumPy.
TRACED = {
    "trapezoid": [
        *(lambda m: integrate.trapezoid(m, axis=0, dx=2), lambda m: integrate.trapezoid(m[0])),
        *(lambda m: integrate.trapezoid(m, m * 2, axis=0), lambda k: integrate.trapezoid(k)),
        lambda m: integrate.trapezoid(m, np.arange(9.0) ** 2),
    ],
    "cumulative_trapezoid": [
        lambda m: integrate.cumulative_trapezoid(m, axis=0, initial=0),
        lambda m: integrate.cumulative_trapezoid(m, np.arange(9.0) ** 2),
        lambda m: integrate.cumulative_trapezoid(m, m**3, axis=0),
    ],
    "romb": [
        *(lambda m: integrate.romb(m, dx=0.2), lambda m: integrate.romb(m[:, :2])),
        *(lambda m: integrate.romb(m.T, axis=0), lambda m: integrate.romb(m[0])),
    ],
    "block_diag": [
        lambda m: scipy.linalg.block_diag(m, m[:2], 3.0),
        *(lambda m: scipy.linalg.block_diag(m[0], [1, 2]), lambda k: scipy.linalg.block_diag(k, k)),
    ],
    "rosen": [
        *(lambda m: scipy.optimize.rosen(m), lambda m: scipy.optimize.rosen_der(m)),
        *(lambda k: scipy.optimize.rosen(k), lambda k: scipy.optimize.rosen_der(k)),
    ],
    "fftshift": [lambda m: scipy.fft.fftshift(m), lambda m: scipy.fft.ifftshift(m, axes=1)],
    "skew": [
        *(lambda m: stats.skew(m), lambda m: stats.skew(m, axis=1, bias=False)),
        *(lambda m: stats.skew(m, axis=None), lambda m: stats.skew(m, axis=None, keepdims=True)),
        *(lambda m: stats.skew(m * 0 + 1), lambda k: stats.skew(k)),
    ],
    "kurtosis": [
        *(lambda m: stats.kurtosis(m), lambda m: stats.kurtosis(m * 0 + 1)),
        lambda m: stats.kurtosis(m, axis=1, bias=False, fisher=False),
        lambda m: stats.kurtosis(m, axis=None, keepdims=True),
    ],
    "scores": [
        *(lambda m: stats.zscore(m, axis=None, ddof=1), lambda m: stats.zscore(m * 0 + 2)),
        *(lambda k: stats.zscore(k), lambda m: stats.zmap(m, m[:3])),
    ],
    "means": [
        *(lambda m: stats.sem(m, axis=None), lambda k: stats.sem(k)),
        lambda m: stats.sem(m, axis=1, ddof=0, keepdims=True),
        lambda m: stats.gmean(abs(m), axis=1, keepdims=True),
        *(lambda m: stats.gmean(abs(m), weights=abs(m) + 1), lambda k: stats.gmean(k + 1)),
    ],
}


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TRACED)
def test_functions_that_scipy_computes_on_tensors(name, dtype):
    for f in TRACED[name]:
        x = K if f.__code__.co_varnames[0] == "k" else M.astype(dtype)
        wanted, found = f(x.copy()), jitted(f, default_float="float64")(x.copy())
        rtol = 1e-10 if x.dtype != np.float32 else 2e-4
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-2 * rtol)
        assert type(found) is type(wanted)
        assert found.dtype == wanted.dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "f",
    [
        lambda m: stats.skew(m, nan_policy="omit"),
        lambda m: stats.sem(m[:1]),
        lambda m: stats.zscore(m, axis=(0, 1)),
    ],
)
def test_what_scipy_warns_of_is_left_to_it(f):
    with pytest.raises(NotCompiledError, match="no compiled implementation"):
        jitted(f)(M)
