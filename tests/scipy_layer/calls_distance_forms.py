"""Calls of the forms of distance matrices of `scipy.spatial.distance`."""

_MATRIX = "(wide - wide[:, :1])[:6] * 0 + abs(vector[:, None] - vector)"

CALLS = {
    "spatial.distance.squareform": [
        "x[:45]",
        "x[:1]",
        "empty",
        "integers[:10]",
        "z[:3]",
        _MATRIX,
        "square, checks=False",
        "x[:10], force='tomatrix'",
        f"{_MATRIX}, 'tovector'",
        "one.reshape(1, 1) * 0",
        "booleans[:3, 0]",
    ],
    "spatial.distance.is_valid_dm": [
        _MATRIX,
        "square",
        "symmetric, tol=3.0",
        f"{_MATRIX}, throw=True",
        f"{_MATRIX} + 1e-9, tol=1e-6",
        "x",
        "with_nan[:9].reshape(3, 3)",
    ],
    "spatial.distance.is_valid_y": ["x[:45]", "x[:44]", "empty", "wide", "x[:45], False, True"],
    "spatial.distance.num_obs_dm": [_MATRIX, "square"],
    "spatial.distance.num_obs_y": ["x[:45]", "x[:1]"],
}

ERRORS = {
    "spatial.distance.squareform": [
        "x[:44]",
        "square",
        "wide",
        "cube",
        "x[:45], force='tovector'",
        "square, force='tomatrix'",
        "symmetric",
    ],
    "spatial.distance.is_valid_dm": ["square, throw=True", "x, throw=True"],
    "spatial.distance.is_valid_y": ["x[:44], throw=True"],
    "spatial.distance.num_obs_dm": ["x", "with_nan[:9].reshape(3, 3)"],
    "spatial.distance.num_obs_y": ["x[:44]", "empty", "wide"],
}
