"""
Spectrogram
===========

``npaccel.scipy`` has SciPy's functions for torch's tensors: the same names, arguments and
answers, on a CPU or a GPU.
"""

# %%
# A rising tone in noise
# ----------------------
import timeit

import matplotlib.pyplot as plt
import numpy as np
import scipy.signal
import torch

import npaccel.scipy as nsp

rate = 16_000
t = np.arange(10 * rate) / rate
signal = np.sin(2 * np.pi * (200 * t + 300 * t**2))
signal += 0.5 * np.random.default_rng(0).normal(size=t.shape)
tensor = torch.from_numpy(signal)  # with .to("cuda") what follows runs on the GPU

f, times, power = nsp.signal.spectrogram(tensor, rate, nperseg=512)
expected = scipy.signal.spectrogram(signal, rate, nperseg=512)[2]
assert np.allclose(power.numpy(), expected, rtol=1e-6, atol=1e-12)

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.pcolormesh(times, f, 10 * np.log10(power.numpy()), cmap="viridis", shading="auto")
ax.set(xlabel="time in s", ylabel="frequency in Hz")

# %%
# Where it ran, and how long it took
# ----------------------------------
print(nsp.report())
scipys = min(
    timeit.repeat(lambda: scipy.signal.spectrogram(signal, rate, nperseg=512), number=1, repeat=5)
)
ours = min(
    timeit.repeat(lambda: nsp.signal.spectrogram(tensor, rate, nperseg=512), number=1, repeat=5)
)
print(f"SciPy {1e3 * scipys:.1f} ms, npaccel {1e3 * ours:.1f} ms: {scipys / ours:.1f}x")
