"""Draw the speeds that `asv_benches/compare.py --json` has written, kernel by kernel, as SVG files.

    python tools/draw_results.py docs/_static

Each file FOLDER/NAME.json below `asv_benches/results` becomes results-FOLDER-NAME.svg: how many
times as fast as NumPy npaccel is, and what else was measured beside it.
"""

from __future__ import annotations

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
}
WIDTH, LEFT, ROOM, BAR, LINE, LONGEST = 400, 4, 340, 8, 14, 100_000
STYLE = """
.npaccel-results text { font-family: inherit; font-size: 11px }
.npaccel-results text { fill: var(--pst-color-text-base, #333) }
.npaccel-results .small { font-size: 9.5px; fill: var(--pst-color-text-muted, #666) }
"""


def times(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the seconds of each implementation, by kernel.

    A row has them by implementation, or for several kernels as ``kernel: implementation``.
    """
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        for key, seconds in row["figures"].items():
            kernel, _, kind = key.rpartition(": ")
            found.setdefault(kernel or row["what"].partition(", on a GPU")[0], {})[kind] = seconds
    return {kernel: kinds for kernel, kinds in found.items() if {"numpy", "npaccel"} <= set(kinds)}


def drawing(path: Path) -> str:
    """Return the picture of a file of results."""
    kernels = times(json.loads(path.read_text(encoding="utf-8"))["rows"])
    shown = [kind for kind in KINDS if any(kind in kinds for kinds in kernels.values())]
    lines, y = [], 12
    for kind in shown:
        name, colour = KINDS[kind]
        lines += [
            f'<rect fill="{colour}" x="{LEFT}" y="{y - 8}" width="10" height="{BAR}"/>',
            f'<text x="{LEFT + 15}" y="{y}">{escape(name)}</text>',
        ]
        y += LINE
    for kernel, seconds in kernels.items():
        y += LINE + 2
        lines.append(f'<text x="{LEFT}" y="{y}">{escape(kernel)}</text>')
        y += 4
        for kind in shown:
            if kind not in seconds:
                continue
            factor = seconds["numpy"] / seconds[kind]
            wide = max(1.0, ROOM * math.log10(max(factor, 1.0)) / math.log10(LONGEST))
            told = f"{factor:,.0f}x" if factor >= 100 else f"{factor:.1f}x"
            lines += [
                f'<rect fill="{KINDS[kind][1]}" x="{LEFT}" y="{y}" width="{wide:.1f}" '
                f'height="{BAR}"/>',
                f'<text class="small" x="{LEFT + wide + 4:.1f}" y="{y + BAR}">{told}</text>',
            ]
            y += BAR + 2
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="npaccel-results" role="img" '
        f'viewBox="0 0 {WIDTH} {y + 6}" aria-label="How many times as fast as NumPy, by kernel">',
        f"<style>{STYLE}</style>",
    ]
    return "\n".join([*head, *lines, "</svg>", ""])


def drawings() -> dict[str, str]:
    """Return the pictures of all files of results, by name."""
    files = sorted(RESULTS.glob("*/*.json"))
    tables = [path for path in files if "rows" in json.loads(path.read_text(encoding="utf-8"))]
    return {f"results-{path.parent.name}-{path.stem}.svg": drawing(path) for path in tables}


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path))
def main(folder: Path) -> None:
    """Write the pictures into FOLDER."""
    for name, text in drawings().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
