"""Random programs give what NumPy gives. See run.py for long runs and for smaller programs."""

import os
import random

import numpy as np
import pytest
import torch
from fuzz_checking import Jiggle, check, dynamic_of
from fuzz_gradients import check_gradient
from fuzz_objects import check_object, draw_object
from fuzz_programs import draw
from sweep import tries

import npaccel

#: Programs in one test, and where each backend's seeds begin.
CHUNK = 20
EAGER = int(os.environ.get("NPACCEL_FUZZ_EAGER", tries(160, 2000)))
#: One of so many is run with default options and 64-bit data.
DEFAULTS = 4
INDUCTOR = int(os.environ.get("NPACCEL_FUZZ_INDUCTOR", tries(20, 200)))
FIRST_SEED = {"eager": 0, "inductor": 1_000_000}
#: Differences that are known, by seed.
KNOWN: dict[int, str] = {
    1778: "NaN as uint32, which C leaves open",
}


def chunks(backend, programs, size):
    marks = [pytest.mark.inductor] if backend == "inductor" else []
    first = FIRST_SEED[backend]
    return [
        pytest.param(backend, range(first + i, first + min(i + size, programs)), marks=marks)
        for i in range(0, programs, size)
    ]


@pytest.mark.parametrize(
    ("backend", "seeds"), [*chunks("eager", EAGER, CHUNK), *chunks("inductor", INDUCTOR, 5)]
)
def test_random_programs(backend, seeds):
    ran = 0
    for seed in set(seeds) - set(KNOWN):
        program = draw(seed)
        width = "float32" if seed % DEFAULTS == DEFAULTS - 1 else "float64"
        verdict = check(program, backend, dynamic_of(backend, seed), default_float=width)
        assert verdict.failure is None, (
            f"seed {seed}: {verdict.failure.text}\n\n{program.text()}\n"
            f"python tests/fuzz/run.py --minimise --backend {backend} --programs 1 --seed {seed} "
            f"--default-float {width}"
        )
        ran += verdict.graphs > 0
    torch.compiler.reset()
    assert ran, "no program of this chunk was compiled"


@pytest.mark.parametrize(
    "seeds", [range(first, first + CHUNK) for first in range(0, tries(40, 2000), CHUNK)]
)
def test_random_programs_that_are_compiled_beside_their_calls(seeds):
    """The runner is there from a random call on."""
    ran = 0
    for seed in set(seeds) - set(KNOWN):
        program = draw(seed)
        width = "float32" if seed % DEFAULTS == DEFAULTS - 1 else "float64"
        switch = random.Random(seed).randrange(1, 5)
        verdict = check(program, "eager", default_float=width, switch=switch)
        assert verdict.failure is None, (
            f"seed {seed}, switch before call {switch}: {verdict.failure.text}\n\n{program.text()}"
        )
        ran += verdict.graphs > 0
    npaccel.wait()
    torch.compiler.reset()
    assert ran, "no program of this chunk was compiled"


@pytest.mark.parametrize(
    "seeds", [range(first, first + 8) for first in range(0, tries(16, 2000), 8)]
)
def test_gradients_of_random_programs(seeds):
    compared = 0
    for seed in seeds:
        verdict = check_gradient(draw(seed), "eager")
        assert verdict.failure is None, (
            f"seed {seed}: {verdict.failure.text}\n\n{draw(seed).text()}\n"
            f"python tests/fuzz/run.py --gradients --programs 1 --seed {seed}"
        )
        compared += verdict.is_compared
    torch.compiler.reset()
    assert compared


def test_few_programs_raise():
    programs = [draw(seed) for seed in range(60)]
    assert sum(len(program.statements) for program in programs) > 60 * 7


def test_sums_of_integers_as_floats_are_unstable():
    large = np.array([2**62 + 1, -(2**62), 3])
    means, sums, small = set(), set(), set()
    for seed in range(4):
        jiggle = Jiggle(seed)
        means.add(float(jiggle.called(np.mean, large)))
        means.add(float(jiggle.multiplied(large, large.astype(np.uint64)) / 2**62))
        sums.add(int(jiggle.called(np.sum, large)))
        small.add(float(jiggle.called(np.mean, np.arange(5))))
    assert max(means) - min(means) > 100
    assert sums == {4}
    assert small == {2.0}


@pytest.mark.parametrize(
    "seeds", [range(first, first + 5) for first in range(0, tries(10, 500), 5)]
)
def test_random_classes_with_state(seeds):
    for seed in seeds:
        program = draw_object(seed)
        failure = check_object(program, "eager")
        assert failure is None, f"seed {seed}: {failure.text}\n\n{program.text}"
    torch.compiler.reset()
