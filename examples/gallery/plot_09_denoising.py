"""
Denoising an image
==================

Total variation by Chambolle's method: differences of neighbours, in a loop until the picture is
smooth.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import npaccel


def denoise(image, weight, iterations):
    px, py = np.zeros_like(image), np.zeros_like(image)
    for _ in range(iterations):
        divergence = px + py
        divergence[1:] -= px[:-1]
        divergence[:, 1:] -= py[:, :-1]
        u = image + divergence
        gx, gy = np.zeros_like(image), np.zeros_like(image)
        gx[:-1] = u[1:] - u[:-1]
        gy[:, :-1] = u[:, 1:] - u[:, :-1]
        norm = 1.0 + 0.25 / weight * np.sqrt(gx * gx + gy * gy)
        px = (px + 0.25 * gx) / norm
        py = (py + 0.25 * gy) / norm
    return u


fast = npaccel.jit(denoise, compile="now")

# %%
# A flower
# --------
clean = load_sample_image("flower.jpg")[::2, ::2].mean(axis=2) / 255
noisy = clean + 0.15 * np.random.default_rng(0).normal(size=clean.shape)
smooth = fast(noisy, 0.15, 60)
assert np.allclose(fast(noisy, 0.15, 5), denoise(noisy, 0.15, 5))

fig, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, image, title in zip(axes, (noisy, smooth), ("with noise", "without"), strict=True):
    ax.imshow(image, cmap="gray", vmin=0, vmax=1)
    error = np.sqrt(np.mean((image - clean) ** 2))
    ax.set(title=f"{title}: error {error:.3f}", xticks=[], yticks=[])

# %%
# Time of 20 iterations
# ---------------------
numpy = min(timeit.repeat(lambda: denoise(noisy, 0.15, 20), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: fast(noisy, 0.15, 20), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
