"""Calls of extremes and ranks of windows in `scipy.ndimage`."""

_MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
_ALIASES = ("grid-mirror", "grid-constant", "grid-wrap")
_CROSS = "np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])"

_LINES = [
    *(f"image, 4, mode={mode!r}, cval=1.5" for mode in _MODES + _ALIASES),
    *(f"vector, 15, mode={mode!r}" for mode in _MODES),
    "image, 5, axis=0, origin=-2",
    "image, 3, output=xp.zeros_like(image)",
    "labels, 3, mode='constant', cval=1.5",
    "labels, 3, mode='constant', cval=2, output=np.uint8",
    "mask, 2, mode='constant'",
    "x, 1",
    "one, 8",
    "empty, 3",
]
_FILTERS = [
    *(f"image, 4, mode={mode!r}, cval=1.5" for mode in _MODES),
    *(f"image, footprint={_CROSS}, mode={mode!r}, cval=0.5" for mode in _MODES),
    "image, (3, 6), origin=(1, -1)",
    "image, size=7, mode=('wrap', 'constant')",
    "image, footprint=mask[:3, :4], origin=(1, -1)",
    "image, footprint=mask[:9, :9]",
    "cube, footprint=kernel2 > 0, axes=(0, 2)",
    "cube, 3, axes=(0, 2), mode=['nearest', 'mirror']",
    "labels, footprint=mask[:3, :3], mode='constant', cval=-1",
    "labels, 2",
    "mask, 3",
    "integers, 5, output='uint8'",
    "image, footprint=kernel2 > 0, output=xp.zeros_like(image)",
    "with_nan, footprint=[1, 0, 1]",
    "special, footprint=[1, 0, 1, 1]",
    "zero_d, size=()",
]
_GREY = [
    *(f"image, {text}, mode='wrap'" for text in ("4", f"footprint={_CROSS}")),
    *(f"image, {text}, mode='constant', cval=1.5" for text in ("4", f"footprint={_CROSS}")),
    "image, (2, 3), origin=(0, -1)",
    "image, footprint=kernel2 > 0, origin=1",
    "image, structure=kernel2",
    "image, footprint=kernel2 > 0, structure=kernel2",
    "image, structure=kernel2[:2], mode='wrap'",
    "cube, 2, axes=(0, 2)",
    "cube, footprint=kernel2 > 0, axes=(0, 2)",
    "labels, 3",
    "labels, structure=[[0, 1], [1, 1]]",
    "integers, size=(4,)",
    "image, 3, output=xp.zeros_like(image)",
]
_RANKED = [
    *(f"3, mode={mode!r}, cval=1.5" for mode in _MODES),
    *(f"footprint={_CROSS}, mode={mode!r}, cval=0.5" for mode in _MODES),
    "(2, 3), origin=(0, -1)",
    "footprint=np.array([[1, 1, 0], [0, 1, 1]]), origin=(0, 1)",
    "5",
]
CALLS = {
    "ndimage.minimum_filter1d": _LINES,
    "ndimage.maximum_filter1d": _LINES[::3],
    "ndimage.minimum_filter": _FILTERS,
    "ndimage.maximum_filter": _FILTERS[::2],
    "ndimage.grey_erosion": _GREY,
    "ndimage.grey_dilation": _GREY,
    "ndimage.grey_opening": _GREY[::3],
    "ndimage.grey_closing": _GREY[1::3],
    "ndimage.morphological_gradient": _GREY[::2],
    "ndimage.morphological_laplace": _GREY[1::2],
    "ndimage.white_tophat": [*_GREY[::3], "mask, 2"],
    "ndimage.black_tophat": [*_GREY[1::3], "mask, 2"],
    "ndimage.median_filter": [
        *(f"image, {text}" for text in _RANKED),
        "labels, 3",
        "labels, (2, 3), mode='constant', cval=1.5",
        "mask, 3",
        "cube, 2",
        "cube, 3, axes=(0, 2)",
        "x, 7",
        "integers, 5, mode='constant', cval=2.5",
        "image, 1",
        "image, 3, output=xp.zeros_like(image)",
        "image, 9",
    ],
    "ndimage.rank_filter": [
        *(f"image, 2, {text}" for text in _RANKED[::2]),
        "image, -2, 3",
        "image, 0, 3",
        "image, -1, (2, 3)",
        "image, 2, 7",
        "labels, 4, 3",
        "x, 1, 5",
    ],
    "ndimage.percentile_filter": [
        *(f"image, 30, {text}" for text in _RANKED[::3]),
        "image, -20, 3",
        "image, 100, 3",
        "image, 0.0, 3",
        "labels, 75, 3",
        "x, 50, 6",
    ],
    "ndimage.vectorized_filter": [
        "image, xp.amax, size=3",
        "image, xp.amin, size=(2, 3), mode='constant', cval=0.5",
        "image, xp.mean, size=3, mode='wrap'",
        "cube, xp.amax, size=(2, 2), axes=(0, 2), mode='mirror'",
        "cube, xp.amax, size=3, axes=1, origin=1, mode='nearest'",
        "image, xp.amax, footprint=kernel2 > 0",
        "image, xp.amin, size=3, mode='valid'",
    ],
    "ndimage.generic_filter": ["image, np.max, size=3", "image, np.ptp, footprint=kernel2 > 0"],
    "ndimage.generic_filter1d": [
        "image, lambda line, out: out.__setitem__(slice(None), line[1:-1]), 3"
    ],
}
ERRORS = {
    "ndimage.minimum_filter1d": ["image, 0", "image, 3, origin=2", "z, 3", "image, 3, mode='odd'"],
    "ndimage.maximum_filter1d": ["image, 3, axis=2"],
    "ndimage.minimum_filter": [
        "image",
        "image, footprint=kernel2 > 100",
        "image, footprint=kernel2 > 0, mode=('wrap', 'wrap')",
        "z, 3",
        "image, (3, 3, 3)",
    ],
    "ndimage.maximum_filter": ["image, footprint=[1, 0, 1]", "image, 3, axes=(0, 0)"],
    "ndimage.grey_erosion": ["image", "image, structure=kernel"],
    "ndimage.grey_dilation": ["image", "image, 3, origin=2"],
    "ndimage.morphological_gradient": ["mask, 3"],
    "ndimage.median_filter": [
        "image, 3, axes=(1.5,)",
        "image",
        "z, 3",
        "image, 3, mode='odd'",
        "image, 3, origin=2",
    ],
    "ndimage.rank_filter": ["image, 1, 3, axes=(1.5,)", "image, 9, 3", "image, -10, 3"],
    "ndimage.percentile_filter": ["image, 30, 3, axes=(1.5,)", "image, 101, 3", "image, -101, 3"],
    "ndimage.vectorized_filter": [
        "image, xp.amax, size=3, batch_memory=1",
        "image, xp.amax",
        "image, xp.amax, size=3, mode='odd'",
    ],
}
READS = {
    "ndimage.vectorized_filter": ["image, xp.amax, footprint=kernel2 > 0"],
}
