"""The HTML report in a real browser, light and dark: what is drawn, and in which colours."""

import shutil
import subprocess

import numpy as np
import pytest

import npaccel
from npaccel._report.html import page

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1000,800", "--hide-scrollbars",
)  # fmt: skip
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


def report():
    def mixed(x):
        y = np.sin(x) * 2
        print(y.shape, file=Quiet)
        z = np.zeros(3) + 1
        return y + 1, z

    jitted = npaccel.jit(mixed, backend="eager", cache=False)
    with npaccel.options(strict=False), pytest.warns(npaccel.errors.PerformanceWarning):
        jitted(np.ones(3))
    return jitted.report()


class Quiet:
    write = staticmethod(lambda text: None)


def drawn(folder, *flags):
    """Return the picture of a report as an array."""
    from PIL import Image

    source, picture = folder / "report.html", folder / "report.png"
    source.write_text(page([report()]), encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags]
    subprocess.run(
        [*command, f"--screenshot={picture}", source.as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )
    with Image.open(picture) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def share(picture, colour):
    """Return how much of a picture has a colour."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return float((np.abs(picture - wanted).max(axis=-1) <= 2).mean())


@pytest.mark.parametrize(
    ("flags", "page_colour", "slow"),
    [
        ((), "#ffffff", "#fde7e6"),
        (("--blink-settings=preferredColorScheme=0",), "#151b23", "#3b1a1b"),
    ],
    ids=["light", "dark"],
)
def test_colours(tmp_path, flags, page_colour, slow):
    picture = drawn(tmp_path, *flags)
    assert share(picture, page_colour) > 0.1
    assert share(picture, slow) > 0.005
