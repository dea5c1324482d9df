"""Calls of functions that are others under a second name, or in no module of rows."""

CALLS = {
    "special.digamma": ["positive"],
    "special.jn": ["1, positive"],
    "stats.lmoment": ["x"],
}
