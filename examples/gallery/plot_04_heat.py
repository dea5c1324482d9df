"""
Heat in a plate
===============

Two hot edges, two cold ones, written in place on two arrays that change roles, as in any
textbook.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


def heat(old, new, steps):
    for _ in range(steps):
        new[1:-1, 1:-1] = 0.25 * (old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2])
        old, new = new, old
    return old


fast = npaccel.jit(heat, compile="now")

# %%
# After 2,000 steps
# -----------------
plate = np.zeros((150, 150))
plate[0], plate[:, -1] = 100.0, 50.0
warm = fast(plate.copy(), plate.copy(), 2000)
assert np.allclose(warm, heat(plate.copy(), plate.copy(), 2000))

fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
fig.colorbar(ax.imshow(warm, cmap="inferno"), label="temperature")
ax.contour(warm, levels=8, colors="w", linewidths=0.6)
ax.set(xticks=[], yticks=[])

# %%
# Time of 500 steps
# -----------------
a, b = plate.copy(), plate.copy()
numpy = min(timeit.repeat(lambda: heat(a, b, 500), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: fast(a, b, 500), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
