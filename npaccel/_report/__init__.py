"""The report of a function: what is collected for it, and how it's told."""

from npaccel._report._log import (
    Details,
    Fallback,
    Graph,
    LineCode,
    Log,
    Loop,
    Narrowed,
    Native,
    Place,
    Timing,
)
from npaccel._report._report import Report

__all__ = [
    "Details",
    "Fallback",
    "Graph",
    "LineCode",
    "Log",
    "Loop",
    "Narrowed",
    "Native",
    "Place",
    "Report",
    "Timing",
]
