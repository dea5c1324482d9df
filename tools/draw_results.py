"""Draw the speeds that `asv_benches/compare.py --json` has written, kernel by kernel, as SVG files.

    python tools/draw_results.py docs/_static

Each file FOLDER/NAME.json below `asv_benches/results` becomes results-FOLDER-NAME.svg: how many
times as fast as NumPy npaccel is, and what else was measured beside it. Where a copy of as many
bytes was timed too, results-FOLDER-NAME-bandwidth.svg shows how near each kernel comes to it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import click

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "asv_benches" / "results"
#: Implementations as the files call them, what the drawing calls them, and their colours.
KINDS = {
    "npaccel": ("npaccel", "#2f86a6"),
    "npaccel, copied": ("npaccel, arrays copied at every call", "#8fbfd0"),
    "torch_compile": ("bare torch.compile", "#d98b3a"),
    "numba": ("Numba", "#6a9a2d"),
    "jax": ("JAX", "#9a6aa8"),
    "numpy": ("NumPy", "#8a8f94"),
}
WIDTH, LEFT, ROOM, BAR, LINE = 400, 4, 340, 8, 14
#: Bars of what is slower than a tenth of NumPy end there.
SLOWEST = 0.1
STYLE = """
.npaccel-results text { font-family: inherit; font-size: 11px }
.npaccel-results text { fill: var(--pst-color-text-base, #333) }
.npaccel-results .small { font-size: 9.5px; fill: var(--pst-color-text-muted, #666) }
.npaccel-results line { stroke: var(--pst-color-text-muted, #666); stroke-width: 0.7 }
"""


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar of a kernel: where it begins and ends, in pixels, and what stands beside it."""

    kind: str
    begin: float
    end: float
    told: str


def times(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the seconds of each implementation, by kernel.

    A row has them by implementation, or for several kernels as ``kernel: implementation``.
    """
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        name = row["what"].removesuffix(", vs NumPy").removesuffix(", on a GPU")
        for key, seconds in row["figures"].items():
            kernel, _, kind = key.rpartition(": ")
            found.setdefault(kernel or name, {})[kind] = seconds
    return {kernel: kinds for kernel, kinds in found.items() if {"numpy", "npaccel"} <= set(kinds)}


def picture(bars: dict[str, list[Bar]], label: str, mark: float, marked: str) -> str:
    """Return a picture of bars, by kernel, with a line at what they're compared with.

    Parameters
    ----------
    bars : dict
    label : str
        What the picture shows, for those who don't see it.
    mark : float
        Where the line is.
    marked : str
        What stands above it.
    """
    shown = [kind for kind in KINDS if any(kind == bar.kind for of in bars.values() for bar in of)]
    lines, y = [], 12
    for kind in shown:
        name, colour = KINDS[kind]
        lines += [
            f'<rect fill="{colour}" x="{LEFT}" y="{y - 8}" width="10" height="{BAR}"/>',
            f'<text x="{LEFT + 15}" y="{y}">{escape(name)}</text>',
        ]
        y += LINE
    if marked:
        y += LINE
        where = f'class="small" text-anchor="middle" x="{mark:.1f}" y="{y}"'
        lines.append(f"<text {where}>{escape(marked)}</text>")
    for kernel, of in bars.items():
        y += LINE + 2
        lines.append(f'<text x="{LEFT}" y="{y}">{escape(kernel)}</text>')
        y += 4
        first = y
        for bar in of:
            wide = max(1.0, bar.end - bar.begin)
            lines += [
                f'<rect fill="{KINDS[bar.kind][1]}" x="{bar.begin:.1f}" y="{y}" '
                f'width="{wide:.1f}" height="{BAR}"/>',
                f'<text class="small" x="{bar.end + 4:.1f}" y="{y + BAR}">{bar.told}</text>',
            ]
            y += BAR + 2
        if marked:
            lines.append(f'<line x1="{mark:.1f}" x2="{mark:.1f}" y1="{first - 1}" y2="{y - 1}"/>')
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="npaccel-results" role="img" '
        f'viewBox="0 0 {WIDTH} {y + 6}" aria-label="{escape(label)}">',
        f"<style>{STYLE}</style>",
    ]
    return "\n".join([*head, *lines, "</svg>", ""])


def told(factor: float) -> str:
    """Return a factor as the pictures have it."""
    digits = 0 if factor >= 100 else 1 if factor >= 1 else 2
    return f"{factor:,.{digits}f}x"


def speeds(found: dict[str, dict[str, float]]) -> str:
    """Return the picture of how many times as fast as NumPy each kernel is."""
    factors = {
        kernel: {kind: of["numpy"] / of[kind] for kind in KINDS if kind in of and kind != "numpy"}
        for kernel, of in found.items()
    }
    every = [factor for of in factors.values() for factor in of.values()]
    low = math.log10(SLOWEST) if min(every) < 1 else 0.0
    high = math.ceil(math.log10(max(every)))

    def place(factor: float) -> float:
        return LEFT + ROOM * (math.log10(max(factor, SLOWEST)) - low) / (high - low)

    one = place(1.0)
    bars = {
        kernel: [
            Bar(kind, min(one, place(factor)), max(one, place(factor)), told(factor))
            for kind, factor in of.items()
        ]
        for kernel, of in factors.items()
    }
    marked = "as fast as NumPy" if low < 0 else ""
    return picture(bars, "How many times as fast as NumPy, by kernel", one, marked)


def bandwidths(found: dict[str, dict[str, float]]) -> str:
    """Return the picture of how near kernels come to a copy of as many bytes."""
    shares = {
        kernel: {kind: of["copy"] / of[kind] for kind in KINDS if kind in of}
        for kernel, of in found.items()
        if "copy" in of
    }
    most = max(1.0, *(share for of in shares.values() for share in of.values()))
    bars = {
        kernel: [
            Bar(kind, LEFT, LEFT + ROOM * share / most, f"{share:.0%}")
            for kind, share in of.items()
        ]
        for kernel, of in shares.items()
    }
    label = "How near each kernel comes to a copy of as many bytes"
    return picture(bars, label, LEFT + ROOM / most, "as fast as a copy")


def drawings() -> dict[str, str]:
    """Return the pictures of all files of results, by name."""
    pictures = {}
    for path in sorted(RESULTS.glob("*/*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if "rows" not in kept:
            continue
        found = times(kept["rows"])
        name = f"results-{path.parent.name}-{path.stem}"
        pictures[f"{name}.svg"] = speeds(found)
        if any("copy" in of for of in found.values()):
            pictures[f"{name}-bandwidth.svg"] = bandwidths(found)
    return pictures


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
def main(folder: Path) -> None:
    """Write the pictures into FOLDER."""
    for name, text in drawings().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
