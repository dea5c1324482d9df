"""Develop a series of raw camera frames of a star field, and measure the stars.

Frames are simulated: a sky with stars and a gradient, seen through a colour filter
array, with photon and read noise. They are calibrated, demosaiced, denoised,
sharpened, tone-mapped and put together; at the end the stars are found and their
brightness is printed.

    python image_pipeline.py --frames 4 --size 1024
"""

import argparse
import time

import numpy as np

GAIN = 1.7
READ_NOISE = 2.5
BLACK_LEVEL = 64.0
WHITE_LEVEL = 4095.0
COLOUR_MATRIX = np.array(
    [
        [1.62, -0.48, -0.14],
        [-0.21, 1.45, -0.24],
        [0.03, -0.52, 1.49],
    ]
)


# ---------------------------------------------------------------------------
# Simulating the camera
# ---------------------------------------------------------------------------


def make_sky(size, rng, stars=60):
    """A colour image of the sky: a gradient and stars of several colours."""
    y, x = np.mgrid[0:size, 0:size] / size
    sky = np.empty((size, size, 3))
    sky[..., 0] = 120 + 60 * x
    sky[..., 1] = 130 + 40 * y
    sky[..., 2] = 170 + 30 * x * y
    for _ in range(stars):
        add_star(sky, rng.uniform(8, size - 8, 2), rng.uniform(500, 3500), rng.uniform(1, 2))
    return np.minimum(sky, WHITE_LEVEL)


def add_star(sky, centre, brightness, width):
    """Add a star where it shines, in a small window around it."""
    row, column = (int(c) for c in centre)
    reach = 6
    rows = slice(max(row - reach, 0), row + reach + 1)
    columns = slice(max(column - reach, 0), column + reach + 1)
    y, x = np.mgrid[rows, columns]
    distance = (y - centre[0]) ** 2 + (x - centre[1]) ** 2
    spot = brightness * np.exp(-distance / (2 * width**2))
    sky[rows, columns] += spot[: sky[rows].shape[0], :, None] * np.array([1.0, 0.9, 0.8])


def expose(sky, rng):
    """One raw frame: RGGB filters, photon noise, read noise, digitised."""
    mosaic = np.empty(sky.shape[:2])
    mosaic[0::2, 0::2] = sky[0::2, 0::2, 0]
    mosaic[0::2, 1::2] = sky[0::2, 1::2, 1]
    mosaic[1::2, 0::2] = sky[1::2, 0::2, 1]
    mosaic[1::2, 1::2] = sky[1::2, 1::2, 2]
    electrons = rng.poisson(mosaic / GAIN) * GAIN
    noisy = electrons + rng.normal(0, READ_NOISE, mosaic.shape) + BLACK_LEVEL
    return np.clip(noisy, 0, WHITE_LEVEL).astype(np.uint16)


# ---------------------------------------------------------------------------
# Developing a frame
# ---------------------------------------------------------------------------


def calibrate(raw, dark, flat):
    """Subtract the dark frame, divide by the flat field, scale to 0..1."""
    signal = raw.astype(np.float64) - BLACK_LEVEL - dark
    return np.clip(signal / flat / (WHITE_LEVEL - BLACK_LEVEL), 0.0, 1.0)


def demosaic(mosaic):
    """Fill the colours in by averaging, at half the resolution: red, green, blue planes."""
    red = mosaic[0::2, 0::2]
    green = 0.5 * (mosaic[0::2, 1::2] + mosaic[1::2, 0::2])
    blue = mosaic[1::2, 1::2]
    return np.stack([red, green, blue])


def correct_colours(image, white):
    """White balance and the camera's colour matrix."""
    red, green, blue = image * white[:, None, None]
    corrected = [row[0] * red + row[1] * green + row[2] * blue for row in COLOUR_MATRIX]
    return np.clip(np.stack(corrected), 0.0, None)


def luminance(image):
    """Brightness as the eye sees it."""
    return 0.2126 * image[0] + 0.7152 * image[1] + 0.0722 * image[2]


def conductance(difference, edge):
    """How much flows between two pixels: little across an edge."""
    return difference / (1.0 + (difference / edge) ** 2)


def denoise(image, edge, rounds=10, rate=0.2):
    """Perona and Malik's diffusion, which smooths everything but edges."""
    for _ in range(rounds):
        p = np.pad(image, ((0, 0), (1, 1), (1, 1)), mode="edge")
        north = conductance(p[:, :-2, 1:-1] - image, edge)
        south = conductance(p[:, 2:, 1:-1] - image, edge)
        west = conductance(p[:, 1:-1, :-2] - image, edge)
        east = conductance(p[:, 1:-1, 2:] - image, edge)
        image = image + rate * (north + south + west + east)
    return image


def sharpen(image, amount):
    """An unsharp mask with a binomial blur; small details are taken for noise."""
    p = np.pad(image, ((0, 0), (1, 1), (1, 1)), mode="edge")
    rows = 0.25 * p[:, :-2] + 0.5 * p[:, 1:-1] + 0.25 * p[:, 2:]
    blurred = 0.25 * rows[:, :, :-2] + 0.5 * rows[:, :, 1:-1] + 0.25 * rows[:, :, 2:]
    detail = image - blurred
    soft = np.sign(detail) * np.maximum(np.abs(detail) - 0.002, 0.0)
    return np.clip(image + amount * soft, 0.0, None)


def filmic(x):
    """A curve as of film: a toe, a straight part, a shoulder."""
    return np.clip(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0)


def tone_map(image, key=0.18):
    """Compress the range of brightness, then apply a curve and gamma."""
    bright = luminance(image)
    scaled = key / np.mean(bright) * bright
    compressed = scaled * (1 + scaled / 16.0) / (1 + scaled)
    ratio = compressed / (bright + 1e-6)
    return np.sqrt(filmic(image * ratio))


def develop(raw, dark, flat, white):
    """From a raw frame to a picture."""
    image = correct_colours(demosaic(calibrate(raw, dark, flat)), white)
    clean = denoise(image, 0.03)
    return tone_map(sharpen(clean, 0.6))


# ---------------------------------------------------------------------------
# Measuring
# ---------------------------------------------------------------------------


def find_stars(image, threshold):
    """Local maxima above a threshold, brightest first."""
    bright = luminance(image)
    inner = bright[1:-1, 1:-1]
    is_peak = inner > threshold
    for dy in (0, 1, 2):
        for dx in (0, 1, 2):
            if (dy, dx) != (1, 1):
                is_peak &= inner >= bright[dy : dy + inner.shape[0], dx : dx + inner.shape[1]]
    rows, columns = np.nonzero(is_peak)
    order = np.argsort(-inner[rows, columns], kind="stable")
    return np.column_stack([rows[order] + 1, columns[order] + 1])


def photometry(image, places, radius=4):
    """The brightness of stars within a circle, less the sky around it."""
    bright = luminance(image)
    found = []
    for row, column in places:
        if not (radius <= row < bright.shape[0] - radius):
            continue
        if not (radius <= column < bright.shape[1] - radius):
            continue
        window = bright[row - radius : row + radius + 1, column - radius : column + radius + 1]
        found.append(window.sum() - window.size * np.median(window))
    return np.array(found)


def quality(pictures):
    """Noise and sharpness of a series of pictures."""
    stack = np.array([luminance(picture) for picture in pictures])
    noise = float(np.median(np.std(stack, axis=0)))
    mean = stack.mean(axis=0)
    edges = float(np.mean(np.hypot(np.diff(mean, axis=0)[:, 1:], np.diff(mean, axis=1)[1:])))
    return noise, edges


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--size", type=int, default=1024)
    options = parser.parse_args()

    rng = np.random.default_rng(7)
    sky = make_sky(options.size, rng)
    dark = rng.normal(3.0, 0.3, (options.size, options.size))
    flat = 1.0 - 0.2 * np.hypot(*np.meshgrid(*2 * [np.linspace(-0.7, 0.7, options.size)])) ** 2
    white = np.array([1.9, 1.0, 1.5])
    raws = [expose(sky, rng) for _ in range(options.frames + 1)]

    develop(raws[0], dark, flat, white)  # The first one warms everything up.
    begin = time.perf_counter()
    pictures = [develop(raw, dark, flat, white) for raw in raws[1:]]
    seconds = time.perf_counter() - begin

    mean = np.mean(pictures, axis=0)
    noise, edges = quality(pictures)
    stars = find_stars(mean, 0.5)
    fluxes = photometry(mean, stars[:20])
    print(f"stars: {len(stars)}, brightest {fluxes.max():.2f}")
    print(f"noise {noise:.4f}, edges {edges:.4f}")
    print(f"work: {seconds:.4f} s")


if __name__ == "__main__":
    main()
