"""Calls of the transforms of `scipy.fft`."""

_LINE = [
    "x",
    "z",
    "wide, axis=0",
    "x, 64",
    "x, n=20, norm='ortho'",
    "wide, 4, 0, 'forward'",
    "one, norm='backward'",
    "cube, overwrite_x=True, workers=1",
    "integers + x",
]
_REAL = [text for text in _LINE if text != "z"]
_AXES = [
    "wide",
    "complex_square",
    "cube, axes=(0, 2)",
    "cube, s=(3, 8)",
    "cube, (5, 4), (1, 0), 'ortho'",
    "image, norm='forward'",
    "image, axes=[-1, 0], workers=2",
]
_REAL_AXES = [text for text in _AXES if text != "complex_square"]

CALLS = {
    **{f"fft.{name}": _LINE for name in ("fft", "ifft")},
    **{f"fft.{name}": _REAL for name in ("rfft", "ihfft")},
    **{f"fft.{name}": [t for t in _LINE if not t.startswith("one")] for name in ("irfft", "hfft")},
    **{f"fft.{name}": [*_AXES, "x"] for name in ("fftn", "ifftn")},
    **{f"fft.{name}": _AXES for name in ("irfftn", "hfftn")},
    **{f"fft.{name}": [*_REAL_AXES, "x"] for name in ("rfftn", "ihfftn")},
    **{f"fft.{name}": [*_AXES[:3], *_AXES[4:]] for name in ("fft2", "ifft2", "irfft2", "hfft2")},
    **{f"fft.{name}": [*_REAL_AXES[:2], *_REAL_AXES[3:]] for name in ("rfft2", "ihfft2")},
    "fft.fftshift": ["x", "wide, axes=0", "integers"],
    "fft.ifftshift": ["x", "wide, axes=(0, 1)"],
    "fft.fht": ["positive, 0.1, 0.5", "positive, 0.1, 0.5, offset=0.2, bias=-0.1"],
    "fft.ifht": ["positive, 0.1, 0.5", "positive, 0.1, 0.5, offset=0.2, bias=0.1"],
}

ERRORS = {
    **{
        f"fft.{name}": ["x, 0", "x, norm='x'", "x, workers=0", "x, plan=1", "x, axis=3", "empty"]
        for name in ("fft", "rfft")
    },
    "fft.irfft": ["x, norm='x'", "x, workers=0", "x, plan=1", "x, axis=3", "empty"],
    "fft.rfft": ["z", "x, n=-2"],
    "fft.fftn": ["wide, axes=(0, 0)", "wide, s=(2, 3, 4)", "wide, s=0", "wide, axes=(0, 3)"],
    "fft.rfftn": ["complex_square"],
    "fft.fft2": ["x"],
}
