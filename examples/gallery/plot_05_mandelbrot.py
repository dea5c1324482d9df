"""
Mandelbrot set
==============

Complex numbers and a mask. NumPy makes an array for every operation; compiled, an iteration is
one loop over the picture.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


def mandelbrot(c, iterations):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for _ in range(iterations):
        inside = z.real**2 + z.imag**2 < 4.0
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


fast = npaccel.jit(mandelbrot, compile="now")

# %%
# The picture
# -----------
y, x = np.mgrid[-1.2:1.2:300j, -2.1:0.7:350j]
c = x + 1j * y
count = fast(c, 60)
print((count == mandelbrot(c, 60)).mean(), "of the counts are NumPy's")

fig, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
ax.imshow(np.log(count), cmap="magma", extent=(-2.1, 0.7, -1.2, 1.2))
ax.set(xlabel="real part", ylabel="imaginary part")

# %%
# Time of 60 iterations
# ---------------------
numpy = min(timeit.repeat(lambda: mandelbrot(c, 60), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: fast(c, 60), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
