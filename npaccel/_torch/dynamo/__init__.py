"""Capture a Python function as one graph with Dynamo.

In: a function and arguments as tensors. Out: a `capture_record.Capture`: graph, guards, what the
graph's inputs and outputs are; or a `CaptureError` with line and reason.

`capture` asks Dynamo directly, without its frame hook; `graph_breaks` uses the hook for functions
that aren't one graph. `install` patches Dynamo, once in a process; the patches act in threads that
capture for npaccel (`state`). `reads` notes what was read, so that nothing stale is kept. `numpy`
and `python` hold the patches. Read `capture` first.
"""
