"""Calls of eigenvalue problems of `scipy.linalg`; vectors have a test of their own."""

CALLS = {
    "linalg.eig": [
        "square, right=False",
        "square, right=False, homogeneous_eigvals=True",
        "complex_square",
        "stack, right=False",
        "square, spd, right=False",
        "square, left=True, right=False",
        "square, None, False, False, check_finite=False",
    ],
    "linalg.eigvals": [
        "square",
        "complex_square",
        "stack",
        "spd",
        "square, spd",
        "square, homogeneous_eigvals=True",
        "cube[:, :4, :4], homogeneous_eigvals=True",
    ],
    "linalg.eigh": [
        "spd, eigvals_only=True",
        "square, eigvals_only=True",
        "square, lower=False, eigvals_only=True",
        "symmetric, spd, eigvals_only=True",
        "symmetric, spd, eigvals_only=True, type=2",
        "square, spd, eigvals_only=True, type=3, lower=False",
        "symmetric, eigvals_only=True, subset_by_index=[1, 3]",
        "symmetric, eigvals_only=True, subset_by_value=[-1.0, 2.0]",
        "symmetric, eigvals_only=True, subset_by_value=[-np.inf, 0.0], driver='evx'",
        "stack, eigvals_only=True",
        "complex_square, eigvals_only=True, check_finite=False",
        "complex_square, complex_square @ complex_square.conj().T, eigvals_only=True",
        "symmetric, eigvals_only=True, driver='evd'",
    ],
    "linalg.eigvalsh": [
        "spd",
        "square, lower=False",
        "symmetric, spd",
        "symmetric, spd, type=3",
        "symmetric, subset_by_index=(0, 1)",
        "symmetric, subset_by_value=(0.0, np.inf)",
        "stack",
        "stack, stack @ stack.mT",
        "complex_square",
    ],
    "linalg.eig_banded": [
        "wide[:3], eigvals_only=True",
        "wide[:2], True, True, select='i', select_range=(1, 2)",
    ],
    "linalg.eigvals_banded": [
        "wide[:3]",
        "wide[:3], lower=True",
        "wide[:3], select='v', select_range=(-1.0, 1.0)",
        "cube",
    ],
    "linalg.eigh_tridiagonal": ["x, y[:49], eigvals_only=True"],
    "linalg.eigvalsh_tridiagonal": [
        "x, y[:49]",
        "x, y[:49], select='i', select_range=(3, 5)",
        "x, y[:49], select='v', select_range=(0.0, 1.0)",
    ],
    "linalg.cdf2rdf": [
        "xp.stack([x[0] + 0j, z[1], z[1].conj()]), complex_square[:3, :3]",
        "x[:3], wide[:3, :3]",
    ],
}

#: Sizes that depend on values, and what torch doesn't have.
READS = {
    "linalg.eig": ["square, spd, right=False", "square, left=True, right=False"],
    "linalg.eigvals": ["square, spd"],
    "linalg.eigh": [
        "symmetric, eigvals_only=True, subset_by_value=[-1.0, 2.0]",
        "symmetric, eigvals_only=True, subset_by_value=[-np.inf, 0.0], driver='evx'",
    ],
    "linalg.eigvalsh": ["symmetric, subset_by_value=(0.0, np.inf)"],
    "linalg.eigvals_banded": ["wide[:3], select='v', select_range=(-1.0, 1.0)"],
    "linalg.eigvalsh_tridiagonal": ["x, y[:49], select='v', select_range=(0.0, 1.0)"],
}

ERRORS = {
    "linalg.eig": ["wide", "vector", "with_nan[:9].reshape(3, 3)", "square, wide"],
    "linalg.eigvals": ["wide", "special[:9].reshape(3, 3)"],
    "linalg.eigh": [
        "wide",
        "symmetric, -spd",
        "symmetric, spd, type=4",
        "symmetric, driver='x'",
        "symmetric, driver='gv'",
        "symmetric, spd, driver='ev'",
        "symmetric, subset_by_index=[1, 9]",
        "symmetric, subset_by_value=[2, 1]",
        "symmetric, subset_by_index=[1, 2], subset_by_value=[1, 2]",
        "symmetric, subset_by_index=[1, 2], driver='ev'",
        "symmetric, stack",
    ],
    "linalg.eigvalsh": ["wide", "with_nan[:9].reshape(3, 3)"],
    "linalg.eigvalsh_tridiagonal": ["x, y", "x, y[:49], select='q'", "z, y[:49]"],
    "linalg.cdf2rdf": ["x, square", "x[:3], wide[:3]"],
}
