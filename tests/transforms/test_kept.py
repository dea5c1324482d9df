"""Compiled derivatives are kept on disk, and calls of them are short."""

import children
import pytest

SCRIPT = """
import sys
import npaccel
def loss(w, x):
    r = x @ w
    r[r < 0] = 0
    return np.sum(r**2)
value, gradient = npaccel.value_and_grad(loss)(np.ones(3), np.ones((4, 3)))
rows = npaccel.vmap(npaccel.grad(loss), (None, 0))(np.ones(3), np.ones((2, 4, 3)))
answer(
    found=[float(value), gradient.tolist(), rows.tolist()],
    has_compiler="torch._dynamo" in sys.modules,
)
"""


@pytest.mark.inductor
def test_that_another_process_needs_no_compiler(own_cache):
    given = {"NPACCEL_CACHE_DIR": str(own_cache), "OMP_NUM_THREADS": "2"}
    first = children.run_prepared(SCRIPT, **given)
    second = children.run(SCRIPT, **given)
    expected = [36.0, [24.0] * 3, [[24.0] * 3] * 2]
    assert first == {"found": expected, "has_compiler": True}
    assert second == {"found": expected, "has_compiler": False}
