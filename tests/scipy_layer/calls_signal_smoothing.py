"""Calls of smoothing, ranks and trends in `scipy.signal`."""

_SAVGOL = [
    "signals, 7, 3",
    *(
        f"signal, 7, 2, mode={mode!r}, cval=1.5"
        for mode in ("mirror", "constant", "nearest", "wrap")
    ),
    "signal, 8, 2, mode='nearest'",
    "signal, 8, 3",
    "image, 5, 2, 1, 0.5, axis=0",
    "signal, 9, 4, deriv=2, delta=0.1",
    "signal, 5, 2, 3",
    "signal, 1, 0",
    "x, 50, 3",
    "integers, 5, 2",
    "with_nan, 5, 2, mode='nearest'",
    "x, 101, 2, mode='wrap'",
]
_MEDIANS = [
    "image",
    "image, 5",
    "image, (1, 3)",
    "image, [3, 1]",
    "labels, 3",
    "image, 7",
]
CALLS = {
    "signal.savgol_filter": _SAVGOL,
    "signal.medfilt": [
        *_MEDIANS,
        "x, 5",
        "cube",
        "zero_d, 1",
        "integers, 3",
    ],
    "signal.medfilt2d": _MEDIANS,
    "signal.order_filter": [
        "image, np.ones((3, 3)), 2",
        "x, np.ones(5), 0",
        "image, kernel2 > 0, 1",
        "labels, [[0, 1, 0], [1, 1, 1], [0, 1, 0]], 4",
    ],
    "signal.wiener": [
        "image",
        "image, 5",
        "signal, 4, 0.1",
        "image, (3, 5), noise=0.5",
        "integers, 3",
        "cube",
    ],
    "signal.detrend": [
        "signal",
        "signals, 1, 'constant'",
        "image, axis=0, bp=[2, 3]",
        "image, axis=0, bp=[5, 9]",
        "image, axis=0, bp=[5, 6], overwrite_data=True",
        "integers",
        "integers, type='c'",
        "z",
        "with_nan, type='constant'",
        "x, bp=np.array([20])",
    ],
}
ERRORS = {
    "signal.savgol_filter": ["x, 7, 8", "x, 7, 2, mode='odd'", "x, 51, 2", "x, 7, 2, axis=1"],
    "signal.medfilt": ["x, 4", "mask, 3", "z, 3"],
    "signal.medfilt2d": ["image, 4", "x, 3"],
    "signal.order_filter": ["x, np.ones(4), 2", "x, np.ones(5), 5", "z, np.ones(3), 1"],
    "signal.detrend": ["x, type='odd'", "x, bp=99", "zero_d", "with_nan"],
}
#: Left to SciPy.
READS = {"signal.order_filter": ["image, kernel2 > 0, 1"]}
