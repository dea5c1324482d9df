"""Draw who runs a loop, as an SVG file.

    python tools/draw_loops.py docs/_static/loops.svg

Pages have it as it is.
"""

from __future__ import annotations

import functools

import ladder
import svg

STEPS = (
    ("Short, over known values?", "unrolled into the code around it", "for axis in (0, 1)"),
    ("Over single elements?", "Numba compiles the whole loop", "for i in range(n): s += x[i]"),
    (
        "No graph of its body?",
        "Python runs it; the report says why",
        "print(i), an object of a library",
    ),
    (
        "Is NumPy quicker at it?",
        "NumPy goes on with the iterations",
        "the first were timed both ways",
    ),
)
LAST = (
    "The body is compiled once, and Python counts:",
    "any number of iterations needs no further compilation",
)

drawing = functools.partial(
    ladder.drawing, "Who runs a loop", "for ... in ...:   while ...:", STEPS, LAST
)
main = svg.command(drawing)

if __name__ == "__main__":
    main()
