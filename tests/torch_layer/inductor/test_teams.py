"""Threads take parts of loops: the same bits by any number of them, and none is waited for long."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch._inductor.utils import parallel_num_threads

import npaccel
from npaccel._process import logs, thread_pool
from npaccel._torch.inductor.cpp.teams import shared_by_teams, team_helpers

pytestmark = pytest.mark.usefixtures("two_threads")


def sums(x):
    return x.sum(), (x * x).mean(), x.max(), x.argmin(), (x > 0.5).any()


def in_two_phases(x):
    centred = x - x.mean()
    return centred / np.sqrt((centred * centred).sum()), centred.max(axis=0), np.cumsum(x, axis=1)


def stencil(x):
    y = x.copy()
    y[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    return y


def blocks(x):
    y = np.zeros((x.shape[1], 3, x.shape[0]))
    y[:, 0] = x.T * 2
    y[:, 2] = (x + x[:1]).T
    return y, y.transpose(2, 1, 0) + x[:, None, :1]


def picked(x):
    places = (np.abs(x) * 1e6).astype(np.int64) % x.shape[0]
    return x[places[:, 0]], np.argsort(x, axis=1), x[x > 0.3]


def products(x):
    return x @ x[0], x[:, 0] @ x, np.add.reduceat(x[:, 0], np.arange(0, x.shape[0], 7))


def bytes_(x):
    return ((x * 200).astype(np.uint8) // 3 + 7).astype(np.int8), (x * 9).astype(np.int16).sum(
        axis=0
    )


FUNCTIONS = (sums, in_two_phases, stencil, blocks, picked, products, bytes_)
SHAPES = ((7, 5000), (5000, 7), (301, 257))


@pytest.fixture
def alone():
    """Say whether the calling thread takes all parts itself."""
    kept = list(thread_pool.alone)

    def say(is_alone: bool) -> None:
        thread_pool.alone[0] = np.inf if is_alone else 0.0
        thread_pool.alone[1] = 0.0

    yield say
    thread_pool.alone[:] = kept


@pytest.fixture
def unknown(monkeypatch):
    """Return what is told of code that isn't of the form in which loops are written."""
    told = []
    monkeypatch.setattr(logs.compile, "warning", lambda text, why: told.append(text % why))
    return told


def _bits(result):
    found = result if isinstance(result, tuple) else (result,)
    return [
        (np.asarray(one).dtype, np.asarray(one).shape, np.asarray(one).tobytes()) for one in found
    ]


@pytest.mark.inductor
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_the_same_bits_by_any_number_of_threads(function, alone, unknown):
    jitted = npaccel.jit(function, strict=True, cache=False, dynamic=None)
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape) for shape in SHAPES]
    for x in arrays:
        alone(False)
        wanted = _bits(jitted(x))
        alone(True)
        assert _bits(jitted(x)) == wanted
        alone(False)
        if function is products:  # NumPy's blocks are as many as there are threads.
            continue
        torch.set_num_threads(5)  # Sums have room for those that there were while compiling.
        try:
            assert _bits(jitted(x)) == wanted
        finally:
            torch.set_num_threads(2)
    assert "omp parallel" in jitted.source() or function is products
    assert not unknown


LATE = """
import os, time
import numpy as np, npaccel
from npaccel._process import logs
from npaccel._process import thread_pool

f = npaccel.jit(lambda x: (x * 3 + 1) * x - x / 7, compile="now", cache=False)
x = np.random.default_rng(0).random(65_536)
f(x)
f(x)
core = {min(os.sched_getaffinity(0))}
for thread in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(thread), core)
end = time.perf_counter() + 30
while not thread_pool.alone[0] and time.perf_counter() < end:
    f(x)
assert thread_pool.alone[0] > 0  # A thread that shares the one core was late.
assert thread_pool.alone[1] > 20 * 30e-6
"""


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.skipif(sys.platform != "linux", reason="processes choose their cores on Linux only")
def test_late_threads_are_left_out():
    found = subprocess.run(
        [sys.executable, "-c", LATE],
        capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "2"},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr


REGION = """
void kernel(const double* in_ptr0, double* out_ptr0, const int64_t ks0)
{
    #pragma omp parallel num_threads(3)
    {
        int tid = omp_get_thread_num();
        {
            #pragma omp for collapse(3)
            for(int64_t x0=1L; x0<static_cast<int64_t>(4L); x0+=static_cast<int64_t>(1L))
            {
                for(int64_t x1=static_cast<int64_t>(0L); x1<ks0; x1+=static_cast<int64_t>(2L))
                {
                    for(int64_t x2=static_cast<int64_t>(0L); x2<5L; x2+=2)
                    {
                        visit(tid, x0, x1, x2);
                    }
                }
            }
        }
    }
}
"""


VISIT = r"""
static void visit(int tid, int64_t a, int64_t b, int64_t c)
{
    #pragma omp critical
    std::printf("%d %ld %ld %ld\n", tid, (long)a, (long)b, (long)c);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 2, 7, 20])
def test_collapsed_loops_make_each_iteration_once(size, tmp_path):
    source = shared_by_teams(REGION, parallel_num_threads())
    assert "collapse" not in source
    program = (
        "#include <cstdint>\n#include <cstdio>\n#include <omp.h>\n"
        + team_helpers()
        + VISIT
        + source
        + f"int main() {{ kernel(nullptr, nullptr, {size}); }}\n"
    )
    path = tmp_path / "program.cpp"
    path.write_text(program)
    built = tmp_path / "program"
    subprocess.run(["g++", "-fopenmp", "-O1", "-o", built, path], check=True)
    found = subprocess.run([built], capture_output=True, text=True, check=True).stdout
    visits = [tuple(map(int, line.split())) for line in found.splitlines()]
    wanted = [(a, b, c) for a in range(1, 4) for b in range(0, size, 2) for c in range(0, 5, 2)]
    by_part = {tid: [v[1:] for v in visits if v[0] == tid] for tid in range(3)}
    assert [*by_part[0], *by_part[1], *by_part[2]] == wanted
    lengths = [len(part) for part in by_part.values()]
    assert max(lengths) - min(lengths) <= 1


def test_code_of_another_form_stays_as_it_is(unknown):
    other = REGION.replace("int tid = omp_get_thread_num();", "")
    assert shared_by_teams(other, 2) == other
    assert "wait for each other" in unknown[0]
