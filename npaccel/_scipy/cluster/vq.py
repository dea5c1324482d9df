"""`scipy.cluster.vq.vq`: for each vector the nearest of a book of codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._scipy.dispatch.table import in_numpy
from npaccel._scipy.linalg._common import not_finite
from npaccel._scipy.spatial._distance import Table, squared, total


def _refused(bound: dict[str, Any]) -> str:
    return not_finite(bound["obs"], bound["code_book"]) if bound["check_finite"] else ""


@in_numpy("cluster.vq.vq", arrays=("obs", "code_book"), host_reason=_refused, tolerance=1024)
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> Any:
    """Return the number of the nearest code for each vector, and the distance from it."""
    if obs.ndim not in (1, 2) or obs.ndim != code_book.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    floats = np.result_type(obs.dtype, code_book.dtype)
    dtype = np.float32 if floats == np.float32 else np.float64
    A, B = obs.astype(dtype), code_book.astype(dtype)
    if A.ndim == 1:
        A, B = A[:, None], B[:, None]
    if A.shape[1] != B.shape[1] or A.dtype.kind == "c":
        raise ValueError("different numbers of features, or complex ones")
    table = total(Table(A.shape[1]), A, B, squared)
    code, distance = np.argmin(table, axis=1), np.min(table, axis=1)
    return code.astype(np.int32 if floats.kind == "f" else np.int64), np.sqrt(distance)
