"""The benchmarks compare like with like: every implementation gives NumPy's answer."""

import dataclasses
import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest

BENCHES = Path(__file__).resolve().parents[2] / "asv_benches"
IMPLEMENTATIONS = ["npaccel", "torch_compile", "numba", "jax"]


@pytest.fixture(scope="module")
def compare():
    sys.path.insert(0, str(BENCHES))
    yield importlib.import_module("compare")
    sys.path.remove(str(BENCHES))


@pytest.fixture
def small(compare, monkeypatch):
    """Return the benchmark classes, with less to do."""
    functions = importlib.import_module("benchmarks.functions")
    monkeypatch.setattr(
        compare.steady.KMeansStep,
        "arguments",
        lambda _, dtype, *__: functions.kmeans_points(1000, dtype),
    )
    return [
        (compare.steady.KMeansStep(), ("float64", "cpu")),
        (compare.steady.SliceWrites(), ()),
        (compare.overhead.Sine(), ()),
        (compare.overhead.SmallStencil(), ()),
    ]


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.filterwarnings("default")  # the peers' own
@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_implementations_give_numpys_answer(compare, small, implementation):
    if not importlib.import_module("benchmarks.common").is_installed(implementation):
        pytest.skip(f"{implementation} is not installed")
    for benchmark, parameters in small:
        if implementation == "jax" and isinstance(benchmark, compare.overhead.SmallStencil):
            with pytest.raises(NotImplementedError, match="can't run stencil"):
                compare.check_answers(benchmark, implementation, *parameters)
        else:
            compare.check_answers(benchmark, implementation, *parameters)


@pytest.fixture
def kernel_rows(compare, monkeypatch):
    """Return the module of the rows about kernels, with little to do, in peers that are Python."""
    common = importlib.import_module("benchmarks.common")
    monkeypatch.setattr(common, "PAUSE", 0.0)
    monkeypatch.setattr(common, "samples", lambda call, seconds, clock: [0.5])
    if common.is_installed("numba"):
        monkeypatch.setattr("numba.njit", lambda **_: lambda function: function)
        monkeypatch.setattr("numba.prange", range)
    rows = importlib.import_module("kernel_rows")
    x = np.random.default_rng(0).random((2, 40))
    sizes = {"chain": tuple(x), "energy": tuple(x), "softmax": (x,), "smooth": (x.reshape(8, 10),)}
    small = {
        f.__name__: (f, lambda f=f: sizes[f.__name__], True)
        for f, _, _ in rows.KERNELS.values()
        if f.__name__ in sizes
    }
    monkeypatch.setattr(rows, "KERNELS", small)
    return rows


@pytest.mark.filterwarnings("default")  # the peers' own
def test_peers_of_kernels_are_numpys_and_the_bytes_that_move_are_counted(kernel_rows, monkeypatch):
    of_peers = kernel_rows.build

    def build(function, implementation):
        return function if implementation == "npaccel" else of_peers(function, implementation)

    moved = []
    monkeypatch.setattr(kernel_rows, "copying", lambda size: moved.append(size) or (lambda: None))
    monkeypatch.setattr(kernel_rows, "build", build)
    monkeypatch.setattr(kernel_rows, "IMPLEMENTATIONS", ["numpy", "npaccel", "numba", "jax"])
    rows = {name: kernel_rows.kernel(name) for name in kernel_rows.KERNELS}
    assert set(rows) == {"chain", "energy", "softmax", "smooth"}
    assert moved == [960, 648, 1280, 1280]
    assert all(row.figures["copy"] == row.figures["npaccel"] == 0.5 for row in rows.values())


def test_a_kernel_with_a_wrong_answer_is_not_timed(kernel_rows, monkeypatch):
    monkeypatch.setattr(kernel_rows, "build", lambda function, _: lambda *arguments: 0.0)
    with pytest.raises(AssertionError, match="answer to energy is not NumPy's"):
        kernel_rows.kernel("energy")


def test_a_wrong_answer_is_noticed(compare, small, monkeypatch):
    monkeypatch.setattr(compare, "build", lambda *_: lambda x: np.sin(x) + 2)
    benchmark, parameters = small[2]
    with pytest.raises(AssertionError, match="not NumPy's"):
        compare.check_answers(benchmark, "npaccel", *parameters)


def test_a_missing_write_is_noticed(compare, small, monkeypatch):
    monkeypatch.setattr(compare, "build", lambda *_: lambda new, old: None)
    benchmark, parameters = small[3]
    with pytest.raises(AssertionError, match="not NumPy's"):
        compare.check_answers(benchmark, "npaccel", *parameters)


def test_blocks_are_timed_in_turn(compare, monkeypatch):
    common = importlib.import_module("benchmarks.common")
    turns = []
    monkeypatch.setattr(common, "PAUSE", 0.0)
    monkeypatch.setattr(
        common, "samples", lambda call, seconds, clock: turns.append(call()) or [call.seconds]
    )

    class Call:
        def __init__(self, seconds):
            self.seconds = seconds

        def __call__(self):
            return self.seconds

    taken = common.side_by_side({"a": Call(1.0), "b": Call(3.0)}, rounds=2)
    assert turns == [1.0, 3.0, 1.0, 3.0]
    assert taken == {"a": 1.0, "b": 3.0}


@pytest.fixture
def loop_rows(compare, monkeypatch):
    """Return the module of the rows about loops, with no time wasted on timing."""
    common = importlib.import_module("benchmarks.common")
    monkeypatch.setattr(common, "PAUSE", 0.0)
    monkeypatch.setattr(common, "samples", lambda call, seconds, clock: [float(call() is None)])
    return importlib.import_module("loop_rows")


@pytest.fixture
def little(loop_rows):
    """Return a program that is as little for timing as for tests."""
    program = loop_rows.PROGRAMS["lu_elements"]
    return dataclasses.replace(program, make_arguments=lambda _: program.make_arguments("test"))


class Recording:
    """Stands in for a jitted function: runs NumPy and reports what it is told to."""

    def __init__(self, function, fallbacks=(), loops=(), notes=()):
        self.function = function
        self.answers = types.SimpleNamespace(fallbacks=fallbacks, loops=loops, notes=notes)

    def __call__(self, *arguments):
        return self.function(*arguments)

    def report(self):
        return self.answers


def test_a_program_is_checked_timed_and_looked_through(loop_rows, little, monkeypatch):
    def build(program, implementation):
        if implementation != "npaccel":
            return program.function
        return Recording(program.function)

    monkeypatch.setattr(loop_rows, "build_program", build)
    run = loop_rows.run_program(little)
    assert set(run.seconds) == set(loop_rows.LOOP_IMPLEMENTATIONS) - {"jax"}
    assert not run.failed
    assert run.silent


@pytest.mark.parametrize("wrong", [lambda a: None, lambda a: 1 / 0])
def test_a_program_that_fails_stops_no_other(loop_rows, little, monkeypatch, wrong):
    calls = {"npaccel": wrong, "numpy": little.function}
    monkeypatch.setattr(loop_rows, "LOOP_IMPLEMENTATIONS", list(calls))
    monkeypatch.setattr(loop_rows, "build_program", lambda _, name: calls[name])
    run = loop_rows.run_program(little)
    assert list(run.seconds) == ["numpy"]
    assert len(run.failed) == 1
    assert run.speed("numpy") is None
    rows = loop_rows.suite_rows({"lu_elements": run})
    assert not any(row.met for row in rows[:-1])
    assert rows[-2].measured.startswith("1; lu_elements: ")


def test_what_is_reported_is_not_silent(loop_rows, little):
    function = little.function
    run = loop_rows.repeated(little, function, "test")
    assert loop_rows.is_silent(Recording(function), run)
    assert not loop_rows.is_silent(Recording(function, fallbacks=("why",)), run)
    for engine, detail, is_told in [
        ("Numba", "", True),
        ("Python", "", True),
        ("compiled body", "", False),
        ("compiled body", "in NumPy, measured", True),
    ]:
        loop = types.SimpleNamespace(engine=engine, detail=detail)
        assert loop_rows.is_silent(Recording(function, loops=(loop,)), run) is not is_told
    assert not loop_rows.is_silent(Recording(function, notes=("line 3 runs in NumPy",)), run)
    assert not loop_rows.is_silent(Recording(function), lambda: None)


def test_programs_are_repeated_on_the_same_input(loop_rows, little):
    seen = []
    run = loop_rows.repeated(little, lambda a: seen.append(a.copy()) or a.fill(0), "test")
    run()
    run()
    np.testing.assert_array_equal(seen[0], seen[1])


def test_the_suite_is_summed_up(loop_rows):
    runs = {
        "a": loop_rows.Run({"numpy": 8.0, "npaccel": 1.0, "numba": 0.5, "jax": 0.25}),
        "b": loop_rows.Run({"numpy": 2.0, "npaccel": 1.0}, silent=True),
    }
    rows = loop_rows.suite_rows(runs)
    assert rows[0].measured.startswith("geometric mean 4.00x of 2 programs; worst: b 2.00x")
    assert rows[1].measured == "b 2.00x"
    assert rows[2].measured.startswith("geometric mean 0.25x of 1 programs; worst: a 0.25x")
    assert [row.met for row in rows] == [True, True, False, True, False]
    assert rows[-1].measured == "1, b"
    assert loop_rows.jacobi_row(runs["a"]).measured == "numpy 8.00x, numba 0.50x, jax 0.25x"
    assert not loop_rows.jacobi_row(runs["a"]).met


def test_peak_memory_is_that_of_the_temporaries(compare):
    answer = compare.run_child("peak_memory", "numpy", "float32")
    points, dimensions, means = 2_000_000, 2, 2
    differences = points * dimensions * means * 4
    assert differences < answer["bytes"] < 8 * differences


def test_an_import_is_timed_in_a_new_process(compare):
    answer = compare.run_child("import", "sklearn")
    assert answer["seconds"] > 0
    assert {"scipy", "sklearn"} <= set(answer["loaded"])


def test_the_table_has_a_line_for_each_row(compare):
    rows = [
        compare.Row("a", "<= 1", "0.5", met=True, figures={}),
        compare.Row("b", "<= 1", "2.0", met=False, figures={}),
    ]
    assert compare.as_table(rows).splitlines()[2:] == [
        "| a | <= 1 | 0.5 | yes |",
        "| b | <= 1 | 2.0 | NO |",
    ]
    with pytest.raises(SystemExit):
        compare.main(["nonsense"])


def test_calls_of_rows_are_numpys(compare):
    calls = importlib.import_module("benchmarks.calls")
    table = importlib.import_module("benchmarks.table")
    known = calls.arrays("int64")
    for name in (*calls.names(), *calls.more_calls()):
        text = calls.more_calls().get(name) or calls.expression(name)
        assert calls.function_of(text, known).__code__.co_argcount <= 4, text
    function, arguments = calls.operands("np.copyto(x, b)", "int64")
    function(*arguments)
    assert np.array_equal(arguments[0], known["b"])
    assert not np.array_equal(known["x"], known["b"])
    with pytest.raises(NotImplementedError, match="bitwise_and"):
        table.prepare("np.bitwise_and(a, b)", "float64", "numpy")


def test_the_slowest_rows_are_listed(compare):
    rows = importlib.import_module("table_rows")
    times = {"sort": 2.0, "add": 1 / 0.95, "chain: a": 1.0, "chain: b": 1 / 9, "view": "refused"}
    found = {
        name: taken if isinstance(taken, str) else {"numpy": 1.0, "npaccel": taken}
        for name, taken in times.items()
    }
    found["shape"] = {"numpy": 1e-7, "npaccel": 1e-6}  # reads no element
    lines = rows.summary(found)
    assert [line.met for line in lines] == [False, True]
    assert lines[0].what.startswith("4 calls")
    assert "1 slower; worst: sort 0.50x, add 0.95x" in lines[0].measured
    assert "3.00x of 2" in lines[1].measured
    assert not rows.summary({"add": found["add"]}, left=3)[0].met


def test_rows_are_measured_in_pieces(compare, monkeypatch, tmp_path):
    rows = importlib.import_module("table_rows")
    taken = []

    def seconds(text, dtype):
        taken.append((text, dtype))
        if text == "c":
            raise NotImplementedError("no such call")
        return {"numpy": 1.0, "npaccel": 0.5}

    monkeypatch.setattr(rows, "seconds", seconds)
    texts, file = {"numpy.add": "a", "numpy.sub": "b", "numpy.cos": "c"}, tmp_path / "rows.json"
    assert rows.measure(texts, rows.Pieces(file, minutes=-1)) == 6
    assert rows.measure(texts, rows.Pieces(file, match=("a*",))) == 4
    assert [text for text, _ in taken] == ["a", "a"]
    assert rows.measure(texts, rows.Pieces(file)) == 0
    assert [text for text, _ in taken] == list("aabbcc")
    again = rows.Pieces(file)
    assert again.found["cos int64"] == "no such call"
    assert rows.speeds(again.found) == dict.fromkeys(
        ["add float64", "add int64", "sub float64", "sub int64"], 2.0
    )


@pytest.mark.slow
@pytest.mark.inductor
def test_masked_updates_are_those_by_hand(compare):
    masks = importlib.import_module("mask_rows")
    for text in masks.UPDATES:
        row = masks.update_row(text, size=1000, rounds=1)
        assert set(row.figures) == {"masked", "np.where"}
