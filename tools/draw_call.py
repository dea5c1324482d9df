"""Draw the way of a call, as an SVG file.

    python tools/draw_call.py docs/_static/call.svg

The drawing is put into a page as it is, so that its colours are those of the theme.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

import svg

#: What is asked, what happens if it is so, and how long that takes.
STEPS = (
    ("Is the signature known?", "its runner: guards, kernels, results", "2 µs"),
    ("Is its code on disk?", "kernels are loaded, a runner is made", "milliseconds"),
    ("Too few calls to pay?", "NumPy makes the call", "NumPy's time"),
    ("Can it be captured?", "graph, kernels, runner; kept on disk", "seconds, once"),
)
LAST = (
    "NumPy runs what can't be compiled, between compiled subgraphs;",
    "the report says which line, why, and what to write instead",
)
WIDTH, STEP, TOP, BOX = 480, 62, 46, 40
STYLE = """
.npaccel-call text { font-family: inherit; font-size: 12px; fill: var(--pst-color-text-base, #333) }
.npaccel-call .small { font-size: 11px; fill: var(--pst-color-text-muted, #666) }
.npaccel-call rect { fill: none; stroke: #2f86a6; stroke-width: 1.5 }
.npaccel-call .answer { stroke: #6a9a2d }
.npaccel-call path { fill: none; stroke: var(--pst-color-text-muted, #888); stroke-width: 1.5 }
"""


def arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    """Return an arrow to the right or down."""
    head = "l-6,-4 m6,4 l-6,4" if y == to_y else "l-4,-6 m4,6 l4,-6"
    return f'<path d="M{x},{y} L{to_x},{to_y} {head}"/>'


def drawing() -> str:
    """Return the picture."""
    end = TOP + len(STEPS) * STEP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="npaccel-call" role="img" '
        f'viewBox="0 0 {WIDTH} {end + BOX + 4}" aria-label="What becomes of a call">',
        f"<style>{STYLE}</style>",
        '<text x="12" y="18">f(x, y)</text>',
        arrow(30, 24, 30, TOP - 2),
    ]
    for i, (question, answer, time) in enumerate(STEPS):
        y = TOP + i * STEP
        middle = y + BOX // 2
        lines += [
            f'<rect x="4" y="{y}" width="170" height="{BOX}" rx="6"/>',
            f'<text x="12" y="{middle + 4}">{escape(question)}</text>',
            arrow(174, middle, 216, middle),
            f'<text class="small" x="180" y="{middle - 5}">yes</text>',
            f'<rect class="answer" x="218" y="{y}" width="258" height="{BOX}" rx="6"/>',
            f'<text x="226" y="{y + 17}">{escape(answer)}</text>',
            f'<text class="small" x="226" y="{y + 33}">{escape(time)}</text>',
            arrow(30, y + BOX, 30, y + STEP - 2),
            f'<text class="small" x="38" y="{y + BOX + 15}">no</text>',
        ]
    lines += [
        f'<rect class="answer" x="4" y="{end}" width="472" height="{BOX}" rx="6"/>',
        f'<text x="12" y="{end + 17}">{escape(LAST[0])}</text>',
        f'<text x="12" y="{end + 33}">{escape(LAST[1])}</text>',
    ]
    return "\n".join([*lines, "</svg>", ""])


main = svg.command(drawing)

if __name__ == "__main__":
    main()
