"""Calls of filters in time in `scipy.signal`."""

_B = "np.array([0.2, 0.3, 0.1])"
_A = "np.array([1.0, -0.6, 0.25])"
_SOS = "np.array([[0.2, 0.3, 0.1, 1, -0.6, 0.25], [1, 0.5, 0, 1, -0.4, 0]])"
_LINES = [
    f"{_B}, {_A}, signal",
    "kernel, 2.0, signals",
    f"{_B}, {_A}, signals, -1, xp.ones_like(signals[:, :2])",
    "kernel, [1.0], x, zi=x[:4]",
    "kernel[:2], [2.0, 0.5, 0.25, -0.1], image, 0",
    "[1.0], [1.0, -0.9], signals[:, :64]",
    f"{_B}, {_A}, image, axis=0, zi=image[:2]",
    f"{_B}, [0.5, -0.3], z",
    f"{_B}, {_A}, with_nan",
    f"{_B}, {_A}, integers",
    "kernel, 1.0, with_nan",
    "kernel, 1.0, image, 0, image[:4]",
    "kernel, [2.0], image, 0, image[:4, :1]",
    "[2.0], [0.5], x",
    f"{_B}, {_A}, one",
    f"{_B}, {_A}, x[:2], zi=x[:2]",
    "z[:4], [1.0, 0.25j], x",
]
CALLS = {
    "signal.lfilter": _LINES,
    "signal.lfilter_zi": ["kernel[:3], [2.0, -0.5]", "kernel[:3], x[:4]", "[1, 2], kernel"],
    "signal.lfiltic": [f"{_B}, {_A}, x[:2]", "kernel, [2.0, 0.5], x, y"],
    "signal.sosfilt": [
        f"{_SOS}, signal",
        f"{_SOS}, signals[:, :70]",
        f"{_SOS}, image, 0",
        f"{_SOS}, x, zi=tall[:2, :2]",
        f"{_SOS}, image, 0, zi=image[:4].reshape(2, 2, 13)",
        f"{_SOS}, integers",
        f"{_SOS}, z",
    ],
    "signal.sosfilt_zi": ["square[:3]", "square[:1]"],
    "signal.filtfilt": [
        f"{_B}, {_A}, signal",
        f"{_B}, {_A}, signals, padtype='even', padlen=20",
        f"{_B}, {_A}, image.T, 1, padtype='constant'",
        f"{_B}, {_A}, image, 0, None",
        "kernel, 2.0, signal",
        f"{_B}, {_A}, signal, padlen=0",
        f"{_B}, {_A}, signal, method='gust'",
        f"{_B}, {_A}, z",
    ],
    "signal.sosfiltfilt": [
        f"{_SOS}, signal, padlen=30",
        f"{_SOS}, signals",
        f"{_SOS}, image, 0, 'even', 5",
        f"{_SOS}, image, padtype=None",
    ],
    "signal.deconvolve": ["x, [1.0, 0.5, 0.25]", "integers[:9], [2, 1]", "x[:2], kernel"],
}
ERRORS = {
    "signal.lfilter": [
        f"{_B}, [0.0, 1.0], x",
        "[], [1.0], x",
        f"{_B}, {_A}, zero_d",
        f"{_B}, {_A}, x, zi=x[:3]",
        "image, [1.0], x",
        f"{_B}, {_A}, x, axis=1",
        "[1], [2], integers",
    ],
    "signal.sosfilt": [f"{_SOS}[:, :5], x", f"2 * {_SOS}, x", f"{_SOS}, x, zi=x[:2]"],
    "signal.filtfilt": [f"{_B}, {_A}, x[:5]", f"{_B}, {_A}, x, padtype='odd one'"],
    "signal.sosfiltfilt": [f"{_SOS}, x[:5]", f"2 * {_SOS}, x"],
    "signal.lfilter_zi": ["image, [1.0]"],
}
READS = {
    "signal.sosfiltfilt": [f"{_SOS}, signals"],
    "signal.filtfilt": [f"{_B}, {_A}, signal, method='gust'"],
}
