"""Calls of the cosine and sine transforms of `scipy.fft`."""

_LINE = [
    *(f"x, {kind}" for kind in (1, 2, 3, 4)),
    *(f"x[:7], {kind}, norm='ortho'" for kind in (1, 2, 3, 4)),
    *(f"wide, {kind}, axis=0, norm='forward'" for kind in (1, 2, 3, 4)),
    *(f"x, {kind}, 9, orthogonalize=True" for kind in (1, 2, 3, 4)),
    *(f"x[:6], {kind}, 8, -1, 'ortho', orthogonalize=False" for kind in (1, 2, 3, 4)),
    "x",
    "z, 4",
    "z",
    "one",
    "one, 3",
    "one, 4, norm='ortho'",
    "x[:2], 1",
    "cube, axis=1, overwrite_x=True, workers=2",
    "integers + x, 3",
]
_AXES = [
    *(f"wide, {kind}" for kind in (1, 2, 3, 4)),
    *(f"cube, {kind}, axes=(0, -1), norm='ortho'" for kind in (1, 2, 3, 4)),
    "cube, s=(3, 7)",
    "cube, s=(3, -1), axes=(2, 0), norm='forward'",
    "image, 4, workers=1, orthogonalize=True",
    "x",
    "image, axes=0",
    "complex_square, 2",
]

CALLS = {
    **{f"fft.{name}": _LINE for name in ("dct", "idct", "dst", "idst")},
    **{f"fft.{name}": _AXES for name in ("dctn", "idctn", "dstn", "idstn")},
}

ERRORS = {
    **{
        f"fft.{name}": ["x, 5", "x, 2, 0", "x, norm='x'", "x, workers=0", "x, axis=3", "empty"]
        for name in ("idct", "dst", "idst")
    },
    "fft.dct": ["x, 5", "x, 2, 0", "x, norm='x'", "x, workers=0", "x, axis=3", "empty", "one, 1"],
    "fft.dctn": [
        "wide, axes=(0, 0)",
        "wide, s=(2, 3, 4)",
        "wide, axes=(0, 5)",
        "wide, s=(2,), axes=(0, 1)",
    ],
}
