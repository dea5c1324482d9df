"""The report of a function: what is collected for it, and how it's told."""

from npaccel._report.log import Fallback, Graph, Log, Loop, Place
from npaccel._report.report import Report

__all__ = ["Fallback", "Graph", "Log", "Loop", "Place", "Report"]
