"""Calls of what SciPy has since 1.18."""

from npaccel._scipy.dispatch.listing import scipy_since

CALLS = {
    "cluster.vq.py_vq": ["points, points2"],
    "signal.whittaker_henderson": ["x, lamb=10.0", "x, lamb=1.0, order=1, weights=w"],
    "sparse.matrix_transpose": ["scipy.sparse.csr_array(wide)"],
    "stats.estimated_cdf": ["x, y", "cube, cube[:2], axis=0"],
}
CALLS = CALLS if scipy_since(1, 18) else {}
