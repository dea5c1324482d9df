"""
Gaussian process
================

Regression by a Gaussian process in twelve lines of NumPy. What takes the time is the kernel of
all pairs, which is compiled, and the Cholesky factor, which is LAPACK's either way.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


@npaccel.jit(compile="now")
def kernel(a, b, length):
    distance = np.abs(a[:, None] - b) / length
    return (1 + np.sqrt(5) * distance + 5 / 3 * distance**2) * np.exp(-np.sqrt(5) * distance)


def predict(x, y, at, length=0.3, noise=0.2):
    factor = np.linalg.cholesky(kernel(x, x, length) + noise**2 * np.eye(len(x)))
    half = np.linalg.solve(factor, kernel(x, at, length))
    mean = half.T @ np.linalg.solve(factor, y)
    return mean, np.sqrt(1 - (half**2).sum(axis=0))


# %%
# Forty measurements
# ------------------
rng = np.random.default_rng(6)
x = np.sort(rng.uniform(0, 3, 40))
y = np.sin(3 * x) * x / 2 + 0.2 * rng.normal(size=40)
at = np.linspace(-0.3, 3.3, 300)
mean, deviation = predict(x, y, at)
assert np.allclose(kernel(x, at, 0.3), kernel.__wrapped__(x, at, 0.3))

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.fill_between(at, mean - 2 * deviation, mean + 2 * deviation, alpha=0.25)
ax.plot(at, mean)
ax.plot(x, y, "k.")
ax.set(title="mean, and two standard deviations")

# %%
# Time of a kernel of 1,500 points
# --------------------------------
many = rng.uniform(0, 3, 1500)
numpy = min(timeit.repeat(lambda: kernel.__wrapped__(many, many, 0.3), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: kernel(many, many, 0.3), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
