"""Every ufunc against NumPy: extremes of all dtypes, shapes, keywords, operators."""

import operator
import warnings

import numpy as np
import pytest
import torch
from row_checks import ALL, check, data, implementation, same, tensors, traced
from sweep import tries
from torch.fx.experimental.proxy_tensor import make_fx

import npaccel
from npaccel._numpy.core import operators as core_operators
from npaccel._numpy.core.context import TraceSettings, tracing
from npaccel._numpy.core.table import row_of, rows
from npaccel._numpy.ufuncs import ufuncs as ufuncs_ufuncs

UFUNCS = [k.ufunc for k in ufuncs_ufuncs.KERNELS]
PRODUCTS = [k.ufunc for k in ufuncs_ufuncs.PRODUCT_KERNELS]
MIXED = ["bB", "lL", "Ll", "?b", "fl", "dl", "ei", "lf", "fD"]
EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)
name = lambda f: f.__name__  # noqa: E731 - pytest's way to name a parameter

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def extremes(code):
    """Return the numbers of a dtype at which kernels go wrong."""
    dtype = np.dtype(code)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 8, 16, 31, 63, 64, -1, -2, -3, -7]
        values += [info.max, info.max - 1, info.max // 2 + 1, info.min, info.min + 1]
        return np.array([v for v in values if info.min <= v <= info.max], dtype)
    if dtype.kind == "c":
        parts = np.array([0, -0.0, 1, -1, 0.5, -2.5, 3, np.inf, np.nan])
        x = np.zeros(parts.size**2, dtype)
        x.real, x.imag = (p.ravel() for p in np.meshgrid(parts, parts))
        return x
    info = np.finfo(dtype)
    values = [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3, -3, 7, 27, -8, 1e-3, 100.5, 1000]
    return np.array([*values, info.max, info.min, info.tiny, np.inf, -np.inf, np.nan], dtype)


def assert_elements(found, expected, ulps, operands, signed_zeros=True):
    """Compare every element by its own size, signs of zeros included."""
    found = found.resolve_conj().numpy()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    ok = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if expected.dtype.kind == "f" and signed_zeros:
        ok &= (np.signbit(found) == np.signbit(expected)) | np.isnan(expected)
    if expected.dtype.kind in "fc" and ulps:
        eps = ulps * np.finfo(expected.dtype).eps
        ok |= (np.abs(found - expected) <= eps * np.abs(expected)) & np.isfinite(expected)
        for part in ("real", "imag"):  # the finite part beside an infinite one
            mine, theirs = getattr(found, part), getattr(expected, part)
            near = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
            near |= np.abs(mine - theirs) <= eps * np.abs(theirs)
            ok |= np.isinf(expected) & near & (part == "imag") & (found.real == expected.real)
    wrong = np.flatnonzero(~ok)[:5]
    assert not wrong.size, [(*(x[i] for x in operands), found[i], expected[i]) for i in wrong]


def defined(ufunc, operands):
    """Drop what differs by design, as the notes of the rows say."""
    a, b = operands if len(operands) == 2 else (*operands, None)
    keep = np.ones(a.shape, bool)
    if ufunc is np.power and b.dtype.kind == "i":
        keep = b >= 0
    if ufunc in (np.power, np.float_power) and np.result_type(a, b).kind == "c":
        keep = np.isfinite(a) & np.isfinite(b) & (np.abs(np.log(np.abs(a))) < 60)
    if ufunc is np.multiply and a.dtype.kind == "c":
        keep = np.isfinite(a) & np.isfinite(b)
    return [x[keep] for x in operands]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=name)
def test_extremes(ufunc):
    run = implementation(ufunc)
    ulps = row_of(ufunc).tolerance or 0
    for codes in ALL if ufunc.nin == 1 else [*(c * 2 for c in ALL), *MIXED]:
        operands = [extremes(code) for code in codes]
        if ufunc.nin == 2:
            operands = [x.ravel() for x in np.meshgrid(*operands)]
        operands = defined(ufunc, operands)
        try:
            expected = ufunc(*operands)
        except TypeError:
            with pytest.raises(TypeError):
                run(*tensors(operands))
            continue
        found = run(*tensors(operands))
        if ufunc.nout == 1:
            found, expected = (found,), (expected,)
        for mine, theirs in zip(found, expected, strict=True):
            # NumPy's own vectorised and plain extrema disagree on 0.0 against -0.0
            assert_elements(mine, theirs, ulps, operands, ufunc not in EXTREMA)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=name)
def test_shapes(ufunc):
    shapes = [((), ()), ((0,), (1,)), ((3,), ()), ((2, 1), (3,)), ((0, 3), (3,)), ((2, 3), (4,))]
    code = "B" if ufunc.types[0][0] in "b?" else "f"
    for shape in shapes:
        check(ufunc, *(data(s, code, seed) for seed, s in enumerate(shape[: ufunc.nin])), ulps=64)
    strided = data((4, 6), code)[::2, 1::2].T
    check(ufunc, *[strided] * ufunc.nin, ulps=64)


@pytest.mark.sampled
@pytest.mark.parametrize("ufunc", [*UFUNCS, *PRODUCTS], ids=name)
def test_traces_with_symbolic_sizes(ufunc):
    if ufunc is np.isnat:
        return
    for code in ("l", "d", "I"):
        try:
            ufunc.resolve_dtypes((np.dtype(code),) * ufunc.nin + (None,) * ufunc.nout)
        except TypeError:
            continue
        shape = (5, 5) if ufunc in PRODUCTS else (5,)
        x = np.abs(data(shape, code)) + np.ones(1, code)
        traced(ufunc, *[x] * ufunc.nin)


def test_every_ufunc_of_numpy_has_a_row():
    public = {u for u in vars(np).values() if isinstance(u, np.ufunc)}
    assert {r.numpy for r in rows().values() if isinstance(r.numpy, np.ufunc)} >= public
    for ufunc in public:
        assert row_of(ufunc).name == f"numpy.{ufunc.__name__}"
        assert getattr(ufuncs_ufuncs, ufunc.__name__) is implementation(ufunc)


def test_names_in_a_printed_graph_can_be_imported():
    function = implementation(np.sin)
    assert function.__module__ == "npaccel._numpy.ufuncs.ufuncs"
    assert function.__name__ == "sin"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_ordinary_dtypes_are_single_ops(dtype):
    x = torch.ones(3, dtype=dtype)
    number = 2 if dtype == torch.int64 else 2.5
    ufuncs = [np.add, np.subtract, np.multiply, np.less, np.equal]
    if dtype != torch.int64:
        ufuncs += [np.divide, np.sin, np.exp, np.sqrt, np.tanh]
    for ufunc in ufuncs:
        run, more = implementation(ufunc), [number] * (ufunc.nin - 1)
        graph = make_fx(lambda *t: run(*t, *more))(x)  # noqa: B023 - traced at once
        calls = [n for n in graph.graph.nodes if n.op == "call_function"]
        assert len(calls) == 1, graph.code


# Keywords


def both(ufunc, *args, **kwargs):
    """Run NumPy and the row on copies; return results and both sets of arguments."""
    mine = tensors(args), tensors(kwargs)
    theirs = ufunc(*args, **kwargs)
    return implementation(ufunc)(*mine[0], **mine[1]), theirs, mine


@pytest.mark.parametrize("code", ["b", "H", "i", "L", "f", "d", "D"])
def test_out_is_written_and_returned(code):
    x, y = data((3, 4), code), data((4,), code, 1)
    for dtype in ("i8", "f4", "f8", "c16"):
        check(np.add, x, y, out=np.zeros((3, 4), dtype))
        out = np.zeros((3, 4), dtype)
        if np.can_cast(np.result_type(x, y), dtype, "same_kind"):
            found, expected, (_, kwargs) = both(np.add, x, y, out=out)
            assert found is kwargs["out"]
            same(found, expected)
    check(np.add, x, y, out=np.zeros((4,), code))
    check(np.add, y, y, out=np.zeros((3, 4), code))
    check(np.add, y, y, np.zeros(4, code))
    check(np.add, y, y, out=(np.zeros(4, code),))


def test_out_of_two_results():
    x = data((4,), "d")
    first, second = np.zeros(4), np.zeros(4)
    found, expected, (_, kwargs) = both(np.modf, x, out=(first, second))
    same(found, expected)
    assert found[1] is kwargs["out"][1]
    check(np.modf, x, out=(None, np.zeros(4)))
    check(np.modf, x, out=np.zeros(4))
    check(np.modf, x, out=(np.zeros(4),))
    check(np.divmod, x, 2.0, np.zeros(4), np.zeros(4))


def test_out_may_be_an_operand():
    x = np.arange(6.0)
    mine = torch.from_numpy(x.copy())
    implementation(np.add)(mine[:-1], mine[1:], out=mine[1:])
    np.add(x[:-1], x[1:], out=x[1:])
    np.testing.assert_array_equal(mine.numpy(), x)


def test_wrong_arguments_raise_numpys_classes():
    x = data((3,), "d")
    check(np.add, x)
    check(np.add, x, x, x.copy(), x.copy())
    check(np.add, x, x, x.copy(), out=x.copy())
    check(np.add, x, x, out=[1, 2, 3])
    check(np.add, x, data((4,), "d"))
    check(np.sin, x, nonsense=1)
    check(np.add, x, x, dtype="i8")
    check(np.add, x, x, casting="no")
    check(np.add, x, x, casting="nonsense")
    check(np.bitwise_and, x, x)
    check(np.isnat, x)


def test_where():
    x, y = data((3, 4), "d"), data((4,), "d", 1)
    mask = data((4,), "?")
    run = implementation(np.add)
    kept = np.full((3, 4), 7.0)
    found = run(*tensors([x, y]), out=torch.from_numpy(kept.copy()), where=torch.from_numpy(mask))
    same(found, np.add(x, y, out=kept.copy(), where=mask))
    found = run(*tensors([x, y]), where=torch.from_numpy(mask)).numpy()
    np.testing.assert_array_equal(found[:, mask], (x + y)[:, mask])
    assert run(*tensors([y, y]), where=torch.ones(3, 4, dtype=torch.bool)).shape == (3, 4)
    check(np.add, x, y, where=np.ones(4, int), out=kept)


def test_dtype_casting_signature():
    x = data((3,), "i")
    check(np.add, x, x, dtype="f4")
    check(np.add, x, x, dtype=np.float64)
    check(np.add, data((3,), "d"), 1.5, dtype="i8", casting="unsafe")
    check(np.add, x, x, signature="dd->d")
    check(np.add, x, x, signature=(None, None, np.dtype("f8")))
    check(np.sin, x, dtype="i8")
    check(np.add, x, x, dtype="f8", order="F", subok=False)


@pytest.mark.parametrize("number", [True, 0, 1, -1, 3, 2.5, -0.5, 1j, float("inf"), float("nan")])
@pytest.mark.parametrize("code", ["?", "b", "B", "I", "l", "e", "f", "d", "F"])
def test_python_numbers(code, number):
    x = data((7,), code)
    binary = [np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder]
    binary += [np.fmod, np.maximum, np.less, np.equal, np.left_shift, np.right_shift, np.logical_or]
    for ufunc in [*binary, np.power, np.bitwise_xor]:
        if ufunc is np.power and isinstance(number, int) and np.any(x.astype("c16").real < 0):
            check(ufunc, x, number)  # negative powers of integers raise in both
        elif ufunc is not np.power:
            check(ufunc, x, number)
            check(ufunc, number, x)


def test_nothing_but_python_numbers():
    check(np.add, 1, 2)
    check(np.divide, 1, 2)
    check(np.divmod, 7, 2.5)
    check(np.add, 2**70, 1)
    with tracing(TraceSettings(default_float="float32")):
        assert implementation(np.sqrt)(2.0).dtype == torch.float64


def test_lists_are_arrays():
    check(np.add, [1, 2], [0.5, 1])
    check(np.add, data((2,), "b"), [100, 200])
    check(np.maximum, data((2,), "f"), [1.5, 2])


def test_symbolic_numbers_are_operands():
    def f(x):
        n = x.shape[0]
        return implementation(np.divide)(x, n), implementation(np.subtract)(n, x), x + n

    graph = make_fx(f, tracing_mode="symbolic")(torch.arange(4.0))
    x = np.arange(6, dtype=np.float32)
    same(list(graph(torch.from_numpy(x))), [x / 6, 6 - x, x + 6])


def test_nothing_reads_a_value():
    x = torch.ones(3, device="meta")
    for ufunc in (np.add, np.floor_divide, np.remainder, np.power, np.arctan2, np.ldexp):
        second = x.to(torch.int64) if ufunc is np.ldexp else x
        assert implementation(ufunc)(x, second).device.type == "meta"


# Generalised ufuncs


@pytest.mark.parametrize("code", ALL)
@pytest.mark.parametrize("ufunc", PRODUCTS, ids=name)
def test_products(ufunc, code):
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4))]
    shapes += [((5, 2, 3), (5, 3)), ((1, 5, 2, 3), (4, 1, 3, 2)), ((2, 3), (2, 3)), ((), (3,))]
    shapes += [((0, 3), (3, 2)), ((2, 0), (0, 2))]
    for a, b in shapes:
        check(ufunc, data(a, code), data(b, code, 1), ulps=64)


def test_products_keywords():
    a, b = data((3, 4), "d"), data((3, 4), "d", 1)
    check(np.vecdot, a, b, axis=0)
    check(np.vecdot, a, b, axis=3)
    check(np.vecdot, a, b, keepdims=True)
    check(np.matmul, a, b.T, out=np.zeros((3, 3)))
    check(np.matmul, a, b.T, out=np.zeros((3, 2)))
    check(np.matmul, a, b.T, dtype="c16")
    check(np.matmul, a.astype("i4"), b.T.astype("f4"))
    check(np.matmul, a, 2.0)
    with pytest.raises(NotImplementedError, match="moveaxis"):
        implementation(np.matmul)(*tensors([a, b]), axes=[(0, 1), (0, 1), (0, 1)])


# Operators


def operators(kind):
    return sorted(
        {"binary": core_operators.BINARY, "inplace": core_operators.INPLACE}[kind], key=name
    )


def compare(mine, theirs):
    """Compare two calls: their results, or the classes of their errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = theirs()
        except (TypeError, ValueError, OverflowError) as error:
            kind = next(c for c in type(error).__mro__ if not c.__name__.startswith("_UFunc"))
            with pytest.raises(kind):
                mine()
        else:
            same(mine(), expected)


@pytest.mark.parametrize("op", operators("binary"), ids=name)
def test_binary_operators(op):
    for code in ALL:
        x, y = data((2, 2), code), np.ones((2, 2), code)
        if op is operator.pow:
            x = np.abs(x).astype(code)  # negative powers in an integer array don't raise
        for a, b in [(x, y), (x, 2), (2, y), (x, 2.0), (x, True), (1, x), ([[1, 2], [3, 4]], y)]:
            given = tensors([a, b])
            compare(
                lambda op=op, given=given: core_operators.binary(op, *given),
                lambda op=op, a=a, b=b: op(a, b),
            )


@pytest.mark.parametrize("op", sorted(set(core_operators.UNARY), key=name), ids=name)
def test_unary_operators(op):
    for code in ALL:
        x = data((4,), code)
        compare(
            lambda op=op, x=x: core_operators.unary(op, tensors(x)),
            lambda op=op, x=x: op(x),
        )
    assert core_operators.unary(operator.neg, 3) == -3


@pytest.mark.parametrize("op", operators("inplace"), ids=name)
def test_inplace_operators(op):
    for code in ALL:
        for b in (np.ones((2, 2), code), 2, 2.5, np.ones((2, 2)), np.ones((3, 1, 2, 2), code)):
            x = data((2, 2), code)
            mine = torch.from_numpy(x.copy())
            compare(
                lambda op=op, mine=mine, b=b: core_operators.inplace(op, mine, tensors(b)),
                lambda op=op, x=x, b=b: op(x, b),
            )
            same(mine, x)  # written, or left alone by both


def test_inplace_returns_its_operand():
    x = torch.ones(())
    assert core_operators.inplace(operator.iadd, x, 2) is x
    assert x.item() == 3
    assert core_operators.inplace(operator.iadd, 2, 3) == 5


@pytest.mark.parametrize("power", [-1, 0, 1, 2, 3, 0.5, 2.0, -1.0, -0.5])
@pytest.mark.parametrize("code", ["?", "b", "L", "e", "f", "d", "D"])
def test_powers_of_arrays(code, power):
    x = (
        extremes(code)
        if code in "efd"
        else np.abs(data((5,), code)).astype(code) + np.ones(1, code)
    )
    compare(
        lambda: core_operators.binary(operator.pow, tensors(x), power),
        lambda: x**power,
    )


@pytest.mark.parametrize("power", [-1, 0, 1, 2, 0.5, 2.0, 1.0, -1.0, 3, -2, -5.0, 7, 99])
@pytest.mark.parametrize("code", ["F", "D"])
def test_powers_of_complex_numbers_without_end(code, power):
    """NumPy has a shorter way for the integer -1, and multiplies for other whole numbers."""
    ends = (-np.inf, np.inf, -0.0, 2.0)
    x = np.array([complex(a, b) for a in ends for b in ends], code)
    found = core_operators.binary(operator.pow, torch.from_numpy(x), power).numpy()
    for part in ("real", "imag"):
        wanted = getattr(x**power, part)
        np.testing.assert_allclose(getattr(found, part), wanted, rtol=1e-6)
        known = ~np.isnan(wanted)
        signs = [np.signbit(each[known]) for each in (getattr(found, part), wanted)]
        np.testing.assert_array_equal(*signs)


def test_fast_powers_have_the_values_of_ndarray():
    x = np.array([-np.inf, -0.0, 4.0])
    found = core_operators.binary(operator.pow, torch.from_numpy(x), 0.5)
    same(found, x**0.5)
    found = core_operators.binary(operator.pow, torch.tensor(-np.inf), 0.5)
    assert found == np.float64(-np.inf) ** 0.5


def test_fix():
    for code in ("?", "i", "e", "d"):
        check(np.fix, data((5,), code))


# What the compiler makes of the kernels


@pytest.mark.inductor
@pytest.mark.slow
@pytest.mark.parametrize("code", ["b", "I", "l", "L", "f"])
def test_compiled_kernels_give_the_same(code):
    chosen = [np.floor_divide, np.remainder, np.left_shift, np.right_shift, np.add, np.less, np.lcm]
    if code == "f":
        chosen = [np.floor_divide, np.arctanh, np.expm1, np.arccosh, np.cbrt, np.frexp, np.spacing]
    operands = [x.ravel() for x in np.meshgrid(extremes(code), extremes(code))]
    operands = defined(np.floor_divide, operands)

    def all_of_them(a, b):
        return [implementation(u)(*(a, b)[: u.nin]) for u in chosen]

    given = tensors(operands)
    found = torch.compile(make_fx(all_of_them)(*given))(*given)
    for ufunc, mine in zip(chosen, found, strict=True):
        theirs = ufunc(*operands[: ufunc.nin])
        pairs = zip(mine, theirs, strict=True) if ufunc.nout == 2 else [(mine, theirs)]
        for x, y in pairs:
            assert_elements(x, y, row_of(ufunc).tolerance or 0, operands)


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
@pytest.mark.parametrize("function", [np.cosh, np.sinh], ids=lambda f: f.__name__)
def test_hyperbolic_functions_where_the_exponential_overflows(function, dtype):
    values = [0.0, -0.0, 1.0, 79.0, -81.0, 88.5, 89.0, -89.3, 709.5, 710.3, -710.3, 711, -np.inf]
    check(function, np.array([*values, np.nan], dtype))


@pytest.mark.parametrize("dtype", ["F", "D"])
def test_interpreted_quotients_of_complex_numbers_are_numpys(dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(2, 50)).astype(dtype) for _ in range(2))
    a.imag, b.imag = rng.normal(size=(2, 2, 50))

    def function(a, b):
        one = a / b
        a /= a
        return one, a, b.T / (2 - 1j), 2 / b, a[0, 0] / b[0], np.divide(b, a, out=a.copy())

    jitted = npaccel.jit(function, backend="eager", default_float="float64", cache=False)
    for got, wanted in zip(jitted(a.copy(), b), function(a.copy(), b), strict=True):
        np.testing.assert_array_equal(got, wanted)


def divisions(a, b, s):
    return (
        *(np.floor_divide(a, b), np.remainder(a, b), np.fmod(a, b), *np.divmod(a, b)),
        *(a // s, a % s, np.fmod(a, s), s // a, a // 5e-324, a % 1e-310, np.fmod(a, 0.1), a % 3.0),
    )


@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
def test_divisions_whose_quotients_overflow(backend):
    jitted = npaccel.jit(divisions, backend=backend, default_float="float64", cache=False)
    for code in "efd" if backend == "eager" else tries("d", "efd"):
        info = np.finfo(code)
        few = [0, 1, 3, 0.1, 7.3, info.max, info.max / 3, info.tiny, info.eps, np.inf, np.nan]
        least = info.smallest_subnormal
        values = np.array([*few, least, 3 * least], code)
        values = np.concatenate([values, -values])
        a, b = (x.ravel() for x in np.meshgrid(values, values))
        for s in (least, values[3], -values[2]):
            for got, wanted in zip(jitted(a, b, s), divisions(a, b, s), strict=True):
                np.testing.assert_array_equal(got, wanted)
                known = ~np.isnan(wanted)
                assert (np.signbit(got) == np.signbit(wanted))[known].all()
