"""Contexts that Dynamo works in, without its reports.

Read from torch/_dynamo/metrics_context.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torch._dynamo import convert_frame
from torch._dynamo.utils import dynamo_timed, get_metrics_context
from torch._guards import CompileContext, compile_context


@contextlib.contextmanager
def contexts() -> Iterator[None]:
    identity = convert_frame.get_compile_id({})
    with (
        _metrics_that_nobody_reads(),
        dynamo_timed("npaccel_capture"),
        compile_context(CompileContext(identity)),
    ):
        yield


@contextlib.contextmanager
def _metrics_that_nobody_reads() -> Iterator[None]:
    """Have Dynamo's place for metrics, which it wants, without the report at its end.

    The report writes down all of torch's settings: 7 % of the time of a small capture.
    Read from torch/_dynamo/metrics_context.py.
    """
    context = get_metrics_context()
    report, is_outermost = context._on_exit, not context.in_progress()
    if is_outermost:
        context._on_exit = lambda *_: None
    try:
        with context:
            yield
    finally:
        context._on_exit = report
