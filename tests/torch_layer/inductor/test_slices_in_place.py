"""Sums of arrays that are zero around a slice, which a loop's body writes to the slice."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from npaccel._torch.inductor.loops.slices import with_slices_in_place

ATEN = torch.ops.aten


def padded(x):
    return ATEN.slice_scatter.default(ATEN.full.default([5000, 2], 0.0), x[1:-1] * 3, 0, 1, 4999)


SUMS = {
    "of two": lambda x, y: ATEN.add.Tensor(padded(x), y),
    "of three": lambda x, y: ATEN.add.Tensor(padded(x), ATEN.add.Tensor(y, padded(y))),
    "with a factor": lambda x, y: ATEN.add.Tensor(y, padded(x), alpha=2),
    "with a number": lambda x, y: ATEN.add.Tensor(padded(x), 1.5),
    "with a smaller array": lambda x, y: ATEN.add.Tensor(padded(x), y[0]),
    "with another dtype": lambda x, y: ATEN.add.Tensor(y.int(), padded(x)),
    "with a factor inside": lambda x, y: ATEN.add.Tensor(
        padded(x), ATEN.add.Tensor(y, padded(y), alpha=2)
    ),
}


@pytest.mark.parametrize("kind", SUMS)
def test_that_sums_stay_the_same(kind):
    function = SUMS[kind]
    x, y = torch.randn(2, 5000, 2, dtype=torch.float32)
    module = make_fx(function, tracing_mode="fake")(x, y)
    with_slices_in_place(module.graph)
    module.recompile()
    torch.testing.assert_close(module(x, y), function(x, y))
    written = [node for node in module.graph.nodes if node.target is ATEN.add_.Tensor]
    assert len(written) == {"of two": 1, "of three": 2, "with a factor inside": 1}.get(kind, 0)
