"""Ordinary programs give NumPy's answers when they're decorated, and are measured honestly."""

import functools
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import npaccel

BENCHES = Path(__file__).resolve().parents[2] / "asv_benches"
sys.path.insert(0, str(BENCHES))
first_calls = importlib.import_module("benchmarks.first_calls")
ordinary = importlib.import_module("benchmarks.ordinary_programs")
processes = importlib.import_module("benchmarks.processes")
record = importlib.import_module("benchmarks.ordinary_programs.record")
regret_rows = importlib.import_module("regret_rows")
sys.path.remove(str(BENCHES))

#: What is captured in a second or two: methods, draws, callbacks of SciPy's, dicts, texts.
CAPTURED = [
    "fisher_front",
    "fit_decay",
    "fnv_hash",
    "group_means",
    "heater",
    "ising_sweeps",
    "kalman_track",
    "knapsack",
    "waiting_line",
    "word_vectors",
]


def check(name, calls, **options):
    """Compare some calls with NumPy's."""
    module = ordinary.MODULE_OF[name]
    plain = ordinary.PLAIN[module][name]
    decorated = ordinary.load(module, lambda f: npaccel.jit(f, default_float="float64", **options))
    expected = ordinary.outcome(plain)
    assert ordinary.same_answers(expected, ordinary.outcome(plain))
    for call in range(calls):
        assert ordinary.same_answers(expected, ordinary.outcome(decorated[name])), call


@pytest.mark.parametrize("name", ordinary.MODULE_OF)
def test_first_calls_give_numpys_answer(name):
    check(name, 2, compile="auto")


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("name", CAPTURED)
def test_captured_calls_give_numpys_answer(name):
    check(name, 2, compile="now", backend="eager")


def test_there_are_fifty_programs_with_names_of_their_own():
    assert len(ordinary.MODULE_OF) == sum(map(len, ordinary.PLAIN.values())) >= 50


def test_a_module_is_loaded_with_its_functions_decorated():
    made = []
    programs = ordinary.load("objects", record.recording(lambda f: lambda *a: f(*a), made))
    network, x, y = programs["train_perceptron"].make()
    assert type(network).fit in made
    programs["train_perceptron"].call(network, x, y)
    assert len(network.losses) == 20


@pytest.mark.parametrize(
    ("expected", "actual", "is_same"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, np.float64(1.0), False),
        (np.arange(3), np.arange(3.0), False),
        (np.arange(3), np.arange(4), False),
        ([1, "a"], [1, "b"], False),
        ([1, 2], [1], False),
        ({"a": np.ones(2)}, {"a": np.ones(2)}, True),
        ({"a": 1}, {"b": 1}, False),
        (np.ones(2), np.ones(2, np.float32), False),
        (np.float32([1e4, 0]), np.float32([1e4, 0.01]), True),
        (np.random.default_rng(1), np.random.default_rng(1), True),
        (np.random.default_rng(1), np.random.default_rng(2), False),
    ],
)
def test_answers_are_compared(expected, actual, is_same):
    assert ordinary.same_answers(expected, actual) is is_same


def test_narrowed_answers_are_compared():
    assert ordinary.same_answers(np.ones(2), np.ones(2, np.float32), 1e-5)
    assert not ordinary.same_answers(np.ones(2), np.float32([1, 1.1]), 1e-5)
    assert not ordinary.same_answers(np.ones(2), np.ones(2, np.int32), 1e-5)


def test_objects_are_compared_by_what_they_hold():
    models = [ordinary.load("simulations")["ising_sweeps"].make()[0] for _ in range(2)]
    assert ordinary.same_answers(*models)
    models[1].spins[0, 0] *= -1
    assert not ordinary.same_answers(*models)


def test_a_program_is_measured_step_by_step(monkeypatch):
    monkeypatch.setattr(first_calls, "SETTLING", 0.0)
    monkeypatch.setattr(first_calls, "PAUSE", 0.0)
    monkeypatch.setattr(first_calls, "BLOCK", 0.0)
    steps = [set(found) for found in first_calls.measured("flood_fill")]
    assert steps[0] == {"first", "wrong"}
    assert steps[1] - steps[0] == {"after"}
    assert steps[2] - steps[1] == {"settling", "longest", "who"}
    assert steps[3] - steps[2] == {"steady"}


def test_wrong_answers_are_counted(monkeypatch):
    monkeypatch.setattr(npaccel, "jit", lambda f: functools.wraps(f)(lambda *arguments: 0))
    found = next(first_calls.measured("flood_fill"))
    assert found["wrong"] == first_calls.FIRST
    assert len(found["first"]["npaccel"]) == len(found["first"]["numpy"]) == first_calls.FIRST
    assert regret_rows.Regret(found).is_wrong


def test_calls_get_new_arguments_where_they_write_to_them():
    made = []

    def make():
        made.append(np.zeros(1))
        return (made[-1],)

    program = record.Program(lambda x: x.__iadd__(1), make)
    for is_repeatable, wanted in [(True, [4.0]), (False, [1.0] * 4)]:
        made.clear()
        first_calls.Alternating({"a": program}, is_repeatable=is_repeatable).block("a", 4)
        assert [float(x[0]) for x in made] == wanted


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("", ""),
        ("raise ValueError('no such program')", "ValueError: no such program"),
        ("time.sleep(60)", "it was ended after 2 s"),
    ],
)
def test_what_is_found_before_the_end_counts(monkeypatch, tmp_path, end, why):
    script = tmp_path / "children.py"
    script.write_text(f"import sys, time\nprint('{{\"a\": 1}}', flush=True)\n{end}\n")
    monkeypatch.setattr(processes, "CHILDREN", script)
    assert processes.run_limited("regret", caches={}, seconds=2) == ({"a": 1}, why)


def found(numpy, after, steady=None, first=None):
    return {
        "first": {"numpy": [numpy] * 10, "npaccel": first or [after] * 10},
        "wrong": 0,
        "after": {"numpy": numpy, "npaccel": after},
        "steady": {"numpy": numpy, "npaccel": steady or after},
        "who": "NumPy's so far",
    }


def test_regrets_are_summed_up():
    programs = {
        "fast": regret_rows.Regret(found(1e-3, 1e-3, 1e-4)),
        "slow": regret_rows.Regret(found(1e-3, 1.2e-3, 1e-3, first=[2.0] * 10)),
        "short": regret_rows.Regret(found(1e-5, 1.19e-5, 1e-5)),
        "ended": regret_rows.Regret({}, "it was ended after 45 s"),
    }
    assert [one.row(name).met for name, one in programs.items()] == [True, False, True, False]
    assert programs["fast"].measured() == "1 ms, +0.00 s, 1.00 of it, 10.00x, NumPy's so far"
    wrong, first, after, steady = regret_rows.summary(programs)
    late = regret_rows.Regret(found(1e-3, 1e-3) | {"longest": 9.0}, "it was ended after 45 s")
    assert "longest call 9.0 s" in late.measured()
    assert not late.is_wrong  # all is measured, though it came to no end
    assert not late.row("late").met
    assert wrong.measured == "1, ended"
    assert first.measured == "most: slow 19.99 s; 1 take longer, slow"
    assert after.measured == "2, slow, ended"
    assert steady.measured.startswith("2.15x of 3; worst: ")
    assert not any(row.met for row in (wrong, first, after, steady))
    programs = {"fast": programs["fast"]}
    assert all(row.met for row in regret_rows.summary(programs))
