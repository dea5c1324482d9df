"""Many calls as one function, which costs one compilation to C++, against NumPy."""

import dataclasses

import numpy as np
from diff_cases import Plan, function, keywords_of, rendered
from diff_inputs import DTYPES
from diff_running import (
    Outcome,
    difference,
    in_numpy,
    run_quietly,
    text_of,
    through_jit,
    through_row,
)
from diff_specs import spec_of

import npaccel

#: Forms of the main array, and its shapes for the n-th dtype. Loops over the same shape become
#: one, which can hide what is wrong with each alone: so most dtypes have shapes of their own.
LAYOUTS = {
    "whole vectors": ("special", lambda n: ((64 * n + 64,), (n + 2, 64), (2, n + 2, 64))),
    "tails": ("random", lambda n: ((67 + n,), (3, 37 + n), (2, 3, 19 + n))),
    "same loop": ("special", lambda n: ((100,), (5, 35), (2, 3, 35))),
    "strided": ("strided", lambda n: ((131 + n,), (4, 33 + n), (2, 3, 21 + n))),
    "few": ("random", lambda n: ((3 + n,), (5, 3 + n), (2, 2, 3 + n))),
    "columns": ("fortran", lambda n: ((70 + n,), (18 + n, 35), (3, 18 + n, 5))),
    "backwards": ("negative", lambda n: ((70 + n,), (5, 35 + n), (3, 5, 17 + n))),
    "stretched": ("stretched", lambda n: ((70 + n,), (5, 35 + n), (3, 5, 17 + n))),
    "one": ("one", lambda n: ()),
    "number": ("zero_d", lambda n: ()),
}


@dataclasses.dataclass(frozen=True)
class Call:
    """A call that NumPy answers, and the row when torch's own kernels run it."""

    plan: Plan
    wanted: Outcome

    def parts(self):
        """Return the function of the call and its arrays."""
        args, kwargs = self.plan.draw()
        text, values = rendered(self.plan.row, args, kwargs)
        return function(text, values), list(values.values())

    def wide(self):
        """Return the dtype that the result is used in further, or None.

        What compiled code keeps in a register may not have been cut to its dtype.
        """
        found = self.wanted.result
        if not isinstance(found, np.ndarray) or self.plan.spec.text:
            return None
        if found.dtype.kind in "biu" and found.itemsize < 8:
            return "int64"
        return "float64" if found.dtype == np.float16 else None

    def difference(self, result, arrays):
        """Return what differs from NumPy without a written reason, or None."""
        got = Outcome(result, None, tuple(arrays))
        return difference(self.plan, got, self.wanted, exact_types=True)


def calls_of(row, layout, seed=0, keywords=None, dtypes=DTYPES):
    """Return calls of a row, one for each dtype, that NumPy and the row answer.

    Parameters
    ----------
    row : Row
    layout : str
        One of `LAYOUTS`.
    seed : int
        Of the arguments; of the keywords too, where `keywords` are not given.
    keywords : sequence of str, optional
        Those of these that the row has.
    dtypes : sequence of dtype
    """
    spec = spec_of(row)
    form, shapes = LAYOUTS[layout]
    if form not in spec.forms:
        return []
    known = keywords_of(row, spec)
    found = []
    for n, dtype in enumerate(dtypes):
        chosen = _some(known, seed, n) if keywords is None else keywords
        chosen = [k for k in known if k in (*spec.always, *chosen)]
        if "where" in chosen and isinstance(row.numpy, np.ufunc) and "out" not in chosen:
            chosen.append("out")
        plan = Plan(row, spec, dtype, form, tuple(chosen), seed, shapes(n) or None)
        call = usable(plan)
        found += [call] if call else []
    return found


def _some(known, seed, n):
    """Return none, one or two of the keywords."""
    rng = np.random.default_rng([seed, n])
    count = min(int(rng.choice([0, 0, 1, 2])), len(known))
    return [known[i] for i in rng.permutation(len(known))[:count]]


def usable(plan):
    """Return a call, or None where NumPy or the row raises."""
    wanted = in_numpy(plan)
    if wanted.error is not None:
        return None
    run = through_jit if plan.spec.text or plan.row.inlined else through_row
    return None if run(plan).error is not None else Call(plan, wanted)


def batch(calls):
    """Return one function that makes all calls, and its arguments.

    It returns for each call the result and, for narrow elements, the result in a wide dtype.
    """
    space, arrays, lines, results = {"np": np}, [], [], []
    for i, call in enumerate(calls):
        space[f"f{i}"], values = call.parts()
        names = ", ".join(f"a{len(arrays) + j}" for j in range(len(values)))
        arrays += values
        lines.append(f"    r{i} = f{i}({names})\n")
        wide = call.wide()
        results.append(f"(r{i}, r{i}.astype('{wide}'))" if wide else f"(r{i}, None)")
    names = ", ".join(f"a{j}" for j in range(len(arrays)))
    exec(f"def call({names}):\n{''.join(lines)}    return [{', '.join(results)}]\n", space)
    return space["call"], arrays


def wrong_calls(calls, backend="inductor", **options):
    """Return what differs from NumPy, as text, when the calls are compiled as one."""
    if not calls:
        return []
    made, arrays = batch(calls)
    run = npaccel.jit(
        made, backend=backend, default_float="float64", strict=True, cache=False, **options
    )
    outcome = run_quietly(lambda: run(*arrays), arrays)
    if outcome.error is not None:
        return _which_raises(calls, outcome.error, backend, options)
    wrong = _wrong(calls, outcome, arrays)
    if wrong or backend != "inductor":
        return wrong
    arrays = batch(calls)[1]  # A later call does without tensors, where it can.
    outcome = run_quietly(lambda: run(*arrays), arrays)
    if outcome.error is not None:
        return [f"raises in the second call: {outcome.error!r:.300}"]
    return [f"in the second call: {text}" for text in _wrong(calls, outcome, arrays)]


def _wrong(calls, outcome, arrays):
    """Return what of a batch's results and arrays differs from NumPy, as text."""
    wrong = []
    for call, (result, wide) in zip(calls, outcome.result, strict=True):
        count = len(call.wanted.arrays)
        own, arrays = arrays[:count], arrays[count:]
        text = call.difference(result, own) or _unlike(wide, result)
        if text:
            wrong.append(f"{text}: {text_of(call.plan)[:600]}")
    return wrong


def _which_raises(calls, error, backend, options):
    """Return what raises, as text: half of the calls at a time.

    What raises on any backend is said before anything is computed, and not meant here.
    """
    kept = [call for call in calls if through_jit(call.plan).error is None]
    if len(calls) > 1 and len(kept) < len(calls):
        return wrong_calls(kept, backend, **options)
    if len(kept) > 1:
        half = len(calls) // 2
        parts = (calls[:half], calls[half:])
        found = [text for part in parts for text in wrong_calls(part, backend, **options)]
        return found or [f"raises together only: {error!r:.300}: {text_of(calls[0].plan)[:300]}"]
    text = f"raises {type(error).__name__}: {str(error)[:300]}".replace("\n", " ")
    return [f"{text}: {text_of(call.plan)[:600]}" for call in kept]


def _unlike(wide, result):
    """Return how a result that was used further differs from the one that was stored."""
    if wide is None:
        return None
    stored = np.asarray(result).astype(wide.dtype)
    bad = ~((wide == stored) | ((wide != wide) & (stored != stored)))
    return f"as {wide.dtype}: {wide[bad][:4]} of {result[bad][:4]}" if bad.any() else None
