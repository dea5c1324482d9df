"""
Wave equation
=============

A drop falls into a basin. The loop over time steps stays a loop: its body is compiled once, for
any number of steps.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


def waves(u, before, steps):
    for _ in range(steps):
        after = 2 * u - before
        after[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        after[0], after[-1], after[:, 0], after[:, -1] = 0, 0, 0, 0
        before, u = u, after
    return u


fast = npaccel.jit(waves, compile="now")

# %%
# Three moments
# -------------
y, x = np.mgrid[-1:1:300j, -1:1:300j]
drop = np.exp(-200 * ((x - 0.3) ** 2 + y**2))
fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for ax, steps in zip(axes, (60, 150, 300), strict=True):
    ax.imshow(fast(drop, drop, steps), cmap="RdBu", vmin=-0.1, vmax=0.1)
    ax.set(title=f"{steps} steps", xticks=[], yticks=[])
assert np.allclose(fast(drop, drop, 20), waves(drop, drop, 20))

# %%
# Time of 100 steps
# -----------------
numpy = min(timeit.repeat(lambda: waves(drop, drop, 100), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: fast(drop, drop, 100), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
