"""Run a call in NumPy, through its row and through `jit`, and compare."""

import dataclasses
import warnings

import numpy as np
import torch
from diff_cases import function, reference, rendered
from diff_excuses import FALL_BACKS, excused

import npaccel
from npaccel._numpy.core.known_differences import UNCHECKED, differences_of
from npaccel._runtime.arguments import to_tensor
from npaccel.errors import NotCompiledError


@dataclasses.dataclass
class Outcome:
    """What a call did: its result or error, and its arrays afterwards."""

    result: object = None
    error: Exception | None = None
    arrays: tuple = ()


def in_numpy(plan):
    args, kwargs = plan.draw()
    text, values = rendered(plan.row, args, kwargs)
    return run_quietly(lambda: function(text, values)(*values.values()), values.values())


def through_jit(plan, strict=True, device="cpu"):
    args, kwargs = plan.draw()
    text, values = rendered(plan.row, args, kwargs)
    options = {"backend": "eager", "default_float": "float64", "cache": False}
    run = npaccel.jit(function(text, values), strict=strict, device=device, **options)
    return run_quietly(lambda: run(*values.values()), values.values())


def through_row(plan):
    args, kwargs = plan.draw()
    _, values = rendered(plan.row, args, kwargs)
    known = {}
    args, kwargs = as_tensors(args, known), as_tensors(kwargs, known)
    call = plan.row.implementation
    outcome = run_quietly(lambda: call(*args, **kwargs), ())
    outcome.arrays = tuple(known[id(v)].numpy() if id(v) in known else v for v in values.values())
    return outcome


def as_tensors(x, known):
    """Return arguments with tensors for arrays; one array becomes one tensor."""
    if isinstance(x, np.ndarray | np.generic):
        if id(x) not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known[id(x)] = to_tensor(x)
        return known[id(x)]
    if type(x) in (list, tuple):
        return type(x)(as_tensors(item, known) for item in x)
    return {k: as_tensors(v, known) for k, v in x.items()} if isinstance(x, dict) else x


def run_quietly(call, arrays):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it's what is compared
            return Outcome(error=error, arrays=tuple(arrays))
    return Outcome(result, None, tuple(arrays))


# -- comparing


def difference(plan, got, wanted, exact_types):
    """Return what differs between two outcomes without a reason in the table, or None."""
    checker = Checker(
        ulps=plan.row.tolerance or 16,
        eps=eps_of_loop(plan),
        scale=0.0 if plan.spec.elementwise else largest(wanted.arrays),
        elementwise=plan.spec.elementwise,
        exact_types=exact_types,
        values=plan.spec.values,
    )
    found = plain_difference(checker, got, wanted)
    if not found:
        return None
    kinds = [d.kind for d in differences_of(plan.row.name)]
    return None if excused(kinds, plan, got, wanted, checker) else found


def plain_difference(checker, got, wanted):
    if wanted.error is not None or got.error is not None:
        return error_difference(got.error, wanted.error)
    found = checker.compare(got.result, wanted.result, "result")
    for i, (mine, theirs) in enumerate(zip(got.arrays, wanted.arrays, strict=True)):
        found = found or checker.compare(mine, theirs, f"argument {i}")
    return found


def largest(arrays):
    """Return the largest finite number among the operands: sums may lose its last digits."""
    found = 0.0
    for array in arrays:
        values = np.abs(np.asarray(array, dtype=complex))
        found = max(found, float(np.max(values, initial=0, where=np.isfinite(values))))
    return found


#: Rows that compute in a dtype of their own, whatever `dtype` says.
_CAST_AT_LAST = ("numpy.logspace", "numpy.geomspace")


def eps_of_loop(plan):
    """Return the eps of the dtype that is computed in, where the result's may be finer."""
    if not {"out", "dtype", "density"} & set(plan.keywords):
        return 0.0
    if plan.row.name in _CAST_AT_LAST:
        args = [x if type(x) in (int, float, complex) else np.asarray(x) for x in plan.draw()[0]]
        return float(np.finfo(np.result_type(*args, 0.0)).eps)
    left = tuple(k for k in plan.keywords if k not in ("out", "where", "density"))
    found = reference(dataclasses.replace(plan, keywords=left))
    parts = found if isinstance(found, tuple | list) else (found,)
    dtypes = [np.asarray(part).dtype for part in parts if not isinstance(part, tuple | list)]
    return max((float(np.finfo(d).eps) for d in dtypes if d.kind in "fc"), default=0.0)


def error_difference(got, wanted):
    if wanted is None and got is None:
        return None
    if wanted is None:
        return f"raises {type(got).__name__}: {str(got)[:200]}"
    if got is None:
        return f"doesn't raise; NumPy: {type(wanted).__name__}: {str(wanted)[:200]}"
    expected = next(c for c in type(wanted).__mro__ if c.__module__ != "numpy._core._exceptions")
    if isinstance(got, expected):
        return None
    theirs = f"{type(wanted).__name__}: {str(wanted)[:120]}"
    return f"raises {type(got).__name__}: {str(got)[:120]}; NumPy: {theirs}"


@dataclasses.dataclass
class Checker:
    """Compares results.

    Parameters
    ----------
    ulps : float
        Units in the last place that floats may differ by.
    eps : float
        Of the dtype that is computed in, where it's coarser than the result's.
    scale : float
        Numbers are compared as if they were at least as large as this.
    elementwise : bool
        Units of each element, instead of the largest.
    exact_types : bool
        Whether a NumPy scalar must be a scalar, a list a list.
    values : bool
        Whether values are compared.
    loose : {"", "infinity", "got NaN", "not finite"}
        What else counts as equal: complex numbers neither of which is finite, NaN for any, or
        numbers one of which isn't finite.
    """

    ulps: float
    eps: float
    scale: float
    elementwise: bool
    exact_types: bool
    values: bool = True
    loose: str = ""

    def compare(self, got, wanted, where):
        if isinstance(wanted, tuple | list):
            return self.sequence(got, wanted, where)
        if isinstance(got, torch.Tensor):
            got = got.resolve_conj().resolve_neg().numpy()
        if isinstance(wanted, np.ndarray | np.generic | int | float | complex):
            if self.exact_types and sort(got) is not sort(wanted):
                return f"{where}: a {type(got).__name__}, NumPy's is a {type(wanted).__name__}"
            return self.arrays(got, wanted, where)
        if type(wanted).__name__ in ("finfo", "iinfo"):
            return None if str(got) == str(wanted) else f"{where}: {got} instead of {wanted}"
        return None if got is wanted or got == wanted else f"{where}: {got!r} instead of {wanted!r}"

    def sequence(self, got, wanted, where):
        if not isinstance(got, tuple | list) or len(got) != len(wanted):
            return f"{where}: {type(got).__name__} instead of {len(wanted)} parts"
        if self.exact_types and type(got) is not type(wanted):
            return f"{where}: a {type(got).__name__}, NumPy's is a {type(wanted).__name__}"
        parts = enumerate(zip(got, wanted, strict=True))
        return next(
            filter(None, (self.compare(a, b, f"{where}[{i}]") for i, (a, b) in parts)), None
        )

    def arrays(self, got, wanted, where):
        got, wanted = np.asarray(got), np.asarray(wanted)
        if got.dtype != wanted.dtype:
            return f"{where}: dtype {got.dtype} instead of {wanted.dtype}"
        if got.shape != wanted.shape:
            return f"{where}: shape {got.shape} instead of {wanted.shape}"
        bad = ~np.asarray(self.close(got, wanted))
        if not self.values or not bad.any():
            return None
        values = f"{got[bad][:4]} instead of {wanted[bad][:4]}"
        return f"{where}: value {values} ({wanted.dtype}, {bad.sum()} of {bad.size})"

    def close(self, got, wanted):
        if wanted.dtype.kind not in "fc":
            return got == wanted
        with np.errstate(all="ignore"):
            if wanted.dtype.kind == "c":
                same = same_special(got.real, wanted.real) & same_special(got.imag, wanted.imag)
            else:
                same = same_special(got, wanted)
            return self.near(got, wanted) | same | self.tolerated(got, wanted)

    def tolerated(self, got, wanted):
        if self.loose == "infinity" and wanted.dtype.kind == "c":
            return ~np.isfinite(got) & ~np.isfinite(wanted)
        if self.loose == "not finite":
            return ~np.isfinite(got) | ~np.isfinite(wanted)
        return np.isnan(got) if self.loose == "got NaN" else np.zeros(got.shape, bool)

    def near(self, got, wanted):
        info = np.finfo(wanted.dtype)
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        got, wanted = got.astype(wide), wanted.astype(wide)
        finite = np.isfinite(wanted) & np.isfinite(got)
        size = np.abs(wanted)
        if not self.elementwise:
            size = np.full(size.shape, np.max(size, initial=0, where=finite))
        size = np.maximum(size, self.scale)
        eps = max(float(info.eps), self.eps)
        allowed = self.ulps * (eps * size + float(info.smallest_subnormal))
        return finite & (np.abs(got - wanted) <= allowed)


def sort(value):
    """Return the type of a value; NumPy's scalars are told apart by their dtypes."""
    return np.generic if isinstance(value, np.generic) else type(value)


def same_special(got, wanted):
    return (got == wanted) | (np.isnan(got) & np.isnan(wanted))


#: After these errors a GPU can't be used any more, or they aren't looked for there.
_ASSERTED = ("out of bounds", "NumPy boolean array indexing assignment")


def check_on(device, plan):
    """Return what differs from NumPy when a call is compiled for a device."""
    wanted = in_numpy(plan)
    if device == "cuda" and any(text in str(wanted.error) for text in _ASSERTED):
        return None
    got = through_jit(plan, wanted.error is None, device)
    if isinstance(got.error, NotCompiledError) and is_told_refused(plan, got, wanted):
        return None
    if wanted.error is not None and got.error is None and UNCHECKED in plan.row.note:
        return None
    return difference(plan, got, wanted, exact_types=True)


def check(plan, jit=False):
    """Return what differs from NumPy when a call runs through its row, or through jit."""
    wanted = in_numpy(plan)
    jit = jit or bool(plan.spec.text) or plan.row.inlined or "read-only" in str(wanted.error)
    got = through_jit(plan, strict=wanted.error is None) if jit else through_row(plan)
    if isinstance(got.error, NotCompiledError) and is_told_refused(plan, got, wanted):
        got = through_jit(plan, strict=False)  # NumPy must do it then.
    found = difference(plan, got, wanted, exact_types=jit)
    if not found or jit or wanted.error is None:
        return found
    # NumPy is asked for its error where the row has another one, or none.
    return difference(plan, through_jit(plan, strict=False), wanted, exact_types=True)


def is_told_refused(plan, got, wanted):
    """Whether a reason in the table says that NumPy runs this call."""
    kinds = {d.kind for d in differences_of(plan.row.name)} & FALL_BACKS
    return "has no compiled implementation" in str(got.error) and excused(
        kinds, plan, got, wanted, None
    )


def text_of(plan):
    """Return a call as text, with its arrays."""
    args, kwargs = plan.draw()
    text, values = rendered(plan.row, args, kwargs)
    arrays = "; ".join(f"{n}={v!r}" for n, v in values.items())
    return f"{text}  with {arrays}  ({plan.form}, seed {plan.seed})".replace("\n", " ")
