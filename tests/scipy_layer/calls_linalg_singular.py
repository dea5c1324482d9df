"""Calls of what `scipy.linalg` makes of singular values."""

CALLS = {
    "linalg.svd": [
        "square",
        "wide",
        "wide.T",
        "wide, full_matrices=False",
        "wide.T, full_matrices=False, check_finite=False",
        "wide, compute_uv=False",
        "wide, full_matrices=False, lapack_driver='gesvd'",
        "cube, full_matrices=False",
        "stack, compute_uv=False",
        "complex_square, compute_uv=False",
        "one.reshape(1, 1)",
        "empty.reshape(0, 3)",
    ],
    "linalg.svdvals": [
        "square",
        "wide",
        "cube",
        "complex_square",
        "one.reshape(1, 1), False, False",
    ],
    "linalg.diagsvd": [
        "vector, 6, 9",
        "vector, 9, 6",
        "vector, 6, 6",
        "wide, 6, 8",
        "integers[:3], 3, 5",
        "z[:4], 4, 4",
    ],
    "linalg.orth": [
        "square @ wide.T",
        "tall[:5] @ tall[:5].T",
        "stack",
        "tall, rcond=0.4",
        "wide @ wide.T",
    ],
    "linalg.null_space": ["tall", "spd, rcond=0.5"],
    "linalg.polar": [
        "square",
        "wide, side='left'",
        "wide.T",
        "complex_square",
        "complex_square, 'left'",
        "stack",
    ],
    "linalg.subspace_angles": [
        "wide[:, :3], wide[:, 3:]",
        "wide[:, :2], wide[:, 2:]",
        "wide[:, :4], wide[:, 4:]",
        "wide[:, :3], wide[:, :2] + 0.05 * wide[:, 3:5]",
        "stack[..., :2], stack[0][:, 2:]",
    ],
}

#: The ranks aren't full, so the sizes are read.
READS = {
    "linalg.orth": [
        "square @ wide.T",
        "tall, rcond=0.4",
        "wide @ wide.T",
        "tall[:5] @ tall[:5].T",
    ],
    "linalg.null_space": ["spd, rcond=0.5"],
}

ERRORS = {
    "linalg.svd": [
        "vector",
        "with_nan[:9].reshape(3, 3)",
        "square, lapack_driver='x'",
        "stack[:0]",
    ],
    "linalg.svdvals": ["vector", "with_nan[:9].reshape(3, 3)"],
    "linalg.diagsvd": ["vector, 3, 3", "vector, 6, 3"],
    "linalg.polar": ["vector", "square, 'up'"],
    "linalg.subspace_angles": ["wide, square", "vector, vector"],
    "linalg.null_space": ["with_nan[:9].reshape(3, 3)", "square, lapack_driver='x'"],
}
