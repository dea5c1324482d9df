"""Compiled functions of blocks under Dask's schedulers: one compilation, and the same answer."""

import children
import numpy as np
import pytest
import sweep

import npaccel

da = pytest.importorskip("dask.array", reason="Dask isn't installed")

pytestmark = pytest.mark.inductor

X = np.random.default_rng(3).normal(size=(60, 5))


def chain(x):
    y = np.sqrt(x * x + 2.0) * 3.0
    return np.where(y > 5.0, y, -y).sum(axis=0)


def test_threads():
    jitted = npaccel.jit(chain)
    result = jitted(da.from_array(X, chunks=(10, 5))).compute(scheduler="threads", num_workers=4)
    np.testing.assert_allclose(result, chain(X))
    assert len(jitted.report().graphs) == 1


PROCESSES = """
import dask.array as da, npaccel

def chain(x):
    y = np.sqrt(x * x + 2.0) * 3.0
    return np.where(y > 5.0, y, -y).sum(axis=0)

if __name__ == "__main__":
    import dask, dask.array as da
    x = np.random.default_rng(3).normal(size=(60, 5))
    lazy = da.from_array(x, chunks=(10, 5))
    first = npaccel.jit(chain)(lazy).compute(scheduler="sync")
    with dask.config.set({"multiprocessing.context": "fork"}):
        result = npaccel.jit(chain)(lazy).compute(scheduler="processes", num_workers=2)
    answer(same=bool(np.allclose(result, chain(x)) and (first == result).all()))
"""


def test_processes():
    assert children.run(PROCESSES)["same"]


CLUSTER = """
import dask.array as da, npaccel
from distributed import Client, LocalCluster

def slow(x):
    y = np.sqrt(x * x + 2.0) * 3.0
    return np.where(y > 5.0, y, -y).sum(axis=0)

def waited(block):
    if block.size:
        time.sleep(0.3)
    return block

if __name__ == "__main__":
    x = np.random.default_rng(3).normal(size=(60, 5))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0, host="127.0.0.1"
    ) as cluster, Client(cluster) as client:
        lazy = da.from_array(x, chunks=(5, 5)).map_blocks(waited, dtype=x.dtype)
        future = client.compute(npaccel.jit(slow)(lazy))
        time.sleep(1.0)
        victim = list(client.scheduler_info()["workers"])[0]
        pid = client.run(os.getpid, workers=[victim])[victim]
        os.kill(pid, signal.SIGKILL)
        result = future.result(timeout=120)
        answer(same=bool(np.allclose(result, slow(x))), killed=pid)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sweep.FULL, reason="three workers take a minute: NPACCEL_TEST_SWEEP=full")
def test_a_worker_that_is_killed():
    pytest.importorskip("distributed", reason="Dask's distributed scheduler isn't installed")
    assert children.run(CLUSTER)["same"]
