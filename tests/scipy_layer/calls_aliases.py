"""Calls of functions that are others under a second name, and of what stands in no chapter."""

CALLS = {
    "special.digamma": ["positive"],
    "special.jn": ["1, positive"],
    "stats.lmoment": ["x"],
}
