"""Loop nests over single elements, through Numba and in Python: the same in all that shows."""

import gc
import math
import sys
import time
import traceback

import numpy as np
import pytest
from nest_checking import check, compiled, copied, function_of, nest_of
from numpy.testing import assert_array_equal

from npaccel._loops.nests import numba_backend

pytest.importorskip("numba")
pytestmark = pytest.mark.sampled
RNG = np.random.default_rng(7)
N = 12
FACTOR, TABLE = 3, np.array([1.5, 2.5, 4.0])


# Programs


def gauss_seidel(u, f, h, sweeps):
    for _ in range(sweeps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (
                    u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - h * h * f[i, j]
                )
    return ()


def lu(a):
    for k in range(a.shape[0]):
        for i in range(k + 1, a.shape[0]):
            a[i, k] /= a[k, k]
            for j in range(k + 1, a.shape[0]):
                a[i, j] -= a[i, k] * a[k, j]
    return ()


def triangular(low, b, x):
    for i in range(len(b)):
        s = 0
        for k in range(i):
            s += low[i, k] * x[k]
        x[i] = (b[i] - s) / low[i, i]
    return (s, i)


def pairs(a, b):
    return 1 if a + b == 3 else 0


def nussinov(seq, table):
    for i in range(table.shape[0] - 1, -1, -1):
        for j in range(i + 1, table.shape[0]):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < table.shape[0]:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < table.shape[0]:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return ()


def crc(data, poly, value):
    for b in data:
        value ^= int(b) << 8
        for _ in range(8):
            value = ((value << 1) ^ poly if value & 0x8000 else value << 1) & 0xFFFF
    return (value,)


def crc_in_uint16(data, poly, value):
    for i in range(len(data)):
        value = value ^ (np.uint16(data[i]) << 8)
        for _ in range(8):
            if value & np.uint16(0x8000):
                value = (value << 1) ^ poly
            else:
                value = value << 1
    return (value,)


def matvec(indptr, indices, data, x, y):
    for row in range(len(indptr) - 1):
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total
    return (total,)


def prefix(x, out, best):
    total = 0
    for i, value in enumerate(x):
        total = total + value
        out[i] = total
        if best is None or value > best:
            best = value
    return (total, best)


def mandelbrot(out, limit):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            c = complex(-2.0 + 0.2 * j, -1.0 + 0.2 * i)
            z = 0j
            k = 0
            while k < limit and abs(z) <= 2.0:
                z = z * z + c
                k += 1
            out[i, j] = k
    return (z,)


SPARSE = (np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 3]), np.arange(5) + 0.5)
BYTES = RNG.integers(0, 256, 30).astype(np.uint8)
PROGRAMS = {
    "Gauss-Seidel": (gauss_seidel, RNG.random((N, N)), RNG.random((N, N)), 0.1, 3),
    "Gauss-Seidel, float32": (
        gauss_seidel,
        RNG.random((N, N)).astype(np.float32),
        RNG.random((N, N)).astype(np.float32),
        np.float32(0.1),
        2,
    ),
    "LU by elements": (lu, RNG.random((N, N)) + N * np.eye(N)),
    "Nussinov": (nussinov, RNG.integers(0, 4, N), np.zeros((N, N), np.int64)),
    "CRC of Python ints": (crc, BYTES, 0x1021, 0xFFFF),
    "CRC of uint16": (crc_in_uint16, BYTES, np.uint16(0x1021), np.uint16(0xFFFF)),
    "CSR matvec": (matvec, *SPARSE, RNG.random(4), np.zeros(3)),
    "prefix": (prefix, RNG.integers(-9, 9, N).astype(np.int16), np.zeros(N), None),
    "Mandelbrot": (mandelbrot, np.zeros((11, 15), np.int32), 30),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, *args = PROGRAMS[name]
    check(function, *args, namespace=globals())


def test_triangular_solve_and_no_iteration():
    """``s`` is a Python int where its loop has no iteration, a NumPy scalar otherwise."""
    low, b = np.tril(RNG.random((N, N))) + np.eye(N), RNG.random(N)
    nest = check(triangular, low, b, np.zeros(N))
    check(triangular, low[:1, :1].copy(), b[:1].copy(), np.zeros(1), nest=nest)
    assert type(nest(low[:1, :1].copy(), b[:1].copy(), np.zeros(1))[0]) is int


def test_speed():
    """Fifty times Python at least; two hundred is usual."""
    u, f = RNG.random((120, 120)), RNG.random((120, 120))
    nest = compiled(gauss_seidel, u, f, 0.1, 1)
    seconds = {}
    for name, function, sweeps in (("Python", gauss_seidel, 1), ("Numba", nest, 50)):
        times = []
        for _ in range(3):
            start = time.thread_time()
            function(u.copy(), f, 0.1, sweeps)
            times.append((time.thread_time() - start) / sweeps)
        seconds[name] = min(times)
    assert seconds["Python"] / seconds["Numba"] >= 50, seconds


# Python's ints


def test_fibonacci_outgrows_64_bits():
    function = function_of(
        "def fibonacci(out, n, a, b):\n"
        "    for i in range(n):\n"
        "        out[i % 10] += a % 1000\n"
        "        a, b = b, a + b\n"
        "    return (a, b)\n"
    )
    told = []
    nest = compiled(function, np.zeros(10), 5, 0, 1, on_python=lambda *why: told.append(why))
    for n in (5, 90, 91, 92, 93, 200):  # beyond 91 in Python, from the arrays as they were
        check(function, np.zeros(10), n, 0, 1, nest=nest)
    assert told == [("an int that int64 can't hold", 4)]
    check(function, np.zeros(10), 95, np.int64(0), np.int64(1))  # NumPy's wrap


@pytest.mark.parametrize(
    "line", ["x = x * 3", "x = x << 1", "x = x ** 2 + 2", "x = -x - n", "x = x * x - 7"]
)
def test_growing_ints(line):
    function = function_of(
        f"def grow(v, x, n):\n    for i in range(n):\n        {line}\n        v[0] += 1\n"
        "    return (x,)\n"
    )
    nest = compiled(function, np.zeros(1), 1, 3)
    for n in (0, 1, 6, 9 if "x * x" in line or "**" in line else 70):
        check(function, np.zeros(1), 3, n, nest=nest)


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 0x9E3779B97F4A7C15, 2**63 - 1])
def test_unsigned_numbers_of_64_bits(number):
    function = function_of(
        "def mix(v, n):\n"
        "    for i in range(n):\n"
        f"        h = v[i] ^ np.uint64({number})\n"
        "        v[i] = h * np.uint64(0xBF58476D1CE4E5B9) ^ (h >> np.uint64(30))\n"
        "    return ()\n"
    )
    check(function, np.array([1, 5, 2**63, 2**64 - 1], np.uint64), 4)


def test_ints_beyond_64_bits_are_left_to_python():
    function = function_of(
        "def f(v, x):\n    for i in range(3):\n        v[i] = x\n    return ()\n"
    )
    nest = check(function, np.zeros(3), 5)
    check(function, np.zeros(3), 2**70, nest=nest)
    with pytest.raises(numba_backend.NotSupportedError, match="int64"):
        compiled(function, np.zeros(3), 2**70)


# Dtypes

LINES = {
    "arithmetic": ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} // {b}", "{a} % {b}"],
    "comparisons": ["{a} < {b}", "{a} <= {b}", "{a} == {b}", "{a} != {b}", "{a} >= {b}"],
    "choices": ["min({a}, {b})", "max({a}, {b})", "{a} and {b}", "{a} or {b}", "not {a}"],
    "bits": ["{a} & {b}", "{a} | {b}", "{a} ^ {b}", "{a} << {b}", "{a} >> {b}"],
    "functions": [
        *("abs({a})", "int({a})", "float({a})", "bool({b})", "np.minimum({a}, {b})"),
        *("np.maximum({a}, {b})", "np.int8({c})", "np.float32({b})", "np.floor({a})"),
    ],
}
EXTREMES = {
    "i": lambda info: [0, 1, 2, 7, -1, -3, info.max, info.min, info.max // 2],
    "u": lambda info: [0, 1, 2, 7, 3, 5, info.max, info.max - 1, info.max // 2],
    "f": lambda _: [0.0, -0.0, 1.0, -2.5, 3.75, 1e9, np.inf, -np.inf, np.nan],
    "b": lambda _: [False, True, False, False, True, True, True, False, True],
}


def extremes(dtype):
    dtype = np.dtype(dtype)
    info = np.iinfo(dtype) if dtype.kind in "iu" else None
    return np.array(EXTREMES[dtype.kind](info), dtype)


PAIRS = [
    *(("int64", "int64"), ("uint8", "uint8"), ("int32", "float32"), ("uint64", "int64")),
    *(("float32", "float32"), ("float64", "int8"), ("bool", "int16")),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_dtypes(first, second):
    """Every operator on every pair of extreme values, for a few pairs of dtypes."""
    lines = LINES["arithmetic"] + LINES["comparisons"] + LINES["choices"]
    lines += [line.replace("{c}", "x[0]") for line in LINES["functions"] if "int(" not in line]
    lines += [] if np.result_type(first, second).kind == "f" else LINES["bits"]
    names = [f"r{i}" for i in range(len(lines))]
    body = "".join(
        f"        {name} = {line.format(a='x[i]', b='y[j]')}\n"
        for name, line in zip(names, lines, strict=True)
        if not ("bool" in (first, second) and " - " in line and first == second)
    )
    function = function_of(
        f"def f(x, y, i, j):\n    for k in range(1):\n{body}    return ({', '.join(names)})\n"
    )
    nest = compiled(function, extremes(first), extremes(second), 0, 0)
    for i in range(9):
        for j in range(9):
            check(function, extremes(first), extremes(second), i, j, nest=nest)


WEAK = ["2", "7", "0.5", "True", "-1", "n"]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "bool"])
def test_weak_numbers(dtype):
    """Python numbers take the dtype of the NumPy scalar beside them."""
    lines = []
    for weak in WEAK:
        if weak == "-1" and dtype == "uint8":
            continue
        symbols = "*/" if (dtype, weak) == ("bool", "True") else "+-*/"
        lines += [f"x[i] {symbol} {weak}" for symbol in symbols]
        lines += [f"{weak} {symbol} x[i]" for symbol in symbols.replace("-", "%")]
    if dtype != "bool":
        lines += ["x[i] ** 2", "-x[i]", "abs(x[i])", "2 < x[i] <= 100", "x[i] == 300"]
    names = [f"r{i}" for i in range(len(lines))]
    body = "".join(f"        {n} = {line}\n" for n, line in zip(names, lines, strict=True))
    function = function_of(
        f"def f(x, i, n):\n    for k in range(1):\n{body}    return ({', '.join(names)})\n"
    )
    nest = compiled(function, extremes(dtype), 0, 3)
    for i in range(9):
        check(function, extremes(dtype), i, 3, nest=nest, ulps=1)


def test_weak_int_that_does_not_fit():
    function = function_of(
        "def f(x, i, n):\n    for k in range(2):\n        x[i] = x[i] + n\n    return ()\n"
    )
    nest = check(function, np.zeros(3, np.uint8), 0, 200)
    check(function, np.zeros(3, np.uint8), 0, 300, nest=nest)  # OverflowError
    check(function, np.zeros(3, np.uint8), 0, -1, nest=nest)


@pytest.mark.parametrize("target", ["int8", "uint16", "int64", "float32", "bool"])
def test_writes(target):
    """Whether NumPy raises for a number out of range, or casts it, is asked of NumPy."""
    function = function_of(
        "def f(out, w, x, n, q, i):\n"
        "    for k in range(1):\n"
        "        out[0] = w[i]\n"
        "        out[1] = x[i]\n"
        "        out[2] = n\n"
        "        out[3] = q\n"
        "        out[4] += 1\n"
        "    return ()\n"
    )
    out, wide, real = np.zeros(5, target), extremes("int64"), np.array([0.5, -3.5, 200.0, 1e12])
    nest = compiled(function, out, wide, real, 5, 2.5, 0)
    for i, n, q in ((0, 5, 2.5), (1, 200, -7.9), (3, 7, 300.0), (2, 3, np.nan), (2, 3, np.inf)):
        check(function, out, wide, real, n, q, i, nest=nest)
    for i in (6, 7):
        check(function, out, wide, np.zeros(9), 1, 1.5, i, nest=nest)


def test_float32_stays_and_invented_floats_are_narrow():
    function = function_of(
        "def f(x, i):\n    for k in range(1):\n        a = np.sqrt(x[i])\n        b = i / 2\n"
        "        c = i / x[i]\n    return (a, b, c)\n"
    )
    single, whole = np.array([2.0], np.float32), np.array([3])
    kinds = [type(v) for v in compiled(function, single, 0)(single, 0)]
    assert kinds == [np.float32, float, np.float32]
    kinds = [type(v) for v in compiled(function, whole, 0)(whole, 0)]
    assert kinds == [np.float64, float, np.float64]
    narrow = compiled(function, whole, 0, narrow=True)
    assert [type(v) for v in narrow(whole, 0)] == [np.float32, float, np.float32]
    double = np.array([3.0])
    narrow = compiled(function, double, 0, narrow=True)
    assert [type(v) for v in narrow(double, 0)] == [np.float64, float, np.float64]


FUNCTIONS = [
    *("math.sqrt(x)", "math.exp(x)", "math.log(x)", "math.floor(x)", "int(x)", "round(x)"),
    *("1 / x", "7 // x", "x ** 2", "x ** y", "math.atan2(x, y)", "x % y", "2.0 ** x"),
]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_python_floats(text):
    """Python's own errors are raised: of domain, of range, of division by zero."""
    function = function_of(
        f"def f(x, y, v):\n    for i in range(2):\n        r = {text}\n        v[i] = r\n"
        "    return (r,)\n",
        {"math": math},
    )
    nest = compiled(function, 1.5, 2.0, np.zeros(2))
    for x in (1.5, -2.5, 0.0, -0.0, 1e308, math.inf, math.nan):
        for y in (2.0, 0.5, -1.0, 0.0):
            check(function, x, y, np.zeros(2), nest=nest, ulps=2)


# Indices, arrays, control


def test_index_error_is_numpys_at_the_users_line():
    function = function_of(
        "def f(a, n):\n    for i in range(n):\n        a[i, 2] = 1\n        a[1, -i] += i\n"
        "    return ()\n"
    )
    nest = check(function, np.zeros((4, 3)), 3)
    check(function, np.zeros((4, 3)), 4, nest=nest)  # axis 1, backwards, after some writes
    check(function, np.zeros((1, 3)), 3, nest=nest)
    a = np.zeros((1, 3))
    references = sys.getrefcount(a)
    for _ in range(3):
        with pytest.raises(IndexError, match="index 1 is out of bounds for axis 0") as caught:
            nest(a, 2)
        place = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert place.line == "a[1, -i] += i"
        del caught
    gc.collect()
    assert sys.getrefcount(a) == references


def test_unusual_arrays():
    function = function_of(
        "def f(a, b, n):\n    for i in range(n):\n        b[-i] = a[i] + b[i]\n    return ()\n"
    )
    base = np.arange(20.0)
    for a, b in (
        (base[::3], base[::-2]),
        (base[5:], base[:15]),  # the same memory
        (base, base),
        (np.zeros((3, 4))[:, 1], base),
    ):
        check(function, a, b, 3)
    fixed = base.copy()
    fixed.flags.writeable = False
    nest = check(function, fixed, base, 3)
    check(function, base, fixed, 3, nest=nest)  # ValueError
    check(function, base, fixed, 0, nest=nest)


def test_no_dimensions_and_no_elements():
    function = function_of("def f(a, z):\n    for x in a:\n        z[()] += x\n    return ()\n")
    check(function, np.arange(3), np.array(1.5))
    check(function, np.zeros(0, np.int8), np.array(1.5))


def test_rows_and_swapped_arrays():
    function = function_of(
        "def f(u, v, n):\n"
        "    for t in range(n):\n"
        "        for i in range(1, len(u) - 1):\n"
        "            row = u[i]\n"
        "            for j, (x, y) in enumerate(zip(row, u[i - 1])):\n"
        "                v[i][j] = x + 2 * y + t\n"
        "        u, v = v, u\n"
        "    return (u, v)\n"
    )
    nest = check(function, RNG.random((5, 4)), np.zeros((5, 4)), 3)
    check(function, RNG.random((5, 4)), np.zeros((5, 4)), 2, nest=nest)


def test_unbound_names():
    function = function_of(
        "def f(v):\n    for i in range(len(v)):\n        x = v[i]\n    return (x,)\n"
    )
    nest = check(function, np.arange(3.0))
    check(function, np.zeros(0), nest=nest)  # UnboundLocalError


def test_what_comes_in_and_goes_out():
    """A parameter that may stay as it was comes out as it went in, whatever it is."""
    function = function_of(
        "def f(v, x):\n    for i in range(len(v)):\n        x = v[i]\n    return (x,)\n"
    )
    marker = object()
    nest = compiled(function, np.arange(3), marker)
    assert nest(np.zeros(0, int), marker) == (marker,)
    assert nest(np.arange(3), marker) == (2,)


def test_control():
    function = function_of(
        "def f(v, n):\n"
        "    found = -1\n"
        "    for i in range(n):\n"
        "        if v[i] < 0:\n"
        "            continue\n"
        "        k = i\n"
        "        while k > 0 and v[k - 1] > v[k]:\n"
        "            v[k - 1], v[k] = v[k], v[k - 1]\n"
        "            k -= 1\n"
        "            if v[k] == 77:\n"
        "                break\n"
        "        else:\n"
        "            found = k\n"
        "    else:\n"
        "        found += 100\n"
        "    return (found, k)\n"
    )
    nest = check(function, np.array([5, 3, -1, 77, 2, 9]), 6)
    check(function, np.array([1, 2, 3]), 3, nest=nest)


def test_raise_and_assert():
    function = function_of(
        "def f(v):\n    for i in range(len(v)):\n"
        "        assert v[i] != 3, 'three'\n"
        "        if v[i] < 0:\n            raise ValueError('negative')\n    return (i,)\n"
    )
    nest = check(function, np.array([1, 2]))
    check(function, np.array([1, 3]), nest=nest)
    check(function, np.array([1, -3]), nest=nest)


# What is read from outside


def test_globals_are_read_again():
    names = {"np": np, "SCALE": 2, "WEIGHTS": np.array([1.0, 2.0])}
    source = (
        "def f(v):\n    for i in range(2):\n        v[i] *= SCALE + WEIGHTS[i]\n    return ()\n"
    )
    function = function_of(source, names)
    nest = compiled(function, np.ones(2))
    check(function, np.ones(2), nest=nest)
    names["WEIGHTS"][0] = 50.0
    check(function, np.ones(2), nest=nest)
    names["SCALE"] = 0.5
    check(function, np.ones(2), nest=nest)
    names["WEIGHTS"] = np.array([3, 4])
    check(function, np.ones(2), nest=nest)


def test_attributes_are_read_again():
    class Model:
        def __init__(self):
            self.rate, self.state = 0.5, np.arange(4.0)

    function = function_of(
        "def f(self, n):\n    for i in range(1, n):\n"
        "        self.state[i] += self.rate * self.state[i - 1]\n    return (i,)\n"
    )
    ours, theirs = Model(), Model()
    nest = compiled(function, ours, 4)
    for rate in (0.5, 2, np.float32(0.1)):
        ours.rate = theirs.rate = rate
        assert nest(ours, 4) == function(theirs, 4)
        assert_array_equal(ours.state, theirs.state)


def test_cache():
    before = len(numba_backend._compiled)
    function, *args = PROGRAMS["prefix"]
    check(function, *args, namespace=globals())
    again = check(function, *args, namespace=globals())
    assert len(numba_backend._compiled) <= before + 1
    assert next(iter(again._made.values())) in [v[0] for v in numba_backend._compiled.values()]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("v[i] = words[i]", "words"),
        ("v[i] = x ** -n", "exponent that may be negative"),
        ("v[i] = np.sqrt(small[i])", "float16"),
        ("v[i] = v[i] + 1180591620717411303424", "int64"),
        ("v[i] = undefined", "undefined"),
        ("v[i] = sum(range(i))", "sum"),
    ],
)
def test_reasons(line, reason):
    function = function_of(
        f"def f(v, words, n, x, small):\n    for i in range(n):\n        {line}\n    return ()\n"
    )
    args = (np.zeros(3), ["a"], 3, 2, np.zeros(3, np.int8))
    with pytest.raises(numba_backend.NotSupportedError, match=f"line 3: .*{reason}") as caught:
        compiled(function, *args)
    assert caught.value.line == 3


def test_without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(numba_backend, "_compiled", {})
    nest, values = nest_of(lu), {"a": np.eye(2)}
    with pytest.raises(numba_backend.NotInstalledError, match="pip install"):
        numba_backend.compile_nest(nest, values, globals(), __file__)


def test_copies_keep_shared_memory():
    """The tests' own helper: without it, aliased arguments would be tested as separate."""
    base = np.arange(6)
    first, second = copied((base[1:], base[::-1]))
    first[0] = 50
    assert second[-2] == 50
    assert base[1] == 1
