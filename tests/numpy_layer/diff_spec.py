"""How a row of the table is called: the form in which it is said, and what all rows share."""

import dataclasses
from collections.abc import Callable

import numpy as np
from diff_inputs import (
    ARRAY_FORMS,
    FORMS,
    anything,
    literal,
    mask,
)

#: Stands for an array that the result is written to; made once the result's shape is known.
OUT = object()


@dataclasses.dataclass(frozen=True)
class Spec:
    """How a row is called.

    Parameters
    ----------
    args : tuple of callable
        A role for each positional argument (see `diff_inputs`).
    keywords : dict
        Roles of keywords where the common ones don't fit.
    forms : tuple of str
        The forms of the main array that make sense.
    extremes : bool
        Whether the ends of a dtype's range are among the values: elementwise functions only,
        as sums of them depend on their order.
    elementwise : bool
        Whether each element is compared in units of its own last place, not of the largest.
    always : tuple of str
        Keywords that each call gives.
    alone : tuple of str
        Keywords that are positional parameters of NumPy, not tried by name.
    values : bool
        Whether the values of the result are NumPy's: not those of `empty`.
    text : str
        The call as Python text, where it's no plain one. Such rows are run through `jit` only.
    """

    args: tuple[Callable, ...] = (anything(),)
    keywords: dict = dataclasses.field(default_factory=dict)
    forms: tuple[str, ...] = FORMS
    extremes: bool = False
    elementwise: bool = False
    always: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    values: bool = True
    text: str = ""


ONE = ("plain",)
#: Forms that can be written to.
WRITTEN = tuple(form for form in ARRAY_FORMS if form not in ("stretched", "scalar"))

# -- keywords that mean the same wherever they are

KIND = literal(None, "f4", "d", np.float32, np.int32, np.dtype("u2"), "?", "F", int, float, complex)
AXIS = literal(None, 0, -1, 1, -2, (0, 1), (-1,), (), 3, -4)
YES = literal(True, False)

KEYWORDS = {
    **dict.fromkeys(("axis", "axes"), AXIS),
    **dict.fromkeys(("axis1", "axis2", "axisa", "axisb", "axisc"), literal(0, 1, -1, -2, 2)),
    **dict.fromkeys(
        (
            *("keepdims", "subok", "copy", "endpoint", "retstep", "sparse", "include_initial"),
            *(
                "equal_nan",
                "deg",
                "hermitian",
                "full_matrices",
                "compute_uv",
                "upper",
                "increasing",
            ),
            *("wrap", "right", "invert", "assume_unique", "return_index", "return_inverse"),
            *("return_counts", "return_indices", "density", "returned", "bias", "rowvar", "full"),
            *("overwrite_input", "tensor", "writeable", "sorted"),
        ),
        YES,
    ),
    "dtype": KIND,
    "order": literal("C", "F", "A", "K", "X", None),
    "casting": literal("no", "equiv", "safe", "same_kind", "unsafe", "nonsense"),
    "like": literal(None),
    "device": literal(None, "cpu", "gpu"),
    "where": mask,
    "out": literal(OUT),
    "initial": literal(0, 1, 2.5, -3, True, None),
    **dict.fromkeys(("ddof", "correction"), literal(0, 1, 2, 5, 0.5)),
    "decimals": literal(0, 1, 2, -1, 3),
    "mode": literal("raise", "wrap", "clip", "nonsense"),
    "kind": literal(None, "quicksort", "stable", "heapsort", "nonsense"),
    "stable": literal(None, True, False),
    "descending": literal(None, True, False),
    "offset": literal(0, 1, -1, 3),
    "k": literal(0, 1, -1, 5),
    "norm": literal(None, "backward", "ortho", "forward", "nonsense"),
    "n": literal(1, 2, 0, 5),
    "q": literal(0.3),
    "method": literal(
        *("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "weibull", "hazen"),
        *("averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
        *("median_unbiased", "normal_unbiased", "nonsense"),
    ),
    "indexing": literal("xy", "ij", "zz"),
    "side": literal("left", "right", "both"),
    "UPLO": literal("L", "U", "l", "X"),
    "rtol": literal(1e-5, 0.0, 0.3),
    "atol": literal(1e-8, 0.5, 0),
    "ndmin": literal(0, 1, 2, 4),
    "max_rows": literal(None),
}

SPECS: dict[str, Spec] = {}


def spec(names, *args, **fields):
    """Enter one spec for several names, without `numpy.`."""
    for name in names.split():
        if f"numpy.{name}" in SPECS:
            raise ValueError(f"numpy.{name} has a spec already")
        forms = ARRAY_FORMS if name.startswith("ndarray.") else FORMS
        SPECS[f"numpy.{name}"] = Spec(args or (anything(),), **({"forms": forms} | fields))


def both(names, *args, **fields):
    """Enter one spec for functions and the methods of the same names."""
    spec(names, *args, **fields)
    spec(" ".join(f"ndarray.{name}" for name in names.split()), *args, **fields)
