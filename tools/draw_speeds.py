"""Draw the bar chart of the landing page, as an SVG file: how many times as fast as NumPy.

    python tools/draw_speeds.py docs/_static/speeds.svg

Every figure is read from a page of findings or a file of results. The drawing is put into the page
as it is, so that its colours are those of the theme.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path
from xml.sax.saxutils import escape

import svg

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = "docs/design/findings"
GPU = "asv_benches/results/h200/gpu.json"
XEON = "2 cores of an Intel Xeon, November 2026"
EPYC = "2 cores of an AMD EPYC, November 2026"
H200 = "NVIDIA H200, data stay there; NumPy on its host; November 2026"


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar: what was measured, on what, and where the figure stands.

    Parameters
    ----------
    what, machine : str
    file : str
        Below the root of the repository.
    place : str
        A pattern whose first group is the figure; in a JSON file, the name of the row.
    """

    what: str
    machine: str
    file: str
    place: str

    def figure(self) -> float:
        """Return how many times as fast it was."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if self.file.endswith(".json"):
            figures = {row["what"]: row["figures"] for row in json.loads(text)["rows"]}[self.place]
            return float(figures["numpy"] / figures["npaccel"])
        found = re.search(self.place, text)
        if found is None:
            raise SystemExit(f"draw_speeds: {self.file} has no {self.place!r}")
        return float(found[1].replace(",", ""))


BARS = (
    Bar(
        "step of k-means, 2,000,000 points, float64",
        XEON,
        f"{FINDINGS}/measurements.md",
        r"k-means step, float64, vs NumPy \| npaccel ([\d.]+)x",
    ),
    Bar(
        "Jacobi's method, 50 steps on 150 x 150",
        EPYC,
        f"{FINDINGS}/measurements.md",
        r"Jacobi 2-D, 50 steps \| ([\d.]+)x NumPy",
    ),
    Bar(
        "29 programs with loops, geometric mean",
        EPYC,
        f"{FINDINGS}/measurements.md",
        r"29 programs vs NumPy \| geometric mean ([\d.]+)x",
    ),
    Bar(
        "434 functions of SciPy, geometric mean",
        EPYC + ", against SciPy",
        f"{FINDINGS}/scipy.md",
        r"434 functions and methods in npaccel's code\s+([\d.]+) times as fast",
    ),
    Bar(
        "scaler and logistic regression, 200,000 x 32",
        EPYC + ", against scikit-learn",
        f"{FINDINGS}/sklearn.md",
        r"scaler and logistic regression of 5 classes[^|]*\| [\d.]+ \| ([\d.]+)",
    ),
    Bar(
        "52 calls, a million elements, geometric mean",
        H200,
        f"{FINDINGS}/gpu.md",
        r"52 familiar calls[^;]*: geometric mean (\d+)",
    ),
    Bar(
        "step of k-means, 2,000,000 points, float64",
        H200,
        GPU,
        "k-means step, 2,000,000 points, float64, on a GPU, vs NumPy",
    ),
)
WIDTH, LEFT, ROOM, STEP, TOP, LONGEST = 400, 4, 350, 52, 22, 10_000
STYLE = """
.npaccel-speeds text { font-family: inherit; fill: var(--pst-color-text-base, #333) }
.npaccel-speeds .small { font-size: 10.5px; fill: var(--pst-color-text-muted, #666) }
.npaccel-speeds .what { font-size: 13px }
.npaccel-speeds .figure { font-size: 13px; font-weight: bold }
.npaccel-speeds line { stroke: var(--pst-color-border, #ccc) }
.npaccel-speeds .cpu { fill: #2f86a6 }
.npaccel-speeds .gpu { fill: #6a9a2d }
"""


def length(figure: float) -> float:
    """Return how long the bar of a figure is: one of 10,000 is as long as the drawing."""
    return ROOM * math.log10(figure) / math.log10(LONGEST)


def drawing() -> str:
    """Return the picture."""
    height = TOP + len(BARS) * STEP + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="npaccel-speeds" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" aria-label="How many times as fast as NumPy">',
        f"<style>{STYLE}</style>",
    ]
    for power in range(5):
        x = LEFT + length(10.0**power)
        ends = [(TOP + i * STEP + 20, TOP + i * STEP + 33) for i in range(len(BARS))]
        lines += [f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{a}" y2="{b}"/>' for a, b in ends]
        lines.append(f'<text class="small" x="{x:.0f}" y="12">{10**power:,}x</text>')
    for i, bar in enumerate(BARS):
        y = TOP + i * STEP
        figure = bar.figure()
        kind = "gpu" if bar.machine == H200 else "cpu"
        wide = length(figure)
        shown = f"{figure:,.0f}x" if figure >= 100 else f"{figure:.1f}x"
        lines += [
            f'<text class="what" x="{LEFT + 3}" y="{y + 16}">{escape(bar.what)}</text>',
            f'<rect class="{kind}" x="{LEFT}" y="{y + 21}" width="{wide:.1f}" height="11" rx="2"/>',
            f'<text class="figure" x="{LEFT + wide + 5:.1f}" y="{y + 31}">{shown}</text>',
            f'<text class="small" x="{LEFT + 3}" y="{y + 44}">{escape(bar.machine)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


main = svg.command(drawing)

if __name__ == "__main__":
    main()
