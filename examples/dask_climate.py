"""Monthly anomalies of fields on disk, block by block: a jitted function on Dask arrays.

    python examples/dask_climate.py
    python examples/dask_climate.py --gigabytes 4 --workers 2 --memory-limit 1.5GB --out pictures

Writes daily temperatures, packed into 16-bit integers as archives have them, to a file that may be
larger than memory. A jitted function unpacks them, takes monthly means and the difference from
each month's mean of all years; `npaccel.dask.apply_gufunc` takes a percentile over the months.
Prints plain Dask's time, npaccel's and whether the answers agree, and draws a map of each.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from PIL import Image

import npaccel
import npaccel.dask

#: Days of a month and months of a year, in the calendar of many climate models.
DAYS, MONTHS = 30, 12
LATITUDES, LONGITUDES = 90, 180
SCALE, OFFSET = np.float32(0.005), np.float32(260.0)


def write_fields(path: Path, years: int) -> None:
    """Write packed temperatures, shape (years, MONTHS, DAYS, LATITUDES, LONGITUDES)."""
    shape = (years, MONTHS, DAYS, LATITUDES, LONGITUDES)
    file = np.lib.format.open_memmap(path, "w+", np.int16, shape)
    rng = np.random.default_rng(0)
    latitude = np.linspace(-np.pi / 2, np.pi / 2, LATITUDES)[:, None]
    longitude = np.linspace(0, 2 * np.pi, LONGITUDES)
    season = np.cos(2 * np.pi * (np.arange(MONTHS) - 6) / MONTHS)[:, None, None, None]
    mean = 245 + 50 * np.cos(latitude) + 5 * np.sin(2 * longitude)
    land = np.sin(3 * longitude + 2 * np.sin(2 * latitude)) * np.cos(latitude)
    weather = 1 + 2 * np.abs(np.sin(latitude))
    for year in range(years):
        warming = 3 * year / years * (1 + np.sin(latitude) ** 2 + 0.5 * land)
        kelvin = mean + 15 * season * np.sin(latitude) + warming
        kelvin = kelvin + weather * rng.standard_normal(shape[1:], dtype=np.float32)
        file[year] = np.clip((kelvin - OFFSET) / SCALE, -32768, 32767).astype(np.int16)
    file.flush()


def anomalies(packed: Any) -> Any:
    """Return the months' difference from their mean of all years, in kelvins."""
    kelvin = packed * SCALE + OFFSET
    # What can't be has been read wrongly.
    kelvin = np.where((kelvin > 150) & (kelvin < 350), kelvin, np.float32(np.nan))
    months = np.nanmean(kelvin, axis=2)
    return months - months.mean(axis=0)


def high(months: Any) -> Any:
    """Return the value that one month of twenty exceeds, along the last axis."""
    return np.percentile(months, 95, axis=-1)


def maps(packed: Any, compiled: bool) -> list[Any]:
    """Return the last year's mean anomaly and the percentile, as Dask arrays."""
    months = (npaccel.jit(anomalies) if compiled else anomalies)(packed)
    flat = months.reshape(-1, LATITUDES, LONGITUDES).rechunk((-1, 30, LONGITUDES))
    apply = npaccel.dask.apply_gufunc if compiled else da.apply_gufunc
    kwargs = {} if compiled else {"output_dtypes": flat.dtype}
    return [months[-1].mean(axis=0), apply(high, "(t)->()", flat, axis=0, **kwargs)]


def as_picture(values: np.ndarray[Any, Any]) -> Image.Image:
    """Return a map as a picture, north above: blue is cold, red is warm."""
    level = (values[::-1] - values.min()) / max(float(np.ptp(values)), 1e-6)
    red, blue = np.clip(2 * level, 0, 1), np.clip(2 - 2 * level, 0, 1)
    pixels = np.stack([red, np.minimum(red, blue), blue], axis=-1)
    return Image.fromarray((255 * pixels).astype(np.uint8)).resize((720, 360))


@contextlib.contextmanager
def computing(workers: int, memory_limit: str) -> Iterator[None]:
    """Compute in threads of this process, or in as many workers."""
    if not workers:
        with dask.config.set(scheduler="threads"):
            yield
        return
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "memory_limit": memory_limit, "dashboard_address": None}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
        yield


def main(arguments: list[str] | None = None) -> int:
    """Write the fields, compute both ways, draw, and return 0 if the answers agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=0.2, help="size of the file")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: threads of this one")
    parser.add_argument("--memory-limit", default="1.5GB", help="of each worker")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the pictures")
    options = parser.parse_args(arguments)

    a_year = MONTHS * DAYS * LATITUDES * LONGITUDES * 2
    years = max(2, round(options.gigabytes * 1e9 / a_year))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {}
    with tempfile.TemporaryDirectory() as folder, computing(options.workers, options.memory_limit):
        path = Path(folder) / "temperature.npy"
        write_fields(path, years)
        print(
            f"{years} years, {path.stat().st_size / 1e9:.2f} GB on disk, as a block for each year"
        )
        file = np.load(path, mmap_mode="r")
        packed = da.from_array(file, chunks=(1, *file.shape[1:]))
        for name, compiled in (("Dask", False), ("npaccel, first", True), ("npaccel", True)):
            start = time.perf_counter()
            found[name] = dask.compute(*maps(packed, compiled))
            print(f"{name:15}{time.perf_counter() - start:8.2f} s")
    for name, values in zip(("anomaly", "high"), found["npaccel"], strict=True):
        picture = options.out / f"climate-{name}.png"
        as_picture(values).save(picture)
        print(f"wrote {picture}: {values.min():.2f} to {values.max():.2f} K")
    for ours, theirs in zip(found["npaccel"], found["Dask"], strict=True):
        if ours.dtype != theirs.dtype or not np.allclose(ours, theirs, atol=2e-3):
            print("answers differ")
            return 1
    print("answers agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
