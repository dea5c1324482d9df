"""
K-means on points
=================

Lloyd's method in plain NumPy: the distances of all points to all means, the nearest one, new
means. Compiled, the large array of distances is never made.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


@npaccel.jit(compile="now")
def nearest(points, means):
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


def kmeans(points, means, iterations):
    for _ in range(iterations):
        labels = nearest(points, means)
        count = np.bincount(labels, minlength=len(means))
        sums = [np.bincount(labels, points[:, i], len(means)) for i in (0, 1)]
        means = (np.array(sums) / count).T
    return labels, means


# %%
# Five clouds of points, found again
# ----------------------------------
rng = np.random.default_rng(1)
centres = rng.uniform(-5, 5, (5, 2))
points = centres[rng.integers(0, 5, 100_000)] + 0.7 * rng.normal(size=(100_000, 2))
labels, means = kmeans(points, centres + rng.normal(size=(5, 2)), 15)
assert np.array_equal(labels[:1000], nearest.__wrapped__(points[:1000], means))

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(*points[:4000].T, c=labels[:4000], s=3, cmap="Set2")
ax.plot(*means.T, "k+", markersize=14)
ax.set(title="4,000 of 100,000 points, and the means")

# %%
# Time of one assignment
# ----------------------
numpy = min(timeit.repeat(lambda: nearest.__wrapped__(points, means), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: nearest(points, means), number=1, repeat=10))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.2f} ms: {numpy / compiled:.1f}x")
