"""Derivatives of loops keep as many states as is written, and free what a loop has used."""

import sys

import children
import pytest

MODULE = """
import numpy as np

def linear(u):
    u = u.copy()
    for _ in range(200):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u**2)

def nonlinear(u):
    u = u.copy()
    for _ in range(200):
        u[1:-1, 1:-1] += 0.1 * np.tanh(
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u**2)
"""
SCRIPT = """
import diffusion
import npaccel

def of_process(name):
    with open("/proc/self/status") as lines:
        (found,) = (line.split()[1] for line in lines if line.startswith(name))
    return int(found) * 1024

u = np.random.default_rng(0).normal(size=(512, 512))
states = {}
for function in (diffusion.linear, diffusion.nonlinear):
    gradient = npaccel.grad(function, checkpoint=True)
    gradient(u)  # compiles
    with open("/proc/self/clear_refs", "w") as resets:
        resets.write("5")
    before = of_process("VmRSS")
    gradient(u)
    states[function.__name__] = (of_process("VmHWM") - before) / u.nbytes
answer(**states)
"""


@pytest.mark.slow
@pytest.mark.inductor
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_peak_of_checkpoints(own_cache, tmp_path):
    (tmp_path / "diffusion.py").write_text(MODULE, encoding="utf-8")
    # Each array has pages of its own, which go back to the system: the peak is what's alive.
    given = {"MALLOC_MMAP_THRESHOLD_": "100000", "NPACCEL_MALLOC": "0", "OMP_NUM_THREADS": "1"}
    states = children.run(SCRIPT, path=tmp_path, NPACCEL_CACHE_DIR=str(own_cache), **given)
    assert states["linear"] < 9  # none is kept: the body is linear
    # 13 segments of 15 iterations, 28 states, and what an iteration works on.
    assert states["nonlinear"] < 37
