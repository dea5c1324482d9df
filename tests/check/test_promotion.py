"""`npaccel.check_promotion` on the examples of NEP 50 and of NumPy's migration guide."""

import re

import numpy as np
import pytest

import npaccel
from npaccel import testing
from npaccel._check import numpy1_promotion

u8, i8 = np.array([1], np.uint8), np.array([1], np.int8)
f32, d32 = np.array([1.0], np.float32), np.array(1.0, np.float32)

#: Expression, dtype in NumPy 1, in NumPy 2 (an error's name where it raises). A comparison has
#: the dtype in which it's computed.
DOCUMENTED = [
    # The table of NEP 50.
    ("np.uint8(1) + 2", "int64", "uint8"),
    ("u8 + np.int64(1)", "uint8", "int64"),
    ("u8 + np.array(1, np.int64)", "uint8", "int64"),
    ("f32 + np.float64(1.0)", "float32", "float64"),
    ("f32 + np.array(1.0, np.float64)", "float32", "float64"),
    ("u8 + 1", "uint8", "uint8"),
    ("u8 + 200", "uint8", "uint8"),
    ("(u8 + 99) + 200", "uint8", "uint8"),
    ("u8 + 300", "uint16", "OverflowError"),
    ("np.uint8(1) + 300", "int64", "OverflowError"),
    ("np.uint8(100) + 200", "int64", "uint8"),
    ("np.float32(1) + 3e100", "float64", "float32"),
    ("f32 == 0.1", "float32", "float32"),
    ("f32 == np.float64(0.1)", "float32", "float64"),
    ("f32 + 1e-14 == 1.0", "float32", "float32"),
    ("d32 + 1e-14 == 1.0", "float64", "float32"),
    ("f32 + 3", "float32", "float32"),
    ("f32 + np.int64(3)", "float32", "float64"),
    ("3j + np.array(3, np.complex64)", "complex128", "complex64"),
    ("np.float32(1) + 1j", "complex128", "complex64"),
    ("np.int32(1) + 5j", "complex128", "complex128"),
    # Its text.
    ("np.result_type(np.int8, 1)", "int8", "int8"),
    ("np.result_type(np.int8, 255)", "int16", "OverflowError or int8"),
    ("np.result_type(np.int8, np.array(1, np.int64))", "int8", "int64"),
    ("np.result_type(np.array(1, np.uint8), 1)", "int64", "uint8"),
    ("np.result_type(np.int8(1), 1)", "int64", "int8"),
    ("np.can_cast(np.int64(100), np.uint8)", "True", "False"),
    ("np.can_cast(np.array(100, np.int64), np.uint8)", "True", "False"),
    ("np.can_cast(100, np.uint8)", "True", "TypeError"),
    ("np.array([1, 2, 3], np.uint8) + 1", "uint8", "uint8"),
    ("np.array([1, 2, 3], np.float32) + 2.0", "float32", "float32"),
    ("np.uint8(1) + 1", "int64", "uint8"),
    ("np.int16(2) + 2", "int64", "int16"),
    ("np.uint16(3) + 3.0", "float64", "float64"),
    ("np.int16(4) + 4j", "complex128", "complex128"),
    ("np.float32(5) + 5j", "complex128", "complex64"),
    ("np.bool_(True) + 1", "int64", "int64"),
    ("True + np.uint8(2)", "uint8", "uint8"),
    ("np.arange(10, dtype=np.uint8) + np.int64(1)", "uint8", "int64"),
    ("np.add(np.arange(10, dtype=np.uint8), np.int64(1))", "uint8", "int64"),
    ("np.arange(10, dtype=np.int8) + 1", "int8", "int8"),
    ("np.arange(10, dtype=np.int8) + 256", "int16", "OverflowError"),
    ("np.array([1.0, 2.0], np.float32) * 3.5", "float32", "float32"),
    ("np.array([1.0, 2.0], np.float32) * 1e200", "float64", "float32"),
    ("np.arange(100, dtype=np.uint8)[10] * 100", "int64", "uint8"),
    ("np.float32(1 / 3) == 1 / 3", "float64", "float32"),
    ("u8 * 1000", "uint16", "OverflowError"),
    ("np.float32(1e-30) * 1e50", "float64", "float32"),
    ("np.multiply(f32, 2.0)", "float32", "float32"),
    ("f32 * np.float64(2.0)", "float32", "float64"),
    ("np.array([3]) + 2**100", "object", "OverflowError"),
    ("np.int64(1) + np.int32(2)", "int64", "int64"),
    ("u8 + 4", "uint8", "uint8"),
    ("u8 * (-1)", "int16", "OverflowError"),
    ("np.add(u8, np.array(4, dtype=np.int64))", "uint8", "int64"),
    ("np.add(u8, [4])", "int64", "int64"),
    ("np.add(u8, np.array([4], dtype=np.int64))", "int64", "int64"),
    # The migration guide.
    ("np.float32(3) + 3.0", "float64", "float32"),
    ("np.array([3], dtype=np.float32) + np.float64(3)", "float32", "float64"),
]

MODULE = "import numpy as np\n" + "".join(
    f"def example_{i}(u8, f32, d32):\n    return {expression}\n"
    for i, (expression, _, _) in enumerate(DOCUMENTED)
)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    path = tmp_path_factory.mktemp("examples") / "nep50_examples.py"
    path.write_text(MODULE, encoding="utf-8")
    space = {"__name__": "nep50_examples"}
    exec(compile(MODULE, str(path), "exec"), space)
    return space


@pytest.mark.parametrize("i", range(len(DOCUMENTED)), ids=[row[0] for row in DOCUMENTED])
def test_documented_examples(i, examples):
    expression, old, new = DOCUMENTED[i]
    with npaccel.options(default_float="float64"):
        report = npaccel.check_promotion(examples[f"example_{i}"], u8, f32, d32)
    changed = [one for one in report.findings if one.kind == "changed" and one.text == expression]
    if old == new:
        assert not changed
        return
    (finding,) = changed
    assert finding.numpy1 == old
    assert finding.numpy2 in new
    assert finding.line == 3 + 2 * i
    if new == "OverflowError":
        assert [one.kind for one in report.findings].count("overflow") == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("i", range(len(DOCUMENTED)), ids=[row[0] for row in DOCUMENTED])
def test_the_installed_numpy_does_as_documented(i, examples):
    """What the table says of NumPy 2 is asked of the one that is installed."""
    expression, _, new = DOCUMENTED[i]
    if "==" in expression:
        pytest.skip("the dtype of a comparison can't be seen from outside")
    try:
        got = examples[f"example_{i}"](u8, f32, d32)
        found = str(got.dtype) if isinstance(got, np.ndarray | np.generic) else str(got)
    except (OverflowError, TypeError) as error:
        found = type(error).__name__
    assert found in new


VALUES = [0, 1, -1, 127, 128, 255, 256, -129, 2**31, -(2**40), 1.5, 1e30, 1e300, 1j, True]


@pytest.mark.parametrize("code", "?bBhHiIlLefdFD")
def test_numpy_1_keeps_or_widens_the_arrays_dtype(code):
    """With a Python number of no higher kind the result holds array and number."""
    array = np.ones(2, code)
    for value in VALUES:
        found = numpy1_promotion.result_type(array, value)
        assert np.can_cast(array.dtype, found)
        if numpy1_promotion.looks_at_values([array, value]):
            assert numpy1_promotion.can_cast(value, found)
        else:
            assert found == np.promote_types(array.dtype, np.asarray(value).dtype)


def loses(x, i, z):
    narrow = x.astype(np.float32)
    out = np.zeros(3, np.float32)
    out[:] = x
    out += x
    big = i.astype(np.float32)
    real = z.astype(np.float64)
    return narrow, out, big, real


def test_lost_precision():
    z = np.ones(3, complex)
    report = npaccel.check_promotion(loses, np.ones(3), np.array([1, 2**25 + 1]), z)
    first = loses.__code__.co_firstlineno
    lossy = {one.line - first for one in report.findings if one.kind == "lossy"}
    assert lossy == {1, 3, 4, 5, 6}
    assert "2**24" in next(one.why for one in report.findings if one.line == first + 5)
    small = npaccel.check_promotion(loses, np.ones(3), np.array([1, 2]), z)
    assert {one.line - first for one in small.findings if one.kind == "lossy"} == {1, 3, 4, 6}


def widens(x, i):
    a = x * np.float64(2.5)
    b = x * i
    c = x + 2.5
    return a, b, c


def test_silent_widening_and_its_fix():
    report = npaccel.check_promotion(widens, np.ones(3, np.float32), np.arange(3))
    found = {one.text: one.fix for one in report.findings if one.kind == "widened"}
    assert found == {
        "x * np.float64(2.5)": "2.5 for np.float64(2.5)",
        "x * i": "i.astype(np.float32) for i",
    }


def narrows(i):
    t = np.linspace(0, 1, 4)
    return t * i.mean(), i / 3


def test_what_npaccel_narrows():
    report = npaccel.check_promotion(narrows, np.arange(4))
    found = {one.text: (one.numpy2, one.npaccel, one.fix) for one in report.findings}
    assert found["np.linspace(0, 1, 4)"] == (
        "float64",
        "float32",
        "np.linspace(0, 1, 4, dtype=np.float64) to stay in 64 bit",
    )
    assert found["i.mean()"][2] == "i.mean(dtype=np.float64) to stay in 64 bit"
    assert found["t * i.mean()"][2] == "", "it follows from the two"
    assert found["i / 3"][2] == "i.astype(np.float64) for i to stay in 64 bit"
    with npaccel.options(default_float="float64"):
        assert not npaccel.check_promotion(narrows, np.arange(4)).findings


def test_fixes_fix(tmp_path):
    """Each fix, put into the source, leaves nothing to find."""
    for body in ("x * np.float64(2.5)", "x * i", "x + np.float64(x[0])", "np.uint8(1) + 2"):
        for attempt in range(3):
            source = f"import numpy as np\ndef f(x, i):\n    return {body}\n"
            path = tmp_path / f"mended_{abs(hash(source))}.py"
            path.write_text(source, encoding="utf-8")
            space = {"__name__": path.stem}
            exec(compile(source, str(path), "exec"), space)
            report = npaccel.check_promotion(space["f"], np.ones(3, np.float32), np.arange(3))
            found = [one for one in report.surprises() if one.fix]
            if not found:
                break
            assert attempt < 2, str(report)
            new, _, rest = found[0].fix.partition(" for ")
            old = rest.partition(" to ")[0]
            body = re.sub(rf"(?<![\w.]){re.escape(old)}(?![\w])", new, body)


def test_assertion():
    testing.assert_no_promotion_surprises(lambda x: x * 2.5, np.ones(2, np.float32))
    with pytest.raises(AssertionError, match=r"2\.5 for np\.float64\(2\.5\)"):
        testing.assert_no_promotion_surprises(widens, np.ones(3, np.float32), np.arange(3))
    testing.assert_no_promotion_surprises(
        widens, np.ones(3, np.float32), np.arange(3), allow=("changed", "narrowed", "widened")
    )
    testing.assert_same_as_numpy(narrows, np.arange(4))


def test_arguments_stay_and_errors_pass():
    def writes(x):
        x += 1
        return x.reshape(2, 2)

    x = np.arange(3)
    with pytest.raises(ValueError, match="reshape"):
        npaccel.check_promotion(writes, x)
    assert np.array_equal(x, np.arange(3))


def test_without_source():
    space = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(ValueError, match="source"):
        npaccel.check_promotion(space["f"], u8)


def test_the_table():
    text = str(npaccel.check_promotion(widens, np.ones(3, np.float32), np.arange(3)))
    assert "NumPy 1 and 2 differ" in text
    assert "write 2.5 for np.float64(2.5)" in text
