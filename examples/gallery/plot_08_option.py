"""
Monte-Carlo price of an option
==============================

An Asian call: the mean of a path decides. The normal numbers are drawn once, the paths are priced
for many strikes.
"""

# %%
# The function
# ------------
import timeit

import matplotlib.pyplot as plt
import numpy as np

import npaccel


@npaccel.jit(compile="now")
def price(normal, start, strike, rate, volatility):
    dt = 1.0 / normal.shape[1]
    steps = (rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normal
    mean = (start * np.exp(np.cumsum(steps, axis=1))).mean(axis=1)
    return np.exp(-rate) * np.maximum(mean - strike, 0.0).mean()


# %%
# Price by strike
# ---------------
normal = np.random.default_rng(7).standard_normal((20_000, 50))
strikes = np.linspace(80.0, 120.0, 9)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for volatility in (0.1, 0.2, 0.4):
    prices = [price(normal, 100.0, float(s), 0.03, volatility) for s in strikes]
    ax.plot(strikes, prices, "o-", label=f"volatility {volatility}")
ax.set(xlabel="strike", ylabel="price", title="Asian call, 20,000 paths of 50 steps")
ax.legend()
arguments = normal, 100.0, 100.0, 0.03, 0.2
assert np.isclose(price(*arguments), price.__wrapped__(*arguments))

# %%
# Time of one price
# -----------------
numpy = min(timeit.repeat(lambda: price.__wrapped__(*arguments), number=1, repeat=5))
compiled = min(timeit.repeat(lambda: price(*arguments), number=1, repeat=5))
print(f"NumPy {1e3 * numpy:.1f} ms, npaccel {1e3 * compiled:.1f} ms: {numpy / compiled:.1f}x")
