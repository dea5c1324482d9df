"""How rows are called: elementwise functions that are no ufuncs, reductions and running sums."""

import numpy as np
from diff_inputs import (
    FORMS,
    any_matrix,
    anything,
    literal,
    other,
    same_dtype,
    same_shape,
    shaped,
    small,
    vector,
)
from diff_spec import AXIS, both, spec

# -- elementwise functions

spec(
    "isposinf isneginf iscomplex isreal fix real imag sinc i0",
    extremes=True,
    elementwise=True,
)
spec("angle", extremes=False, elementwise=True)
spec(
    "nan_to_num",
    extremes=True,
    elementwise=True,
    keywords={
        "nan": literal(0.0, 1, -2.5),
        "posinf": literal(None, 9, 1e3),
        "neginf": literal(None, -9),
    },
)
spec("isclose allclose", anything(), other, extremes=True)
spec("array_equal array_equiv", anything(), other, extremes=True)
both(
    "clip",
    anything(),
    other,
    other,
    extremes=True,
    elementwise=True,
    keywords={"min": other, "max": literal(None, 3)},
    alone=("a_min", "a_max", "min", "max"),
)
both("round", extremes=False, elementwise=True)
spec("around", elementwise=True)
spec("ndarray.conj ndarray.conjugate", extremes=True, elementwise=True)

# -- reductions and running sums

both(
    "sum prod mean var std max min any all argmax argmin",
    keywords={"mean": literal(0.5), "axis": AXIS},
)
spec("amax amin ptp count_nonzero")
spec(
    "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin nanmedian median",
    keywords={"mean": literal(0.5)},
)
both("cumsum cumprod")
spec("nancumsum nancumprod cumulative_sum cumulative_prod")
spec(
    "quantile nanquantile",
    anything(),
    literal(0.3, [0.25, 0.5], 0, 1.0, 0.5),
    keywords={"weights": lambda draw: np.abs(small(draw.rng, draw.shape, np.dtype("d"))) + 1},
)
spec(
    "percentile nanpercentile",
    anything(),
    literal(30, [25, 50.0], 0, 100, 50.5),
    keywords={"weights": lambda draw: np.abs(small(draw.rng, draw.shape, np.dtype("d"))) + 1},
)
spec("average", keywords={"weights": same_shape})
spec(
    "cov corrcoef",
    any_matrix,
    keywords={
        "y": same_dtype,
        "fweights": lambda draw: draw.rng.integers(1, 4, draw.shape[-1:]),
        "aweights": lambda draw: draw.rng.random(draw.shape[-1:]) + 0.5,
        "ddof": literal(None, 0, 1, 2),
        "dtype": literal(None, "f4", "d", "D"),
    },
)
spec("diff", keywords={"prepend": literal(0, 1.5), "append": literal(0, 2)})
spec("ediff1d", keywords={"to_end": literal(None, 0, [1, 2]), "to_begin": literal(None, 3)})
spec("gradient", keywords={"edge_order": literal(1, 2)}, alone=("varargs",))
spec("trapezoid trapz", keywords={"x": same_dtype, "dx": literal(1.0, 0.5, 2)})
spec(
    "histogram histogram_bin_edges",
    keywords={
        "bins": literal(10, 3, [0, 1, 2, 5], "auto", 0),
        "range": literal(None, (0, 3), (-1.5, 2)),
        "weights": same_shape,
    },
    forms=tuple(f for f in FORMS if f != "special"),
)
spec(
    "histogramdd",
    shaped(6, 2),
    keywords={
        "bins": literal(3, (2, 4), [[0, 1, 2], [0, 3]]),
        "range": literal(None, [(0, 3), (-1, 2)]),
        "weights": vector(6),
    },
    forms=("plain", "random", "strided", "negative", "fortran"),
)
spec(
    "histogram2d",
    vector(6),
    vector(6),
    keywords={
        "bins": literal(3, (2, 4), [0, 1, 2]),
        "range": literal(None, [(0, 3), (-1, 2)]),
        "weights": vector(6),
    },
    forms=("plain", "random", "strided", "negative"),
)
spec(
    "bincount",
    lambda draw: draw.rng.integers(0, 6, 0 if draw.form == "empty" else 5).astype(
        draw.choice(*(np.dtype(c) for c in "bBhHiIlL"))
    ),
    keywords={"weights": vector(5), "minlength": literal(0, 3, 9)},
)
spec("digitize", anything(), lambda draw: np.sort(small(draw.rng, 3, draw.dtype)))
spec("apply_over_axes", literal(np.sum, np.max), anything(), literal(0, (0,), [0, 1], -1))
