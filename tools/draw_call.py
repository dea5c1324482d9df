"""Draw the way of a call, as an SVG file.

    python tools/draw_call.py docs/_static/call.svg

Pages have it as it is.
"""

from __future__ import annotations

import functools

import ladder
import svg

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

drawing = functools.partial(ladder.drawing, "What becomes of a call", "f(x, y)", STEPS, LAST)
main = svg.command(drawing)

if __name__ == "__main__":
    main()
