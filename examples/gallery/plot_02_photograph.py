"""
Colours of a photograph
=======================

A photograph in eight colours: k-means on its pixels. The pixels are 32-bit floats, and stay so.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import npaccel


@npaccel.jit(compile="now")
def closest(pixels, colours):
    difference = pixels[:, None, :] - colours
    return np.argmin((difference * difference).sum(axis=2), axis=1)


# %%
# Eight colours
# -------------
photograph = load_sample_image("china.jpg")[::2, ::2]
pixels = (photograph / 255).reshape(-1, 3).astype(np.float32)
colours = pixels[np.random.default_rng(3).choice(len(pixels), 8, replace=False)]
for _ in range(10):
    labels = closest(pixels, colours)
    colours = np.stack([pixels[labels == k].mean(axis=0) for k in range(8)])
labels = closest(pixels, colours)
print((labels == closest.__wrapped__(pixels, colours)).mean(), "of the labels are NumPy's")

fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].imshow(photograph)
axes[1].imshow(colours[labels].reshape(photograph.shape))
for ax, title in zip(axes, ("as it was", "in eight colours"), strict=True):
    ax.set(title=title, xticks=[], yticks=[])

# %%
# Time of one assignment
# ----------------------
numpy = min(timeit.repeat(lambda: closest.__wrapped__(pixels, colours), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: closest(pixels, colours), number=1, repeat=10))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.2f} ms: {numpy / compiled:.1f}x")
