"""The benchmarks compare like with like: every implementation gives NumPy's answer."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHES = Path(__file__).resolve().parent.parent / "asv_benches"
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
    monkeypatch.setattr(common, "samples", lambda call: turns.append(call()) or [call.seconds])

    class Call:
        def __init__(self, seconds):
            self.seconds = seconds

        def __call__(self):
            return self.seconds

    taken = common.side_by_side({"a": Call(1.0), "b": Call(3.0)}, rounds=2)
    assert turns == [1.0, 3.0, 1.0, 3.0]
    assert taken == {"a": 1.0, "b": 3.0}


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
