"""
Game of life
============

Conway's rules on bytes: eight neighbours by ``np.roll``, and two comparisons. The short loop over
neighbours is unrolled, the long one over generations isn't.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


def life(cells, generations):
    for _ in range(generations):
        around = np.zeros_like(cells)
        for i, j in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
            around = around + np.roll(cells, (i, j), (0, 1))
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.uint8)
    return cells


fast = npaccel.jit(life, compile="now")

# %%
# 200 generations
# ---------------
start = (np.random.default_rng(5).random((256, 256)) < 0.3).astype(np.uint8)
later = fast(start, 200)
assert np.array_equal(later, life(start, 200))

fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for ax, cells, title in zip(axes, (start, later), ("at first", "200 generations on"), strict=True):
    ax.imshow(cells, cmap="Greens", interpolation="nearest")
    ax.set(title=title, xticks=[], yticks=[])

# %%
# Time of 100 generations
# -----------------------
numpy = min(timeit.repeat(lambda: life(start, 100), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: fast(start, 100), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
