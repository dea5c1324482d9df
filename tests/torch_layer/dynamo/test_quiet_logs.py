"""A call that NumPy runs is told in one warning, without what torch logs meanwhile."""

import children
import pytest

FAILS = """
import npaccel
f = npaccel.jit(lambda x, k: np.fft.fft(x[k], axis=0), backend="eager")
x = np.ones((4, 3))
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = f(x, x[:, 0] > 0)
answer(same=bool(np.allclose(found, np.fft.fft(x, axis=0))), told=len(told))
"""


@pytest.mark.parametrize("logs", ["", "dynamic"])
def test_torch_logs_what_it_is_asked_for(logs):
    child = children.start(FAILS, **({"TORCH_LOGS": logs} if logs else {}))
    out, errors = child.communicate()
    assert '"same": true, "told": 1' in out
    assert ("fake_tensor" in errors) == bool(logs), errors
