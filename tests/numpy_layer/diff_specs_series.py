"""How rows are called: transforms, signals, polynomials and series."""

import numpy as np
from diff_inputs import (
    ARRAY_FORMS,
    FORMS,
    any_vector,
    anything,
    literal,
    same_dtype,
    shaped,
    small,
    square_matrix,
    vector,
)
from diff_spec import OUT, spec

# -- transforms, signals, polynomials

NORM = {"n": literal(None, 3, 6, 1, 0), "axis": literal(-1, 0, 1), "out": literal(OUT)}
spec("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", anything(1, 2, 3, 0), keywords=NORM)
SEVERAL = {
    "s": literal(None, (3, 2), (4,), (2, 2)),
    "axes": literal(None, (0, 1), (-1,), (1, 0), 0),
}
spec(
    "fft.fftn fft.ifftn fft.fft2 fft.ifft2 fft.rfftn fft.rfft2 fft.irfftn fft.irfft2",
    anything(),
    keywords=SEVERAL,
)
spec("fft.fftshift fft.ifftshift", keywords={"axes": literal(None, 0, (0, 1), -1)})
spec(
    "convolve correlate",
    any_vector,
    any_vector,
    keywords={"mode": literal("full", "same", "valid", "bad")},
)
spec(
    "interp",
    anything(),
    lambda draw: np.arange(4.0),
    lambda draw: draw.array((4,)),
    keywords={
        "left": literal(None, -1.5),
        "right": literal(None, 9),
        "period": literal(None, 3, 2.5),
    },
)
spec(
    "unwrap",
    keywords={
        "discont": literal(None, 1.0, 4),
        "period": literal(6.0, 4, 2 * np.pi),
        "axis": literal(-1, 0),
    },
)
spec("polyval", any_vector, lambda draw: draw.main())
spec("polyadd polysub polymul", any_vector, any_vector)
spec(
    "polydiv",
    any_vector,
    lambda draw: np.concatenate(
        [np.ones(1, draw.dtype), np.atleast_1d(small(draw.rng, 2, draw.dtype))]
    ),
)
spec("polyder", any_vector, keywords={"m": literal(0, 1, 2, -1)})
spec("polyint", any_vector, keywords={"m": literal(0, 1, 2), "k": literal(None, 3, [1, 2])})
spec("poly", lambda draw: draw.choice(any_vector, square_matrix)(draw))
spec(
    "polyfit",
    lambda draw: np.arange(6.0),
    vector(6),
    literal(1, 2, 0),
    keywords={
        "rcond": literal(None, 1e-8),
        "w": literal([1, 1, 2, 1, 1, 1.0]),
        "cov": literal(False, True, "unscaled"),
    },
)

SERIES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
}
for module, short in SERIES.items():
    spec(f"polynomial.{module}.{short}val", anything(), vector(3))
    spec(
        f"polynomial.{module}.{short}valnd",
        lambda draw: (anything(1)(draw), same_dtype(draw)),
        shaped(2, 3),
    )
    for kind in ("val", "grid"):
        spec(f"polynomial.{module}.{short}{kind}2d", anything(1), same_dtype, shaped(2, 3))
        spec(
            f"polynomial.{module}.{short}{kind}3d",
            anything(1),
            same_dtype,
            same_dtype,
            shaped(2, 2, 2),
        )

VALUES = tuple(
    form for form in FORMS if form not in ("empty", "special", "list", "number", "scalar")
)
SOLID = {"forms": VALUES}


def coefficients(draw):
    """Coefficients none of which is zero, so that the result's length is known."""
    found = small(draw.rng, draw.integer(2, 5), draw.dtype)
    return np.where(found == 0, np.ones_like(found), found)


COUNT = literal(1, 0, 2)
DER = {"m": literal(0, 1, 2, -1), "scl": literal(1, 2.5), "axis": literal(0, -1, 1)}
INT = DER | {"k": literal([], 3, [1]), "lbnd": literal(0, 1.5)}
LINE = literal(0, 2, -1.5)
for module, short in SERIES.items():
    here = f"polynomial.{module}.{short}"
    spec(f"{here}add {here}sub {here}mul {here}div", coefficients, coefficients, **SOLID)
    spec(f"{here}mulx {here}fromroots {here}companion", coefficients, **SOLID)
    spec(f"{here}pow", coefficients, COUNT, keywords={"maxpower": literal(16, None)}, **SOLID)
    spec(f"{here}line", LINE, LINE, forms=("plain",))
    spec(f"{here}der", anything(1, 2), keywords=DER, **SOLID)
    spec(f"{here}int", anything(1, 2), keywords=INT, **SOLID)
    spec(f"{here}vander", anything(1, 2), COUNT, **SOLID)
    spec(f"{here}vander2d", anything(1), same_dtype, literal([1, 2], [0, 1]), **SOLID)
    spec(f"{here}vander3d", anything(1), same_dtype, same_dtype, literal([1, 0, 2]), **SOLID)
    spec(
        f"{here}fit",
        lambda draw: np.arange(5.0),
        vector(5),
        COUNT,
        forms=("plain", "strided"),
        keywords={"rcond": literal(None, 1e-8), "w": literal([1, 2, 1, 1, 3.0])},
    )
    if short != "poly":
        spec(f"{here}gauss", literal(1, 2, 5), forms=("plain",))
        spec(f"{here}weight", anything(0, 1, 2), forms=ARRAY_FORMS)
        spec(
            f"polynomial.{module}.{short}2poly polynomial.{module}.poly2{short}",
            coefficients,
            **SOLID,
        )
spec(
    "polynomial.chebyshev.chebpts1 polynomial.chebyshev.chebpts2",
    literal(2, 5, 1),
    forms=("plain",),
)
spec(
    "polynomial.chebyshev.chebinterpolate",
    literal(np.sin, np.exp),
    literal(2, 4),
    forms=("plain",),
    keywords={"args": literal(())},
)
spec("polynomial.polynomial.polyvalfromroots", anything(0, 1), coefficients, **SOLID)
spec("polynomial.polyutils.trimcoef", coefficients, keywords={"tol": literal(0, 0.5)}, **SOLID)
spec("polynomial.polyutils.getdomain", anything(1), **SOLID)
spec(
    "polynomial.polyutils.mapparms",
    literal((0, 1), (-1, 1)),
    literal((0, 2), (3, 5)),
    forms=("plain",),
)
spec(
    "polynomial.polyutils.mapdomain",
    anything(1),
    literal((0, 1), (-1, 1)),
    literal((0, 2)),
    **SOLID,
)
