"""
N-body problem
==============

Every body attracts every other: arrays of all pairs in NumPy, none in compiled code.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


@npaccel.jit(compile="now")
def acceleration(position, mass):
    between = position - position[:, None]
    distance = (between**2).sum(axis=2) + 0.01
    return (mass[:, None] * between / distance[:, :, None] ** 1.5).sum(axis=1)


# %%
# A disk that turns
# -----------------
rng = np.random.default_rng(2)
radius, angle = np.sqrt(rng.uniform(0.05, 1, 400)), rng.uniform(0, 2 * np.pi, 400)
position = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(400)], axis=1)
velocity = np.stack([-position[:, 1], position[:, 0], np.zeros(400)], axis=1)
mass = np.full(400, 1.0 / 400)
path = []
for _ in range(150):
    velocity += 0.01 * acceleration(position, mass)
    position = position + 0.01 * velocity
    path.append(position)
path = np.array(path)
assert np.allclose(acceleration(position, mass), acceleration.__wrapped__(position, mass))

fig, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.plot(path[:, ::8, 0], path[:, ::8, 1], linewidth=0.7)
ax.plot(position[:, 0], position[:, 1], "k.", markersize=2)
ax.set(aspect="equal", title="400 bodies, the paths of 50")

# %%
# Time of one evaluation
# ----------------------
numpy = min(timeit.repeat(lambda: acceleration.__wrapped__(position, mass), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: acceleration(position, mass), number=1, repeat=10))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.2f} ms: {numpy / compiled:.1f}x")
