"""Compile the Triton code of many rows' calls, without a GPU: see --help.

python tests/numpy_layer/sweep_triton.py 'add*' 'ndarray.*' --dtypes '?BhF'
"""

import argparse
import dataclasses
import time
import warnings

import numpy as np
import torch
import triton_code
from diff_cases import rendered
from diff_inputs import DTYPES
from diff_running import as_tensors, text_of
from inductor_batches import LAYOUTS, calls_of
from sweep_inductor import chosen_rows

from npaccel._numpy.core.context import settings, tracing

#: What depends on the data, and so has no code before there are data; and what is refused.
_NO_FAULTS = {
    *("DynamicOutputShapeException", "DataDependentOutputException"),
    "NotImplementedError",
}


def code_of(calls):
    """Return the module generated for some calls that one function makes."""
    arrays, made = [], []
    for call in calls:
        args, kwargs = call.plan.draw()
        values = list(rendered(call.plan.row, args, kwargs)[1].values())
        made.append((call.plan.row.implementation, len(arrays), values, args, kwargs))
        arrays += [np.asarray(value) for value in values]

    def function(*tensors):
        found = []
        for row, first, values, args, kwargs in made:
            known = {id(value): tensors[first + i] for i, value in enumerate(values)}
            found.append(row(*as_tensors(args, known), **as_tensors(kwargs, known)))
        leaves = torch.utils._pytree.tree_leaves(found)
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    there = {"device": torch.device("cuda", 0), "default_float": "float64"}
    with tracing(dataclasses.replace(settings(), **there)):
        return triton_code.generated(function, arrays)


def check(calls):
    """Say what can't be generated or compiled: half of the calls at a time."""
    try:
        wrong = triton_code.failures(code_of(calls))
    except Exception as error:  # noqa: BLE001 - whatever it is, it's what is looked for
        wrong = {type(error).__name__: str(error).replace("\n", " ")[:300]}
    if not wrong or (len(calls) == 1 and _NO_FAULTS & set(wrong)):
        return 0
    if len(calls) == 1:
        print(f"    WRONG {wrong}: {text_of(calls[0].plan)[:300]}", flush=True)
        return 1
    half = len(calls) // 2
    return check(calls[:half]) + check(calls[half:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=["*"])
    parser.add_argument("--layouts", default="tails", help=", ".join(LAYOUTS))
    parser.add_argument("--dtypes", default="".join(d.char for d in DTYPES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=16, help="calls in one function")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="I N: each N-th row")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = chosen_rows(options.rows)[options.part[0] :: options.part[1]]
    known = [row for row in known if not row.inlined and "refused" not in row.note]
    dtypes = [np.dtype(code) for code in options.dtypes]
    waiting = [
        call
        for layout in options.layouts.split(",")
        for row in known
        for call in calls_of(row, layout, options.seed, dtypes=dtypes)
        if not call.plan.spec.text
    ]
    triton_code.pretend()
    start, wrong = time.perf_counter(), 0
    for first in range(0, len(waiting), options.size):
        calls = waiting[first : first + options.size]
        names = " ".join(dict.fromkeys(call.plan.row.name[6:] for call in calls))
        wrong += check(calls)
        print(f"{first + len(calls)} of {len(waiting)}: {names}", flush=True)
    print(f"{len(waiting)} calls, {wrong} fail, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
