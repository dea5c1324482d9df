"""Filter a noisy chirp and draw its spectrogram: SciPy's functions on tensors.

    python examples/scipy_signal.py
    python examples/scipy_signal.py --device cuda --out pictures

The signal is a tensor from beginning to end: a rising tone in noise, of which a band is cut out
with windowed-sinc weights, and whose short-time spectra become a picture. Prints SciPy's time for
the same on arrays, npaccel's, which way each call took, and whether the answers agree.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.signal
import torch
from PIL import Image

import npaccel.scipy as nsp

RATE = 48_000


def make_signal(seconds: float, dtype: str) -> np.ndarray[Any, Any]:
    """Return a tone that rises from 0.5 to 12 kHz, in noise as loud, shape (seconds * RATE,)."""
    t = np.arange(int(seconds * RATE)) / RATE
    tone = scipy.signal.chirp(t, f0=500, t1=seconds, f1=12_000)
    noise = np.random.default_rng(0).standard_normal(t.size)
    return (tone + noise).astype(dtype)


def spectra(signal_module: Any, x: Any, weights: Any) -> tuple[Any, Any]:
    """Return a filtered signal and its spectrogram, with SciPy's functions or npaccel's."""
    filtered = signal_module.fftconvolve(x, weights, mode="same")
    _, _, power = signal_module.spectrogram(
        filtered, fs=RATE, nperseg=1024, noverlap=512, detrend=False
    )
    return filtered, power


def as_picture(power: np.ndarray[Any, Any]) -> Image.Image:
    """Return a spectrogram in decibels as a picture, low frequencies at the bottom."""
    level = 10 * np.log10(power[::-1] + 1e-12)
    low, high = level.max() - 60, level.max()
    grey = np.clip((level - low) / (high - low), 0, 1)
    red, green, blue = grey, grey**2, 0.4 * np.sqrt(grey) * (1 - grey) + grey**4
    pixels = (255 * np.stack([red, green, blue], axis=-1)).astype(np.uint8)
    return Image.fromarray(pixels)


def timed(call: Any, repeats: int = 5) -> tuple[float, Any]:
    """Return the least seconds of a few calls, and the last result."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return min(taken), result


def main(arguments: list[str] | None = None) -> int:
    """Run both, write the picture, and return 0 if the answers agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the signal")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--device", default="cpu", help="where the tensors are")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the picture")
    options = parser.parse_args(arguments)

    x = make_signal(options.seconds, options.dtype)
    weights = scipy.signal.firwin(255, [1_000, 9_000], fs=RATE, pass_zero=False)
    weights = weights.astype(options.dtype)
    on_device = [torch.from_numpy(a).to(options.device) for a in (x, weights)]

    print(f"{x.size:,} samples of {options.dtype}, on {options.device}")
    scipy_seconds, expected = timed(lambda: spectra(scipy.signal, x, weights))
    first_seconds, _ = timed(lambda: spectra(nsp.signal, *on_device), 1)
    our_seconds, found = timed(lambda: spectra(nsp.signal, *on_device))
    print(f"SciPy                {1e3 * scipy_seconds:9.1f} ms")
    print(f"npaccel, first call  {1e3 * first_seconds:9.1f} ms")
    print(f"npaccel, steady      {1e3 * our_seconds:9.1f} ms")
    print(nsp.report())

    options.out.mkdir(parents=True, exist_ok=True)
    picture = options.out / "spectrogram.png"
    power = found[1].cpu().numpy()
    as_picture(power[: power.shape[0] * 5 // 8]).save(picture)
    print(f"wrote {picture}")

    tolerance = 1e-3 if options.dtype == "float32" else 1e-9
    for ours, theirs in zip(found, expected, strict=True):
        if not np.allclose(ours.cpu(), theirs, rtol=tolerance, atol=tolerance * theirs.max()):
            print("answers differ")
            return 1
    print("answers agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
