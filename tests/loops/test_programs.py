"""Programs with loops give what NumPy gives; so do the variants that they are timed against."""

import importlib
import importlib.util
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from comparing import assert_same
from sweep import FULL

import npaccel

BENCHES = Path(__file__).resolve().parents[2] / "asv_benches"
sys.path.insert(0, str(BENCHES))
loop_programs = importlib.import_module("benchmarks.loop_programs")
record = importlib.import_module("benchmarks.loop_programs.record")
own_copy = importlib.import_module("benchmarks.common").own_copy
sys.path.remove(str(BENCHES))

PROGRAMS = loop_programs.PROGRAMS
#: Nested helpers, shapes that shrink, recorded lists, single elements, a last axis.
REPRESENTATIVE = [
    "jacobi_2d",
    "n_body",
    "mandelbrot_shrinking",
    "lu_elements",
    "vertical_diffusion",
]
#: Numba takes a minute to compile all variants; by default they run as Python.
COMPILE_PEERS = os.environ.get("NPACCEL_TEST_PEERS", "") not in ("", "0")


def outcome(program, call):
    """Return what a call on new arguments returns, its arguments, and what else it writes."""
    arguments = program.make_arguments("test")
    result = call(*arguments)
    return result, arguments, tuple(array.copy() for array in program.written(arguments))


def widened(value):
    """Return 64-bit floats for 32-bit ones, in whatever holds them."""
    if isinstance(value, tuple | list):
        return type(value)(map(widened, value))
    if isinstance(value, np.ndarray | np.generic) and value.dtype in (np.float32, np.complex64):
        wide = value.astype(np.result_type(value.dtype, np.float64))
        return wide if isinstance(value, np.ndarray) else wide[()]
    return value


def check(program, calls=2, **options):
    """Compare some calls, the first of which captures, with NumPy's."""
    wanted = outcome(program, program.function)
    jitted = npaccel.jit(own_copy(program.function), **options)
    narrows = options.get("default_float") != "float64" and program.narrow_tolerance is not None
    for call in range(calls):
        with warnings.catch_warnings():
            # What runs uncompiled is right all the same.
            warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
            got = outcome(program, jitted)
        if narrows:
            assert_same(widened(got), wanted, f"call {call}", program.narrow_tolerance)
        else:
            assert_same(got, wanted, f"call {call}", program.tolerance)
    return jitted


@pytest.mark.parametrize(
    ("name", "default_float"),
    # In 64 bit those that invent floats, and some of the others, which compute alike.
    [(name, "float32") for name in PROGRAMS]
    + [
        (name, "float64")
        for place, (name, program) in enumerate(PROGRAMS.items())
        if FULL or program.narrow_tolerance is not None or place % 3 == 0
    ],
)
def test_programs_give_numpys_answer(name, default_float):
    check(PROGRAMS[name], backend="eager", default_float=default_float)


@pytest.mark.sampled
@pytest.mark.small_arrays
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_small_arrays_give_numpys_answer(name):
    check(PROGRAMS[name], backend="eager", default_float="float64")


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.parametrize("name", REPRESENTATIVE)
def test_compiled_programs_give_numpys_answer(name):
    check(PROGRAMS[name], default_float="float64")


def test_more_steps_compile_nothing_more():
    jitted = npaccel.jit(own_copy(PROGRAMS["jacobi_2d"].function), backend="eager")
    a, b, steps = PROGRAMS["jacobi_2d"].make_arguments("test")
    jitted(a, b, steps)
    graphs = len(jitted.report().graphs)
    assert graphs
    jitted(a, b, 20 * steps)
    jitted(a, b, 21 * steps)
    assert len(jitted.report().graphs) == graphs


@pytest.mark.parametrize("name", ["cavity_flow", "n_body"])
def test_what_a_program_prints_comes_in_order(name, capsys):
    program = PROGRAMS[name]
    program.function(*program.make_arguments("test"), verbose=True)
    wanted = capsys.readouterr().out
    assert wanted
    jitted = npaccel.jit(own_copy(program.function), backend="eager", default_float="float64")
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
            jitted(*program.make_arguments("test"), verbose=True)
        assert capsys.readouterr().out == wanted


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cholesky", lambda: (np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),)),
        ("conjugate_gradient", lambda: (np.ones((4, 4)), 1e-30, 3)),
    ],
)
def test_a_program_raises_what_it_raises_in_numpy(name, arguments):
    function = PROGRAMS[name].function
    wanted_arguments = arguments()
    with pytest.raises((np.linalg.LinAlgError, RuntimeError)) as wanted:
        function(*wanted_arguments)
    jitted = npaccel.jit(own_copy(function), backend="eager", default_float="float64")
    for _ in range(2):
        got_arguments = arguments()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", npaccel.errors.PerformanceWarning)
            with pytest.raises(type(wanted.value)) as got:
                jitted(*got_arguments)
        assert str(got.value) == str(wanted.value)
        assert_same(got_arguments, wanted_arguments, "arguments")


PEERS = [(name, peer) for name, program in PROGRAMS.items() for peer in program.peers]


@pytest.mark.filterwarnings("default")  # the peers' own
@pytest.mark.parametrize(("name", "peer"), PEERS, ids=["-".join(pair) for pair in PEERS])
def test_peers_give_numpys_answer(name, peer, monkeypatch):
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed")
    if peer == "numba" and not COMPILE_PEERS:
        monkeypatch.setattr("numba.njit", lambda **_: lambda function: function)
    program = PROGRAMS[name]
    wanted = loop_programs.answer(program, program.function, "test")
    call = program.peers[peer]()
    got = loop_programs.answer(program, call, "test", flat=peer == "jax")
    assert loop_programs.same_answers(program, wanted, got)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_work_to_do_and_the_same_each_time(name):
    program = PROGRAMS[name]
    before = [np.copy(a) for a in record.leaves(program.make_arguments("test"))]
    answers = [loop_programs.answer(program, program.function, "test") for _ in range(2)]
    assert answers[0]
    for left, right in zip(*answers, strict=True):
        np.testing.assert_array_equal(left, right)
        assert not np.any(np.isnan(left))
    after = list(record.leaves(program.make_arguments("test")))
    for left, right in zip(before, after, strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_wrong_answer_of_a_program_is_noticed():
    program = PROGRAMS["jacobi_1d"]
    wanted = loop_programs.answer(program, program.function, "test")
    assert not loop_programs.same_answers(program, wanted, wanted[:1])
    assert not loop_programs.same_answers(program, wanted, [wanted[0], wanted[1] + 1e-6])
    assert not loop_programs.same_answers(program, wanted, [wanted[0], wanted[1].astype("f4")])
