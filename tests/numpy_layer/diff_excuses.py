"""What each reason in `npaccel._numpy.core.known_differences` excuses, and no more than that."""

import dataclasses
import itertools

import numpy as np
import torch

from npaccel.errors import NotCompiledError

#: Reasons that say that NumPy runs a call, after a warning.
FALL_BACKS = {"refused", "rounded-out"}


def excused(kinds, plan, got, wanted, checker):
    """Whether one of these kinds of difference explains all that differs in a call."""
    return any(EXCUSES[kind](plan, got, wanted, checker) for kind in kinds)


def _equal(checker, got, wanted, arrays=True):
    """Compare results and, unless told otherwise, the arrays as well."""
    if checker.compare(got.result, wanted.result, "result"):
        return False
    pairs = zip(got.arrays, wanted.arrays, strict=True) if arrays else ()
    return not any(checker.compare(a, b, "argument") for a, b in pairs)


def _succeeded(*outcomes):
    return all(outcome.error is None for outcome in outcomes)


def complex_infinity(plan, got, wanted, checker):
    loose = dataclasses.replace(checker, loose="infinity")
    return _succeeded(got, wanted) and _equal(loose, got, wanted)


def complex_power(plan, got, wanted, checker):
    operands = plan.draw()[0][:2]
    if not _succeeded(got, wanted) or np.result_type(*map(np.asarray, operands)).kind != "c":
        return False
    x, y = (np.asarray(arg, dtype=complex) for arg in operands)
    x, y = (y, x) if plan.row.name.endswith("rpow__") else (x, y)
    if plan.row.name.endswith("outer"):
        x = x.reshape(x.shape + (1,) * y.ndim)
    with np.errstate(all="ignore"):
        size = np.abs(y * np.log(x))
    if (~np.isfinite(size) | (size > 40)).any():
        far = np.asarray(~np.isfinite(size) | (size > 40))
        parts = [np.where(far, 1, np.asarray(outcome.result)) for outcome in (got, wanted)]
        return not dataclasses.replace(checker, ulps=41 * checker.ulps).compare(*parts, "near")
    loose = dataclasses.replace(checker, ulps=checker.ulps * (1 + float(np.max(size, initial=0))))
    return _equal(loose, got, wanted, arrays="out" not in plan.keywords)


def large_logarithm(plan, got, wanted, checker):
    if not _succeeded(got, wanted) or plan.dtype.kind != "c":
        return False
    if not any((np.abs(a) > np.finfo(plan.dtype).max / 4).any() for a in wanted.arrays[:1]):
        return False
    return _equal(dataclasses.replace(checker, loose="not finite"), got, wanted)


def cancellation(plan, got, wanted, checker):
    loose = dataclasses.replace(checker, scale=max(checker.scale, 1.0))
    return _succeeded(got, wanted) and _equal(loose, got, wanted)


def half(plan, got, wanted, checker):
    if plan.dtype != np.float16 or not _succeeded(got, wanted):
        return False
    finite = all(np.isfinite(a).all() for a in wanted.arrays)
    coarse = dataclasses.replace(
        checker, eps=float(np.finfo(np.float16).eps), loose="" if finite else "not finite"
    )
    parts = [_parts(outcome.result) for outcome in (got, wanted)]
    return not coarse.compare(*parts, "parts")  # one of a number's parts may be infinite


def _parts(result):
    """Return the real and imaginary parts of a result as numbers of their own."""
    if isinstance(result, torch.Tensor):
        result = result.resolve_conj().numpy()
    return np.stack([np.real(result), np.imag(result)])


def condition(plan, got, wanted, checker):
    matrix = np.asarray(plan.draw()[0][0])
    if not _succeeded(got, wanted) or not matrix.size:
        return False
    if plan.row.name.endswith("tensorsolve"):
        size = np.asarray(plan.draw()[0][1]).size
        matrix = matrix.reshape(size, -1)
    kind = np.result_type(matrix, 1.0)
    worst = float(np.max(np.linalg.cond(matrix.astype(kind))))
    if worst > 1 / np.finfo(kind).eps:
        return True
    return _equal(dataclasses.replace(checker, ulps=checker.ulps * (1 + worst)), got, wanted)


def own_precision(plan, got, wanted, checker):
    if "dtype" not in plan.keywords or plan.dtype.kind not in "fc":
        return False
    coarse = dataclasses.replace(checker, eps=float(np.finfo(plan.dtype).eps))
    return _succeeded(got, wanted) and _equal(coarse, got, wanted)


def no_data(plan, got, wanted, checker):
    if plan.form != "empty" or not _succeeded(got, wanted):
        return False
    return _equal(dataclasses.replace(checker, values=False), got, wanted)


def spread(plan, got, wanted, checker):
    if not _succeeded(got, wanted) or all(np.isfinite(a).all() for a in wanted.arrays):
        return False
    return _equal(dataclasses.replace(checker, loose="not finite"), got, wanted)


def empty_border(plan, got, wanted, checker):
    args, kwargs = plan.draw()
    if kwargs.get("mode") != "empty" or not _succeeded(got, wanted):
        return False
    inside = np.pad(np.ones(np.shape(args[0]), bool), args[1], mode="constant")
    parts = [np.where(inside, np.asarray(outcome.result), 0) for outcome in (got, wanted)]
    return not checker.compare(*parts, "inside")


def phase(plan, got, wanted, checker):
    if not _succeeded(got, wanted):
        return False
    loose = dataclasses.replace(checker, ulps=100 * checker.ulps)
    both = [[np.asarray(part) for part in parts_of(outcome)] for outcome in (got, wanted)]
    if [x.shape for x in both[0]] != [x.shape for x in both[1]]:
        return False
    return not loose.compare(*(rebuilt(plan.row.name, parts) for parts in both), "product")


def parts_of(outcome):
    found = outcome.result
    return found if isinstance(found, tuple | list) else (found,)


def rebuilt(name, parts):
    """Return what doesn't depend on the choice of vectors: the matrix made of its parts."""
    if name.endswith("qr"):
        r = parts[-1]
        return [parts[0] @ r if len(parts) > 1 else np.conj(np.swapaxes(r, -1, -2)) @ r]
    if name.endswith("svd"):
        u, s, vh = parts
        k = s.shape[-1]
        return [s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]]
    values, vectors = parts
    if name.endswith("eigh"):
        inverse = np.conj(np.swapaxes(vectors, -1, -2))
    else:
        inverse = np.linalg.pinv(vectors)
    return [values, (vectors * values[..., None, :]) @ inverse]


def used_out(plan, got, wanted, checker):
    return "out" in plan.keywords and ("s" in plan.keywords or "axes" in plan.keywords)


def refused(plan, got, wanted, checker):
    told = isinstance(got.error, NotImplementedError | NotCompiledError)
    return told and wanted.error is None


def rounded_out(plan, got, wanted, checker):
    text = str(got.error)
    told = "Cannot cast" in text or "rounds in between" in text
    return "out" in plan.keywords and wanted.error is None and told


def spoilt_input(plan, got, wanted, checker):
    if "overwrite_input" not in plan.keywords:
        return False
    if got.error is None and "read-only" in str(wanted.error):
        return True  # which is not written to
    if not _succeeded(got, wanted):
        return False
    loose = dataclasses.replace(checker, loose="infinity")  # as holds everywhere
    return _equal(loose, got, wanted, arrays=False)


def masked_scalar(plan, got, wanted, checker):
    if plan.form != "scalar" or not _succeeded(got, wanted):
        return False
    return not np.any(plan.draw()[1].get("where", True)) and bool(np.isnan(wanted.result).all())


def order_of_unique(plan, got, wanted, checker):
    asked = plan.row.name.endswith("unique") and plan.draw()[1].get("sorted", True)
    if asked or not _succeeded(got, wanted) or isinstance(wanted.result, tuple):
        return False
    both = [np.sort(np.asarray(outcome.result)) for outcome in (got, wanted)]
    return not checker.compare(*both, "sorted")


def scalar_copy(plan, got, wanted, checker):
    if plan.form != "scalar" or plan.draw()[1].get("copy", True):
        return False
    return "Unable to avoid copy" in str(wanted.error)


def equal_elements(plan, got, wanted, checker):
    if not _succeeded(got, wanted):
        return False
    args, kwargs = plan.draw()
    values, axis = np.asarray(args[0]), kwargs.get("axis", -1)
    values, axis = (values.reshape(-1), 0) if axis is None or not values.ndim else (values, axis)
    both = [np.asarray(outcome.result) for outcome in (got, wanted)]
    if any(a.dtype != np.intp or a.shape != values.shape for a in both):
        return False
    order = [np.take_along_axis(values, places, axis) for places in both]
    if plan.row.name.endswith("argpartition"):
        order = [_sorted_parts(found, args[1], axis) for found in order]
    complete = np.array_equal(*(np.sort(places, axis) for places in both))
    return complete and np.array_equal(*order, equal_nan=values.dtype.kind in "fc")


def _sorted_parts(found, kth, axis):
    """Sort what is between the elements that a partition puts into their places."""
    found, n = np.moveaxis(found, axis, -1).copy(), found.shape[axis]
    edges = [-1, *sorted({k % n for k in np.ravel(kth)}), n] if n else []
    for start, stop in itertools.pairwise(edges):
        found[..., start + 1 : stop].sort()
    return found


def strong_item(plan, got, wanted, checker):
    if not _succeeded(got, wanted):
        return False
    return np.asarray(got.result).astype(np.asarray(wanted.result).dtype) == wanted.result or (
        wanted.result != wanted.result
    )


def reversed_view(plan, got, wanted, checker):
    is_copied = plan.form in ("negative", "stretched")
    return is_copied and got.error is None and isinstance(wanted.error, ValueError)


def leading_zeros(plan, got, wanted, checker):
    first = [np.atleast_1d(np.asarray(arg))[0] for arg in plan.draw()[0] if np.size(arg)]
    if not _succeeded(got, wanted) or 0 not in first:
        return False
    return _equal(dataclasses.replace(checker, loose="got NaN"), got, wanted)


def overflow(plan, got, wanted, checker):
    is_whole = plan.dtype.kind in "iu" and _succeeded(got, wanted)
    return is_whole and _equal(dataclasses.replace(checker, values=False), got, wanted)


def whole_digits(plan, got, wanted, checker):
    if not _succeeded(got, wanted) or np.asarray(wanted.result).dtype.kind not in "iu":
        return False
    a, b = (np.asarray(outcome.result).astype(float) for outcome in (got, wanted))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-6, atol=1))


def undefined_cast(plan, got, wanted, checker):
    dtype = np.dtype("u4") if plan.row.name.endswith("uint32") else plan.dtype
    if dtype.kind not in "iu" or not _succeeded(got, wanted):
        return False
    info = np.iinfo(dtype)
    values = [np.asarray(a).real for a in wanted.arrays if np.asarray(a).dtype.kind in "fc"]
    with np.errstate(invalid="ignore"):
        odd = any((~((v > info.min - 1.0) & (v < info.max + 1.0))).any() for v in values)
    return odd and _equal(dataclasses.replace(checker, values=False), got, wanted)


EXCUSES = {
    "complex-infinity": complex_infinity,
    "complex-power": complex_power,
    "large-logarithm": large_logarithm,
    "cancellation": cancellation,
    "half": half,
    "no-data": no_data,
    "own-precision": own_precision,
    "empty-border": empty_border,
    "condition": condition,
    "masked-scalar": masked_scalar,
    "phase": phase,
    "spread": spread,
    "used-out": used_out,
    "refused": refused,
    "rounded-out": rounded_out,
    "spoilt-input": spoilt_input,
    "order-of-unique": order_of_unique,
    "scalar-copy": scalar_copy,
    "equal-elements": equal_elements,
    "strong-item": strong_item,
    "reversed": reversed_view,
    "overflow": overflow,
    "whole-digits": whole_digits,
    "undefined-cast": undefined_cast,
    "leading-zeros": leading_zeros,
}
