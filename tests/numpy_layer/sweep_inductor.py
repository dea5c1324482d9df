"""Compare calls of many rows compiled to C++ with NumPy: see --help.

python tests/numpy_layer/sweep_inductor.py 'add' 'ndarray.*' --layouts tails,strided
"""

import argparse
import fnmatch
import time
import warnings

import numpy as np
import torch
from diff_inputs import DTYPES
from inductor_batches import LAYOUTS, calls_of, wrong_calls

from npaccel import _numpy
from npaccel._numpy.core.table import rows

_numpy.load()


def chosen_rows(patterns):
    """Return the compiled rows whose names, without `numpy.`, fit one of the patterns."""
    known = {
        name.removeprefix("numpy."): row for name, row in rows().items() if row.status == "compiled"
    }
    return [
        row for name, row in known.items() if any(fnmatch.fnmatchcase(name, p) for p in patterns)
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", default=["*"])
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--dtypes", default="".join(d.char for d in DTYPES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", type=int, default=28, help="calls in one function")
    parser.add_argument("--seconds", type=float, default=3e7)
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="I N: each N-th row")
    parser.add_argument("--not", dest="left_out", nargs="*", default=[])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    left_out = chosen_rows(options.left_out)
    known = [row for row in chosen_rows(options.rows or ["*"]) if row not in left_out]
    known = known[options.part[0] :: options.part[1]]
    dtypes = [np.dtype(code) for code in options.dtypes]
    start, compared, batches, differ = time.perf_counter(), 0, 0, 0
    for layout in options.layouts.split(","):
        waiting = []
        for i, row in enumerate(known):
            if time.perf_counter() - start > options.seconds:
                print(f"out of time at {row.name}, {layout}", flush=True)
                break
            waiting += calls_of(row, layout, options.seed, dtypes=dtypes)
            while len(waiting) >= options.size or (waiting and i == len(known) - 1):
                part, waiting = waiting[: options.size], waiting[options.size :]
                names = " ".join(dict.fromkeys(call.plan.row.name[6:] for call in part))
                began = time.perf_counter()
                print(f"{layout}: {names}", end="", flush=True)
                dynamic = True if options.dynamic else None
                wrong = wrong_calls(part, dynamic=dynamic, device=options.device)
                compared, batches, differ = compared + len(part), batches + 1, differ + len(wrong)
                print(f"  {len(part)} calls, {time.perf_counter() - began:.1f} s", flush=True)
                for text in wrong:
                    print(f"    WRONG {text}", flush=True)
                if options.device == "cuda":
                    torch.cuda.synchronize()  # Ends with the error after which all fail.
                if batches % 20 == 0:
                    torch.compiler.reset()
    taken = time.perf_counter() - start
    print(f"{compared} calls in {batches} functions, {differ} differ, {taken:.0f} s")


if __name__ == "__main__":
    main()
