"""What a fused function of SciPy leaves out: the matrix of distances between all pairs."""

import children
import pytest

#: Of 8192 times 8192 distances in 32 bits.
MATRIX = 256 * 2**20

NEAREST = """
    import resource
    import numpy as np
    import scipy.spatial.distance
    import npaccel

    @npaccel.jit(backend="inductor", strict=True)
    def nearest(x, y):
        return np.argmin(scipy.spatial.distance.cdist(x, y), axis=1)

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(8192, 16)).astype(np.float32) for _ in range(2))
    nearest(x[:100], y[:100])  # what the compiler takes isn't counted
    nearest(x[:101], y[:102])  # nor what it takes again, for any sizes
    before = peak()
    found = nearest(x, y)
    more = peak() - before
    for i in (0, 17, 8191):
        apart = np.sqrt(np.sum((y - x[i]).astype(np.float64) ** 2, axis=1))
        assert apart[found[i]] <= apart.min() * (1 + 1e-5)
    answer(more=more)
"""


@pytest.mark.inductor
def test_nearest_neighbours_without_the_matrix():
    assert children.run_prepared(NEAREST)["more"] < MATRIX / 8
