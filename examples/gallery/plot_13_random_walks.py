"""
Random walks
============

A Generator of NumPy's goes in, and its numbers are the ones that NumPy would have drawn, in the
same order: the same seed gives the same walks with and without npaccel.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


@npaccel.jit(compile="now")
def walks(rng, start, steps):
    jumps = rng.normal(size=(len(start), steps))
    path = start[:, None] + np.cumsum(np.tanh(jumps) + 0.1 * np.sin(jumps), axis=1)
    return path, np.abs(path).max(axis=1)


# %%
# Where they go
# -------------
start = np.zeros(2000)
path, farthest = walks(np.random.default_rng(9), start, 300)
assert np.allclose(path, walks.__wrapped__(np.random.default_rng(9), start, 300)[0])

fig, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
axes[0].plot(path[:30].T, linewidth=0.6)
axes[0].set(title="30 of 2,000 walks", xlabel="step")
axes[1].hist(farthest, bins=40)
axes[1].set(title="the farthest they came")

# %%
# Time of 2,000 walks
# -------------------
rng = np.random.default_rng(1)
numpy = min(timeit.repeat(lambda: walks.__wrapped__(rng, start, 300), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: walks(rng, start, 300), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
