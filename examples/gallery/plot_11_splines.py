"""
Fits of splines
===============

A smooth curve through 2,000 noisy series at once: least squares in a basis of B-splines, which
SciPy makes, with a penalty on differences of neighbouring coefficients.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import BSpline

import npaccel


@npaccel.jit(compile="now")
def fit(basis, series, penalty):
    difference = np.diff(np.eye(basis.shape[1]), n=2, axis=0)
    normal = basis.T @ basis + penalty * difference.T @ difference
    curve = basis @ np.linalg.solve(normal, basis.T @ series)
    error = np.sqrt(((curve - series) ** 2).mean(axis=0))
    inner = np.exp(-0.5 * ((series - curve) / error) ** 2)
    return curve, (inner * series).sum(axis=0) / inner.sum(axis=0)


# %%
# Series and their curves
# -----------------------
rng = np.random.default_rng(4)
x = np.linspace(0.0, 1.0, 200)
knots = np.concatenate([np.zeros(3), np.linspace(0.0, 1.0, 22), np.ones(3)])
basis = BSpline.design_matrix(x, knots, 3).toarray()
phase, pace = rng.uniform(0, 6, 2000), rng.uniform(3, 12, 2000)
series = np.sin(phase + pace * x[:, None]) + 0.3 * rng.normal(size=(200, 2000))
curves, centre = fit(basis, series, 0.1)
expected = fit.__wrapped__(basis, series, 0.1)
assert np.allclose(curves, expected[0])
assert np.allclose(centre, expected[1])

fig, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
for ax, i in zip(axes, (0, 1, 2), strict=True):
    ax.plot(x, series[:, i], ".", color="0.7")
    ax.plot(x, curves[:, i], "C3")

# %%
# Time of 2,000 fits
# ------------------
numpy = min(timeit.repeat(lambda: fit.__wrapped__(basis, series, 0.1), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: fit(basis, series, 0.1), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
