"""Calls of functions of matrices of `scipy.linalg`, and of products."""

_COMMON = ["square", "symmetric / 3", "complex_square", "one.reshape(1, 1)", "stack / 4"]

CALLS = {
    "linalg.expm": [
        *_COMMON,
        "stack",
        "spd * 2",
        "empty.reshape(0, 0)",
        "xp.triu(square)",
        "0 * square",
    ],
    "linalg.cosm": _COMMON,
    "linalg.sinm": _COMMON,
    "linalg.tanm": ["square / 4", "stack / 8", "complex_square / 4"],
    "linalg.coshm": _COMMON,
    "linalg.sinhm": _COMMON,
    "linalg.tanhm": ["square", "stack / 4", "complex_square / 4"],
    "linalg.sqrtm": [
        "spd",
        "stack",
        "complex_square",
        "one.reshape(1, 1)",
        "spd * 1e6",
        "-spd",
        "square",
    ],
    "linalg.logm": [
        "spd",
        "spd[:4, :4] + stack / 9",
        "complex_square",
        "one.reshape(1, 1)",
        "spd * 1e6",
        "-spd",
    ],
    "linalg.signm": ["spd", "symmetric", "square", "complex_square", "stack"],
    "linalg.fractional_matrix_power": [
        "spd, 0.5",
        "spd, -0.5",
        "spd, 2.3",
        "spd, -1.7",
        "square, 3",
        "square, -2",
        "square, 0",
        "integers[:9].reshape(3, 3), 2",
        "stack, 1 / 3",
        "complex_square, 0.25",
    ],
    "linalg.funm": ["square, np.exp", "spd, lambda x: x ** 2"],
    "linalg.expm_frechet": [
        "square, spd",
        "square, spd, compute_expm=False",
        "square, spd, method='blockEnlarge', check_finite=False",
        "stack, stack[0]",
    ],
    "linalg.expm_cond": ["square", "spd / 4", "stack"],
    "linalg.khatri_rao": [
        "wide, square",
        "cube, wide[:, :6]",
        "complex_square, complex_square",
        "integers[:12].reshape(4, 3), counts[:, :3]",
        "booleans, booleans2",
    ],
    "linalg.solve_sylvester": ["square, spd, square"],
    "linalg.solve_lyapunov": ["square, spd"],
    "linalg.solve_continuous_lyapunov": ["square, spd"],
    "linalg.solve_discrete_lyapunov": [
        "square / 5, spd",
        "square / 5, spd, method='bilinear'",
        "complex_square / 5, complex_square",
        "stack / 9, stack[0], 'direct'",
    ],
    "linalg.solve_continuous_are": ["square, square[:, :2], spd, spd[:2, :2]"],
    "linalg.solve_discrete_are": ["square, square[:, :2], spd, spd[:2, :2]"],
    "linalg.clarkson_woodruff_transform": ["x.reshape(25, 2), 5, 7"],
}

#: Eigenvalues that are negative have no principal root: SciPy decides. Some methods are its own.
READS = {
    "linalg.sqrtm": ["-spd", "square"],
    "linalg.logm": ["-spd"],
    "linalg.fractional_matrix_power": ["stack, 1 / 3"],
    "linalg.solve_discrete_lyapunov": ["square / 5, spd, method='bilinear'"],
}

ERRORS = {
    "linalg.expm": ["wide", "vector"],
    "linalg.sinm": ["wide", "vector"],
    "linalg.sqrtm": ["wide", "vector"],
    "linalg.logm": ["wide", "vector"],
    "linalg.signm": ["wide"],
    "linalg.fractional_matrix_power": ["wide, 0.5", "wide, 2"],
    "linalg.expm_frechet": ["square, wide", "square, spd, method='x'", "square, stack[0]"],
    "linalg.expm_cond": ["wide", "with_nan[:9].reshape(3, 3)"],
    "linalg.khatri_rao": ["wide, x", "wide, wide.T"],
    "linalg.solve_discrete_lyapunov": ["square, spd, method='x'"],
}
