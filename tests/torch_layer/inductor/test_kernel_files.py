"""The kernels of a graph on a CPU share C++ files."""

import numpy as np
import pytest
import torch
from comparing import assert_same
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.cpp_builder import CppBuilder

import npaccel
from npaccel._compiler.scratch import scratch_folder
from npaccel._runtime.torch.loader import NotPortableError, kernel_paths
from npaccel._torch.inductor import kernel_files, passes
from npaccel._torch.inductor.kernel_files import _Kernel, _shared_out

TIMES = """
#include <torch/csrc/inductor/cpp_prefix.h>
static int64_t one() {{ return {one}; }}
extern "C" void kernel(int64_t* out, const double by, const int64_t n)
{{
    if (n < 0) throw std::length_error("fewer than none");
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int64_t>(by * one());
}}
"""
BLOCKING = """
#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void kernel(int64_t* out)
{
    mm_get_thread_blocking(4, 1, 512, 512, 512, 32, 32, 32, out[0], out[1], out[2]);
}
"""


@pytest.mark.inductor
def test_kernels_of_a_graph_are_one_library(builds, monkeypatch):
    monkeypatch.setattr(kernel_files, "_FILE", 1 << 20)
    a = np.random.default_rng(0).normal(size=500)

    def f(a):
        middle = np.sort(a * 2.5)
        return middle.cumsum() - 1, a[a > 0.25], a[middle > 0.5] * 3

    jitted = npaccel.jit(f)
    for got, wanted in zip(jitted(a), f(a), strict=True):
        assert_same(got, wanted, rtol=1e-12)
    assert jitted.source().count("async_compile.cpp_pybinding") > 2
    assert len(builds) == 1
    again = npaccel.jit(f)
    for got, wanted in zip(again(a), f(a), strict=True):
        assert_same(got, wanted, rtol=1e-12)
    assert len(builds) == 1


@pytest.mark.inductor
def test_kernels_keep_their_names_to_themselves(tmp_path):
    out = np.zeros(3, np.int64)
    types = ["int64_t*", "const double", "const int64_t"]
    three, five = _built(tmp_path, *[(types, TIMES.format(one=one)) for one in (3, 5)])
    three(torch.from_numpy(out), 1.1e9, 2)
    five(torch.from_numpy(out[2:]), 2.0, 1)
    assert out.tolist() == [3_300_000_000, 3_300_000_000, 10]
    with pytest.raises(RuntimeError, match="fewer than none"):
        five(torch.from_numpy(out), 2.0, -1)
    with pytest.raises(TypeError, match="2 arguments for a kernel of 3"):
        five(torch.from_numpy(out), 2.0)
    with pytest.raises(TypeError, match="must be real number"):
        five(torch.from_numpy(out), "2", 1)
    with pytest.raises(OverflowError):
        five(torch.from_numpy(out), 2.0, 1 << 70)


@pytest.mark.inductor
def test_what_the_header_leaves_out_is_there_for_products(tmp_path):
    out = np.zeros(3, np.int64)
    (kernel,) = _built(tmp_path, (["int64_t*"], BLOCKING))
    kernel(torch.from_numpy(out))
    assert (out > 0).all()


def test_files_are_as_many_as_pay(monkeypatch):
    kernels = [_Kernel((), "x" * length) for length in (900, 100, 500, 500, 1000, 10)]
    monkeypatch.setattr(kernel_files, "_FILE", 1000)

    def lengths(threads):
        monkeypatch.setattr(kernel_files, "get_compile_threads", lambda: threads)
        files = _shared_out(kernels)
        assert [kernel for file in files for kernel in file] == kernels
        return [sum(len(kernel.source) for kernel in file) for file in files]

    assert lengths(1) == [3010]
    assert lengths(2) == [1500, 1510]
    assert lengths(64) == [900, 600, 500, 1010]
    assert _shared_out([]) == []


def _built(tmp_path, *asked):
    """Build kernels, of each its parameters' types and source, as a generated module does."""
    scope = {}
    with passes.configured(scratch_folder() or tmp_path):
        module = AsyncCompile()
        for i, (types, source) in enumerate(asked):
            scope[f"cpp_fused_{i}"] = module.cpp_pybinding(types, source)
        module.wait(scope)
    return list(scope.values())


@pytest.fixture
def builds(monkeypatch):
    """What the C++ compiler is run for."""
    built = []
    original = CppBuilder.build

    def build(self):
        built.append(self._name)
        original(self)

    monkeypatch.setattr(CppBuilder, "build", build)
    return built


def test_a_kernel_that_is_out_of_reach_is_no_reason_to_fail():
    """The module of a graph for CPU and GPU isn't that of the function that torch calls."""
    source = "cpp_fused_0 = async_compile.cpp_pybinding([], '')"
    with pytest.raises(NotPortableError, match="cpp_fused_0 has no library"):
        kernel_paths({}, source)
