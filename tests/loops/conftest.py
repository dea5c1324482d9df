"""What the tests of loops share."""

import pytest

from npaccel._loops import _split_blocks


@pytest.fixture(autouse=True)
def small_arrays(request, monkeypatch):
    """Have loops over small arrays compiled as array code, but where a test is about Numba's.

    Most tests of loops use small arrays to be quick, and are about what large ones go through.
    """
    if request.node.get_closest_marker("small_arrays") is None:
        monkeypatch.setattr(_split_blocks, "may_be_simple", lambda *_: False)
