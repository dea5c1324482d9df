"""The report of a function: what is collected for it, and how it's shown.

In: what each stage notes in a function's `Log`. Out: a `Report`, as text, HTML or data.

`log` collects, `details` has what a graph notes of its lines, `report_data` and `report` answer,
`source_lines` says what runs each line, `text` and `html` show it; `describe` writes arguments,
`suggestions` what to write instead. Read `log` first, then `report`.
"""

from npaccel._report.log import Fallback, Graph, Log, Loop, Place
from npaccel._report.report import Report

__all__ = ["Fallback", "Graph", "Log", "Loop", "Place", "Report"]
