"""Draw the packages of npaccel, and which of them a call goes through, as an SVG file.

    python tools/draw_architecture.py docs/_static/architecture.svg

The packages and their order are those of `LAYERS` in `.ci/check_imports.py`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.sax.saxutils import escape

import svg

ROOT = Path(__file__).resolve().parent.parent

#: By package: what it does, and which calls go through it: known ones, from disk, compiled.
PACKAGES = {
    "_tools": ("command line, notebook, support page", ""),
    "_sharding": ("calls with DTensors, by rank", ""),
    "_dask": ("calls with Dask arrays, by block", ""),
    "_sklearn": ("estimators on tensors", ""),
    "_scipy": ("SciPy's functions on tensors", ""),
    "_transforms": ("derivatives and batches", ""),
    "_jit": ("jit and what it returns", "kdc"),
    "_check": ("comparison with NumPy", ""),
    "_verify": ("one call in NumPy and compiled", ""),
    "_loops": ("loops: regions, bodies, Numba", ""),
    "_compiler": ("dispatch, compile, run and plan", "kdc"),
    "_torch": ("Dynamo, graph passes, Inductor", "c"),
    "_numpy": ("NumPy's functions on tensors", "c"),
    "_syntax": ("what source and bytecode say", ""),
    "_runtime": ("arguments, guards, runners, artifacts", "kdc"),
    "_report": ("what is known of a function", "dc"),
    "_cache": ("the store on disk", "dc"),
    "_process": ("forks, threads, interrupts", "dc"),
}
#: Public modules, and what has no packages below it.
_NOT_DRAWN = ("errors", "_version", "dask", "scipy", "sklearn", "testing", "__main__")
CALLS = {"k": "known signature", "d": "from disk", "c": "compiled"}
COLOURS = {"k": "#2a7f62", "d": "#2f6db5", "c": "#b5592f"}
WIDTH, HEIGHT, GAP, LEFT, TOP = 430, 30, 6, 20, 44


def layers() -> tuple[str, ...]:
    """Return the packages in the order that the import check keeps."""
    path = ROOT / ".ci" / "check_imports.py"
    spec = importlib.util.spec_from_file_location("check_imports", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"draw_architecture: {path} can't be read")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(module.LAYERS)


def drawing() -> str:
    """Return the picture."""
    order = [name for name in reversed(layers()) if name in PACKAGES]
    missing = set(PACKAGES) ^ {name for name in layers() if name not in _NOT_DRAWN}
    if missing:
        raise SystemExit(f"draw_architecture: PACKAGES lacks, or has too many: {sorted(missing)}")
    height = TOP + len(order) * (HEIGHT + GAP) + 14
    total = LEFT + WIDTH + 330
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="Packages of npaccel">',
        f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="26" fill="#333333">imports go downward</text>',
    ]
    columns = {key: LEFT + WIDTH + 50 + 100 * i for i, key in enumerate(CALLS)}
    for key, x in columns.items():
        rows = [i for i, name in enumerate(order) if key in PACKAGES[name][1]]
        first, last = (TOP + i * (HEIGHT + GAP) + HEIGHT / 2 for i in (rows[0], rows[-1]))
        parts.append(
            f'<text x="{x}" y="26" text-anchor="middle" fill="{COLOURS[key]}">{CALLS[key]}</text>'
        )
        parts.append(
            f'<line x1="{x}" y1="{first}" x2="{x}" y2="{last}" stroke="{COLOURS[key]}" '
            'stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{x}" cy="{TOP + i * (HEIGHT + GAP) + HEIGHT / 2}" r="5" '
            f'fill="{COLOURS[key]}"/>'
            for i in rows
        ]
    for i, name in enumerate(order):
        y = TOP + i * (HEIGHT + GAP)
        text, calls = PACKAGES[name]
        fill = "#eef3f8" if calls else "#f6f6f6"
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="4" fill="{fill}" '
            'stroke="#9aa7b4"/>'
        )
        parts.append(
            f'<text x="{LEFT + 10}" y="{y + 20}" font-family="monospace" fill="#111111">'
            f"{escape(name)}</text>"
        )
        parts.append(f'<text x="{LEFT + 140}" y="{y + 20}" fill="#333333">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


main = svg.command(drawing)

if __name__ == "__main__":
    main()
