"""Draw questions one below the other, and what follows from a yes, as SVG.

The drawing is put into a page as it is, so that its colours are those of the theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, ASKED, STEP, TOP, BOX = 480, 186, 62, 46, 40
STYLE = """
.npaccel-ladder text { font-family: inherit; font-size: 12px }
.npaccel-ladder text { fill: var(--pst-color-text-base, #333) }
.npaccel-ladder .small { font-size: 11px; fill: var(--pst-color-text-muted, #666) }
.npaccel-ladder rect { fill: none; stroke: #2f86a6; stroke-width: 1.5 }
.npaccel-ladder .answer { stroke: #6a9a2d }
.npaccel-ladder path { fill: none; stroke: var(--pst-color-text-muted, #888); stroke-width: 1.5 }
"""


def arrow(x: int, y: int, to_x: int, to_y: int) -> str:
    """Return an arrow to the right or down."""
    head = "l-6,-4 m6,4 l-6,4" if y == to_y else "l-4,-6 m4,6 l4,-6"
    return f'<path d="M{x},{y} L{to_x},{to_y} {head}"/>'


def drawing(
    title: str, subject: str, steps: Sequence[tuple[str, str, str]], last: tuple[str, str]
) -> str:
    """Return the picture.

    Parameters
    ----------
    title : str
        What it shows, for those who can't see it.
    subject : str
        What the first question is about.
    steps : sequence of tuple of str
        What is asked, what happens if it is so, and more about that.
    last : tuple of str
        Two lines about what happens if nothing of it is so.
    """
    end = TOP + len(steps) * STEP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="npaccel-ladder" role="img" '
        f'viewBox="0 0 {WIDTH} {end + BOX + 4}" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text x="12" y="18">{escape(subject)}</text>',
        arrow(30, 24, 30, TOP - 2),
    ]
    for i, (question, answer, more) in enumerate(steps):
        y = TOP + i * STEP
        middle = y + BOX // 2
        lines += [
            f'<rect x="4" y="{y}" width="{ASKED}" height="{BOX}" rx="6"/>',
            f'<text x="12" y="{middle + 4}">{escape(question)}</text>',
            arrow(ASKED + 4, middle, ASKED + 46, middle),
            f'<text class="small" x="{ASKED + 10}" y="{middle - 5}">yes</text>',
            f'<rect class="answer" x="{ASKED + 48}" y="{y}" width="{WIDTH - ASKED - 52}" '
            f'height="{BOX}" rx="6"/>',
            f'<text x="{ASKED + 56}" y="{y + 17}">{escape(answer)}</text>',
            f'<text class="small" x="{ASKED + 56}" y="{y + 33}">{escape(more)}</text>',
            arrow(30, y + BOX, 30, y + STEP - 2),
            f'<text class="small" x="38" y="{y + BOX + 15}">no</text>',
        ]
    lines += [
        f'<rect class="answer" x="4" y="{end}" width="{WIDTH - 8}" height="{BOX}" rx="6"/>',
        f'<text x="12" y="{end + 17}">{escape(last[0])}</text>',
        f'<text x="12" y="{end + 33}">{escape(last[1])}</text>',
    ]
    return "\n".join([*lines, "</svg>", ""])


__all__ = ["drawing"]
