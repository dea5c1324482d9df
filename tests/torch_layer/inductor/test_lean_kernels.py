"""Kernels without torch's headers compute the bits of those with them."""

import os
import shutil

import numpy as np
import pytest
from children import run_prepared as run

import npaccel
from npaccel._torch.inductor import kernel_files
from npaccel._torch.inductor.lean import names, preamble

pytestmark = [
    pytest.mark.inductor,
    pytest.mark.skipif(bool(names.unknown_machine()), reason=names.unknown_machine()),
]

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.5, 1e-30, 1e30]


def values(dtype, seed):
    """Return a matrix of 7 rows that no vector divides, with what is special first."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, (7, 37)).astype(bool)
    if dtype.kind == "c":
        return (values(dtype.char.lower(), seed) + 1j * rng.normal(size=(7, 37))).astype(dtype)
    if dtype.kind == "f":
        x = (rng.normal(size=(7, 37)) * 3).astype(dtype)
        x.flat[: len(SPECIAL)] = SPECIAL
        return x
    info = np.iinfo(dtype)
    x = rng.integers(max(info.min, -50), 100, (7, 37)).astype(dtype)
    x.flat[:3] = info.min, info.max, 0
    return x


def rounded(x, y):
    signs = np.sign(x), np.abs(x), -x, np.signbit(x), np.copysign(x, y)
    kinds = np.isnan(x), np.isinf(x), np.isfinite(x)
    return *signs, *kinds, np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sqrt(x)


def transcendental(x, y):
    whole = np.exp(x), np.log(x), np.sin(x), np.cos(x), np.tan(x), np.tanh(x), np.arctan(x)
    others = np.expm1(x), np.log1p(x), np.log2(x), np.log10(x), np.exp2(x), np.arcsin(x)
    more = np.sinh(x), np.cosh(x), np.arcsinh(x), np.arccosh(x), np.arctanh(x), np.arccos(x)
    return *whole, *others, *more, np.arctan2(x, y), np.hypot(x, y), np.fmod(x, y), x**y


def arithmetic(x, y):
    return x + y, x - y, x * y, np.maximum(x, y), np.minimum(x, y), np.where(x > y, x, y)


def quotients(x, y):
    return x / y, x // y, x % y, 1 / x


def compared(x, y):
    found = x == y, x != y, x < y, x <= y, x > y, x >= y
    return *found, (x > y) & (y > 0), (x > y) | ~(y > 0), np.where((x > 0) ^ (y > 0), x, y)


def converted(x, y):
    return [x.astype(dtype) for dtype in ("f8", "f4", "i8", "i4", "?")]


def of_bits(x, y):
    return x & y, x | y, x ^ y, ~x, x << (y & 7), x >> (y & 7), x << y, x >> y


def reduced(x, y):
    kinds = np.sum, np.prod, np.max, np.min, np.any, np.all, np.argmax, np.argmin, np.mean
    return [kind(x * y, axis=axis) for kind in kinds for axis in (None, 0, 1)]


def without_nan(x, y):
    kinds = np.nanmax, np.nansum, np.var
    return [kind(x + 1, axis=axis) for kind in kinds for axis in (None, 0, 1)]


def complex_numbers(x, y):
    return x + y, x * y, x / y, np.conj(x), np.abs(x), x.real - y.imag, np.exp(x), x.sum(axis=0)


CASES = [
    *((f, dtype) for f in (rounded, transcendental, quotients, without_nan) for dtype in "df"),
    *((f, dtype) for f in (arithmetic, compared, reduced) for dtype in "dfqi"),
    *((converted, dtype) for dtype in "dfqi?"),
    *((of_bits, dtype) for dtype in "qi"),
    (quotients, "q"),
    (complex_numbers, "D"),
    (complex_numbers, "F"),
]


def bits(found):
    """Return what is compared: NaN has a sign, that of an operand which the compiler puts first."""
    arrays = [np.asarray(one) for one in found]
    parts = [one.view(one.real.dtype) if one.dtype.kind == "c" else one for one in arrays]
    numbers = [np.where(one != one, one.dtype.type(1), one) for one in parts]
    places = [(one != one).tobytes() for one in parts]
    shapes = [(one.dtype, one.shape, one.tobytes()) for one in numbers]
    return list(zip(shapes, places, strict=True))


def both(f, *arrays):
    """Call a function compiled without torch's headers and with them; return also what is told."""
    given = {"default_float": "float64", "strict": True, "cache": False}
    with np.errstate(all="ignore"):
        lean = npaccel.jit(f, **given)
        found = lean(*arrays)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(names, "uncovered", lambda sources: "a test")
            whole = npaccel.jit(lambda *arrays: f(*arrays), **given)
            expected = whole(*arrays)
    told = [graph.details.headers for one in (lean, whole) for graph in one.report().graphs]
    return found, expected, told


@pytest.mark.sampled
@pytest.mark.parametrize(("f", "dtype"), CASES, ids=lambda x: getattr(x, "__name__", x))
def test_the_bits_are_those_with_torchs_headers(f, dtype):
    found, expected, told = both(f, values(dtype, 0), values(dtype, 1))
    assert bits(found) == bits(expected)
    assert told == [(), ("a test",)]


ROWS = """
sys.path[:0] = json.loads(sys.argv[1])
import test_lean_kernels as lean
import npaccel
from torch._inductor.cpu_vec_isa import pick_vec_isa
found = {}
for f, dtype in ((lean.rounded, "d"), (lean.transcendental, "f"), (lean.compared, "d"),
                 (lean.reduced, "f"), (lean.converted, "d"), (lean.arithmetic, "i")):
    one, other, told = lean.both(f, lean.values(dtype, 0), lean.values(dtype, 1))
    if f is not lean.transcendental:  # Some of these need headers with newer releases.
        assert told == [(), ("a test",)], told
    found[f.__name__] = lean.bits(one) == lean.bits(other)
answer(found=found, instructions=str(pick_vec_isa()))
"""


def test_avx2(tmp_path):
    """As on a processor without AVX512."""
    import json
    import sys

    own = {"ATEN_CPU_CAPABILITY": "avx2", "NPACCEL_CACHE_DIR": str(tmp_path)}
    answer = run(ROWS, json.dumps(sys.path), **own)
    if answer["instructions"] != "avx2":
        pytest.skip(f"the processor has {answer['instructions']}")
    assert all(answer["found"].values()), answer["found"]


def test_nothing_is_precompiled_for_them(tmp_path):
    script = """
import npaccel
from pathlib import Path
fn = npaccel.jit(lambda x: np.sin(x) * 4.25)
fn(np.arange(3.0))
files = [path.name for path in Path(os.environ["NPACCEL_CACHE_DIR"]).glob("**/*.gch")]
answer(files=files, said=str(fn.report()))
"""
    found = run(script, NPACCEL_CACHE_DIR=str(tmp_path))
    assert found["files"] == []
    assert "headers" not in found["said"]


def test_what_needs_headers_is_told():
    fn = npaccel.jit(lambda x: x + x, strict=True)
    fn(np.arange(3, dtype="e"))
    assert "graph 0 takes longer to compile: kernels need torch's headers for" in str(fn.report())


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2"])
def test_narrow_integers_need_headers(dtype):
    """g++ converts their lanes one by one where vectors are its own."""
    fn = npaccel.jit(lambda x: (x * 2).astype(dtype), strict=True, default_float="float64")
    x = np.arange(40.0)
    np.testing.assert_array_equal(fn(x), (x * 2).astype(dtype), strict=True)
    assert "kernels need torch's headers for" in str(fn.report())


def test_what_the_compiler_refuses_is_built_with_headers(monkeypatch):
    monkeypatch.setattr(preamble, "preamble", lambda sources: "nonsense;\n")
    fn = npaccel.jit(lambda x: x * 7.75, strict=True, cache=False)
    assert fn(np.arange(3.0)).tolist() == [0.0, 7.75, 15.5]
    (graph,) = fn.report().graphs
    assert "nonsense" in graph.details.headers[0]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0); tmp0.store(out_ptr0);", ""),
        ("auto tmp0 = std::exp(in_ptr0[0]); // a comment that calls something(x)", ""),
        ('TORCH_CHECK(tmp0 < ks0, "index(es) out of bounds")', ""),
        ("auto body = [&] { return tmp1; }; auto tmp2 = tmp0 ? body() : 0;", ""),
        ("auto tmp1 = tmp0.digamma();", ".digamma"),
        ("auto tmp1 = at::vec::VectorizedN<double,2>::unknown(tmp0);", ".unknown"),
        ("auto tmp1 = std::cyl_bessel_j(0, tmp0);", "std::cyl_bessel_j"),
        ("auto tmp1 = calc_erfinv(tmp0);", "calc_erfinv"),
        ("auto tmp1 = reduce_it<double>(tmp0);", "reduce_it"),
        ("at::Half* out_ptr0;", "at::Half"),
        ("auto tmp1 = _mm512_abs_epi64(tmp0);", "_mm512_abs_epi64"),
        ("auto tmp1 = at::vec::convert<uint8_t,1,float,1>(tmp0);", "convert<uint8_t"),
        ("transpose_mxn<float,16,16,false>(in_ptr0, 8L, tmp0, 16L);", "transpose_mxn<float"),
    ],
)
def test_names_are_a_closed_list(code, name):
    assert names.uncovered([f'extern "C" void kernel()\n{{\n    {code}\n}}']) == name


def test_every_part_is_used():
    parts = {path.name for path in preamble._FOLDER.glob("*.h")}
    by_name = {*names.SCALAR_PARTS, *names.VECTOR_PARTS}
    others = {"base.h", "binding.h", "caught.h", "erf.h", "math.h", "vectors.h"}
    machines = {f"avx{bits}{part}.h" for bits in (256, 512) for part in ("", "_rounding")}
    assert parts == by_name | others | machines


@pytest.mark.skipif(shutil.which("clang++") is None, reason="there is no clang++ here")
def test_clang(tmp_path):
    script = """
import npaccel
fn = npaccel.jit(lambda x: np.where(np.sqrt(x) > 1, np.sin(x), x).sum(axis=0), strict=True)
x = np.linspace(0.5, 2.5, 500).reshape(5, 100)
close = bool(np.allclose(fn(x), np.where(np.sqrt(x) > 1, np.sin(x), x).sum(axis=0)))
answer(close=close, headers=fn.report().graphs[0].details.headers)
"""
    found = run(script, CXX=shutil.which("clang++"), NPACCEL_CACHE_DIR=str(tmp_path))
    assert found == {"close": True, "headers": []}


def test_kernels_run_in_threads_and_tell_what_they_throw():
    """Whether an index is out of bounds is told by the first iteration that finds it."""
    fn = npaccel.jit(lambda x, i: x[i] * 2, strict=False)
    x, i = np.arange(100_000.0), np.arange(100_000)
    np.testing.assert_array_equal(fn(x, i), x * 2)
    i[77_777] = 100_000
    with pytest.raises(IndexError):
        fn(x, i)


def test_each_file_says_in_which_way_it_was_built():
    kernel = kernel_files._Kernel(["double*"], 'extern "C" void kernel(double* x)\n{ x[0] = 1; }')
    text = kernel_files._lean_file_of([kernel])
    assert "#include" not in text
    assert os.linesep not in text.partition("\n")[0]
