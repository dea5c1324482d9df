"""How each row of the table is called: one place, by family.

A row without a spec fails the test. Ufuncs, their methods and Python's operators
need no entry: their spec follows from what they are. The others are said in the
modules that are imported here.
"""

import diff_specs_creation
import diff_specs_elements
import diff_specs_linalg
import diff_specs_others
import diff_specs_reductions
import diff_specs_series
import numpy as np
from diff_inputs import (
    ARRAY_FORMS,
    any_vector,
    anything,
    literal,
    mask,
    other,
    same_shape,
)
from diff_spec import SPECS, WRITTEN, YES, Spec

CHAPTERS = (
    diff_specs_creation,
    diff_specs_elements,
    diff_specs_linalg,
    diff_specs_others,
    diff_specs_reductions,
    diff_specs_series,
)


def spec_of(row):
    """Return the spec of a row, or None where it has none."""
    if isinstance(row.numpy, np.ufunc):
        return ufunc_spec(row.numpy)
    if row.name in SPECS:
        return SPECS[row.name]
    if row.name.startswith("numpy.random."):
        return diff_specs_others.random_spec(row.name)
    last = row.name.rsplit(".", 1)[-1]
    if last in UFUNC_METHODS:
        return UFUNC_METHODS[last](getattr(np, row.name.split(".")[1]))
    return OPERATORS.get(last)


UFUNC_KEYWORDS = {
    "dtype": literal(None, "f4", "d", "i4", "?", "F", "l", np.uint8),
    "signature": literal(None, "d", "ddd", ("f", "f", "f"), "nonsense"),
    "where": mask,
    "subok": YES,
    "order": literal("C", "F", "A", "K"),
}
PRODUCT_KEYWORDS = {"axis": literal(-1, 0), "keepdims": YES, "axes": literal([(-1,), (-1,), ()])}


def ufunc_spec(ufunc):
    """Return the spec of an elementwise or generalised ufunc."""
    if ufunc.signature is not None:
        matrices = (anything(1, 2, 3), other)
        return Spec(matrices, UFUNC_KEYWORDS | PRODUCT_KEYWORDS, alone=("where",))
    roles = (anything(), other)[: ufunc.nin]
    return Spec(roles, UFUNC_KEYWORDS, extremes=True, elementwise=True)


def _folding(ufunc):
    return Spec((anything(),), elementwise=False)


def _reduceat(ufunc):
    return Spec((anything(1, 2, 3), literal([0, 1], [1, 0, 2], np.array([0]), [0, 2, 1])))


def _outer(ufunc):
    return Spec((anything(0, 1, 2), same_shape), UFUNC_KEYWORDS, extremes=True, elementwise=True)


def _at(ufunc):
    operands = (any_vector,) if ufunc.nin == 2 else ()
    at = literal(
        [0, 1], [0, 0, 1], 0, slice(0, 2), np.array([1, 1]), np.array([True, False, True, False])
    )
    values = (other,) if ufunc.nin == 2 else ()
    assert len(operands) == len(values)
    return Spec((anything(1, 2, 3), at, *values), forms=WRITTEN, elementwise=True)


UFUNC_METHODS = {
    "reduce": _folding,
    "accumulate": _folding,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}

BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul"),
    *("lshift", "rshift", "and", "or", "xor"),
)
_UNARY_OPERATOR = Spec(forms=ARRAY_FORMS, extremes=True, elementwise=True)
_BINARY_OPERATOR = Spec((anything(), other), forms=ARRAY_FORMS, extremes=True, elementwise=True)
_INPLACE = Spec((anything(), other), forms=WRITTEN, extremes=True, elementwise=True)
_PRODUCT = Spec((anything(), other), forms=ARRAY_FORMS)
OPERATORS = {
    **{f"__{name}__": _UNARY_OPERATOR for name in ("neg", "pos", "abs", "invert")},
    **{f"__{r}{name}__": _BINARY_OPERATOR for name in BINARY for r in ("", "r")},
    **{f"__{name}__": _BINARY_OPERATOR for name in ("lt", "le", "eq", "ne", "gt", "ge")},
    **{f"__i{name}__": _INPLACE for name in BINARY if name != "divmod"},
    **{f"__{r}matmul__": _PRODUCT for r in ("", "r", "i")},
}
