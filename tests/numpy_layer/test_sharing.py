"""A row's result is a view of an argument exactly where NumPy's is: writes go through it.

New arrays lie in memory as NumPy's do, so that a view of them is one in both.
"""

import fnmatch

import numpy as np
import pytest
import torch
from diff_cases import function, plans, rendered
from diff_running import as_tensors
from diff_specs import spec_of

from npaccel import _numpy
from npaccel._numpy.core.table import rows
from npaccel._torch.dynamo.numpy.layouts import UNLIKE

_numpy.load()
#: Calls of each row.
CALLS = 12
COMPILED = [row for row in rows().values() if row.status == "compiled"]

pytestmark = pytest.mark.filterwarnings("ignore")


def arrays(x):
    """Yield the arrays with elements and dimensions: scalars are copied while tracing."""
    if isinstance(x, np.ndarray | torch.Tensor):
        if x.ndim and 0 not in x.shape:
            yield x
    elif isinstance(x, tuple | list):
        for item in x:
            yield from arrays(item)


def in_numpy(plan):
    args, kwargs = plan.draw()
    text, values = rendered(plan.row, args, kwargs)
    given = list(values.values())
    results = list(arrays(function(text, values)(*given)))
    if any(stride < 0 for x in (*results, *arrays(given)) for stride in x.strides):
        return None  # torch has a copy of it.
    if any(isinstance(x, np.generic) or np.ndim(x) == 0 for x in given):
        return None
    shared = [any(np.shares_memory(one, x) for x in arrays(given)) for one in results]
    is_known = all(x.flags.c_contiguous for x in arrays(given)) and "order" not in kwargs
    if not is_known or any(fnmatch.fnmatch(plan.row.name, name) for name in UNLIKE):
        return shared, None
    return shared, [strides(one) for one in results]


def strides(x):
    """Return the strides in elements of all axes that have several."""
    if isinstance(x, np.ndarray):
        return [s // x.itemsize for s, size in zip(x.strides, x.shape, strict=True) if size > 1]
    return [s for s, size in zip(x.stride(), x.shape, strict=True) if size > 1]


def through_row(plan):
    args, kwargs = plan.draw()
    known = {}
    args, kwargs = as_tensors(args, known), as_tensors(kwargs, known)
    result = plan.row.implementation(*args, **kwargs)
    memory = {x.untyped_storage().data_ptr() for x in known.values() if x.numel()}
    results = list(arrays(result))
    shared = [one.untyped_storage().data_ptr() in memory for one in results]
    return shared, [strides(one) for one in results]


@pytest.mark.parametrize("row", COMPILED, ids=lambda row: row.name)
def test_views(row):
    if "copy; NumPy returns a view" in row.note:
        pytest.skip(row.note)
    if spec_of(row).text:
        pytest.skip("called as written in its spec, without arrays of the test's")
    every = plans(row)
    rng = np.random.default_rng(1)
    for i in rng.permutation(len(every))[:CALLS]:
        try:
            wanted = in_numpy(every[i])
            got = through_row(every[i])
        except Exception:  # noqa: BLE001 (exceptions are compared by test_differential.py)
            continue
        if wanted is None or len(got[0]) != len(wanted[0]):
            continue
        assert got[0] == wanted[0], every[i]
        assert wanted[1] is None or got[1] == wanted[1], every[i]
