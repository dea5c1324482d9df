"""Calls of jitted functions with Dask arrays: what is compiled, how often, and what is told."""

import pickle

import children
import cloudpickle
import numpy as np
import pytest

import npaccel
from npaccel._dask.block_function import BlockFunction

da = pytest.importorskip("dask.array", reason="Dask isn't installed")
dask = pytest.importorskip("dask")

X = np.random.default_rng(1).normal(size=(40, 6))


def chain(x):
    y = np.sqrt(x * x + 1.0) * 2.0
    return (np.where(y > 3.0, y, -y) - x).mean(axis=0)


def block_functions(array):
    """Return the compiled functions in an array's graph, one for each layer."""
    layers = array.dask.layers.values()
    tasks = [layer.task for layer in layers if hasattr(layer, "task")]
    return [task.func for task in tasks if isinstance(task.func, BlockFunction)]


def test_one_function_of_a_chain_and_a_reduction():
    result = npaccel.jit(chain, backend="eager")(da.from_array(X, chunks=(10, 6)))
    (function,) = block_functions(result)
    assert "mean_chunk" in function.source
    np.testing.assert_allclose(result.compute(scheduler="sync"), chain(X))
    # Four blocks of one signature.
    assert len(function.jitted.report().graphs) == 1


def test_nothing_is_computed_before_it_is_asked_for():
    seen = []

    def load(block):
        if block.size:
            seen.append(block.shape)
        return block

    x = da.from_array(X, chunks=(10, 6)).map_blocks(load, dtype=X.dtype)
    result = npaccel.jit(chain, backend="eager")(x)
    assert seen == []
    result.compute(scheduler="sync")
    assert len(seen) == 4


def test_the_same_function_again():
    jitted = npaccel.jit(chain, backend="eager")
    one, other = (block_functions(jitted(da.from_array(x, chunks=(10, 6))))[0] for x in (X, X + 1))
    assert one is not other
    assert one.identity == other.identity
    assert one.jitted is other.jitted


def test_function_travels_by_its_source():
    (function,) = block_functions(npaccel.jit(chain)(da.from_array(X, chunks=(10, 6))))
    for module in (pickle, cloudpickle):
        copy = pickle.loads(module.dumps(function))
        assert copy.identity == function.identity
        assert copy.jitted is pickle.loads(pickle.dumps(function)).jitted


PROGRAM = """
import dask.array as da, npaccel
def chain(x):
    y = np.sqrt(x * x + 1.0) * 2.0
    return (np.where(y > 3.0, y, -y) - x).mean(axis=0)
result = npaccel.jit(chain)(da.ones((40, 6), chunks=(10, 6)))
tasks = [layer.task for layer in result.dask.layers.values() if hasattr(layer, "task")]
answer(found=[task.func.identity for task in tasks if hasattr(task.func, "identity")])
"""


def test_identity_is_that_of_other_processes():
    (function,) = block_functions(npaccel.jit(chain)(da.ones((40, 6), chunks=(10, 6))))
    assert children.run(PROGRAM, PYTHONHASHSEED="1")["found"] == [function.identity]


def test_dtypes_are_numpys():
    # On arrays the quotient would be float32: nothing is 64 bit.
    result = npaccel.jit(lambda i: i / 3, backend="eager")(da.arange(6, chunks=3))
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result.compute(scheduler="sync"), np.arange(6) / 3)


def test_unknown_chunks():
    x = da.from_array(X, chunks=(10, 6))
    mask = x[:, 0] > 0
    result = npaccel.jit(lambda y: (y * 2 - 1).sum(axis=0), backend="eager")(x[mask])
    wanted = (X[X[:, 0] > 0] * 2 - 1).sum(axis=0)
    np.testing.assert_allclose(result.compute(scheduler="sync"), wanted)


def test_report_tells_what_is_compiled_and_what_is_left():
    jitted = npaccel.jit(chain, backend="eager")
    jitted(da.from_array(X, chunks=(10, 6))).compute(scheduler="sync")
    report = jitted.report()
    assert "for each block of Dask arrays, one compiled function: mul, add, sqrt" in str(report)
    assert "left to Dask: mean_agg-aggregate" in str(report)
    assert len(report.graphs) == 1


def test_arrays_go_on_as_before():
    jitted = npaccel.jit(chain, backend="eager")
    np.testing.assert_allclose(jitted(X), chain(X))
    lazy = jitted(da.from_array(X, chunks=(10, 6)))
    np.testing.assert_allclose(jitted(X), chain(X))
    np.testing.assert_allclose(lazy.compute(scheduler="sync"), chain(X))


@pytest.mark.parametrize("when", ["auto", "now", "behind"])
def test_each_way_of_compiling(when):
    jitted = npaccel.jit(lambda x: np.exp(x) - 1.0, compile=when)
    for _ in range(2):
        result = jitted(da.from_array(X, chunks=(10, 6)))
        np.testing.assert_allclose(result.compute(scheduler="threads"), np.exp(X) - 1.0)
    npaccel.wait()


def test_functions_that_call_each_other():
    inner = npaccel.jit(lambda x: np.sin(x) * 2, backend="eager")
    outer = npaccel.jit(lambda x: inner(x) + np.cos(inner(x)), backend="eager")
    result = outer(da.from_array(X, chunks=(10, 6)))
    assert len(block_functions(result)) == 1
    twice = np.sin(X) * 2
    np.testing.assert_allclose(result.compute(scheduler="sync"), twice + np.cos(twice))


def test_results_of_one_are_fused_into_another():
    first = npaccel.jit(lambda x: np.sin(x) * 2, backend="eager")
    second = npaccel.jit(lambda y: np.cos(y) - 1, backend="eager")
    result = second(first(da.from_array(X, chunks=(10, 6))))
    (fused,) = npaccel.dask.optimize(result, backend="eager")
    functions = {
        task.func.source
        for task in dict(fused.dask).values()
        if isinstance(getattr(task, "func", None), BlockFunction)
    }
    wanted = np.cos(np.sin(X) * 2) - 1
    np.testing.assert_allclose(fused.compute(scheduler="sync"), wanted)
    assert len(functions) <= 1


def test_loops_on_dask_arrays():
    @npaccel.jit(backend="eager")
    def steps(x, n):
        for _ in range(n):
            x = x + np.sin(x) * 0.1
        return x

    wanted = steps.__wrapped__(X, 5)
    result = steps(da.from_array(X, chunks=(10, 6)), 5)
    assert len(block_functions(result)) == 1
    np.testing.assert_allclose(result.compute(scheduler="sync"), wanted)


def test_disabled():
    with npaccel.disabled():
        result = npaccel.jit(chain)(da.from_array(X, chunks=(10, 6)))
    assert block_functions(result) == []
    np.testing.assert_allclose(result.compute(scheduler="sync"), chain(X))


@pytest.mark.parametrize("name", ["mean", "std", "var", "sum", "min", "max", "any"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_masked_blocks_are_dasks(name, axis):
    masked = da.ma.masked_greater(da.from_array(X, chunks=(10, 3)), 0.5)

    def reduced(x):
        return getattr(x * 2 + 1, name)(axis=axis)

    plain = reduced(masked).compute(scheduler="sync")
    ours = npaccel.jit(reduced, backend="eager")(masked).compute(scheduler="sync")
    assert type(ours) is type(plain)
    np.testing.assert_array_equal(np.ma.getmaskarray(ours), np.ma.getmaskarray(plain))
    np.testing.assert_array_equal(ours, plain)


def test_functions_of_blocks_have_dasks_reductions_under_the_same_names():
    from npaccel._dask import dasks_reductions, reductions

    assert set(reductions.__all__) - {"numel", "nannumel"} == set(dasks_reductions.__all__)


def test_compiled_code_takes_the_threads_that_dask_is_told():
    import torch

    seen = []
    jitted = npaccel.jit(lambda x: np.sin(x) * 2, backend="eager")
    result = jitted(da.from_array(X, chunks=(10, 6)))
    (function,) = block_functions(result)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        inside = function.jitted
        function._jitted = lambda *blocks: seen.append(torch.get_num_threads()) or inside(*blocks)
        result.compute(scheduler="sync")
        assert seen == [1] * 4
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)
    with dask.config.set({"npaccel.threads": 3}):
        (function,) = block_functions(jitted(da.from_array(X, chunks=(10, 6))))
    assert function.threads == 3
