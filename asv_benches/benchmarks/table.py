"""Every row of npaccel's table that is compiled, against NumPy, with a million elements."""

from __future__ import annotations

import contextlib
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .calls import DTYPES, expression, more_calls, names, operands
from .common import PAUSE, build, samples


@contextlib.contextmanager
def no_remarks() -> Iterator[None]:
    """Keep quiet about overflows, and about all that NumPy deprecates."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def prepare(text: str, dtype: str, implementation: str) -> Callable[[], Any]:
    """Return a call without arguments, compiled and warmed up.

    Raises
    ------
    NotImplementedError
        If NumPy has no such call for the dtype, or npaccel doesn't compile it.
    """
    with no_remarks():
        function, arguments = operands(text, dtype)
        try:
            function(*arguments)
        except TypeError as error:
            raise NotImplementedError(f"{text} of {dtype}: {error}") from error
        options = {"strict": True, "default_float": "float64"} if implementation != "numpy" else {}
        call = build(function, implementation, **options)
        function, arguments = operands(text, dtype)
        for _ in range(3):
            try:
                call(*arguments)
            except Exception as error:
                if type(error).__name__ != "NotCompiledError":
                    raise
                raise NotImplementedError(f"{text} of {dtype}: {error}") from error

    def run() -> Any:
        with np.errstate(all="ignore"):
            return call(*arguments)

    return run


class TableRow:
    """One call of one row of the table."""

    params = [["numpy", "npaccel"], names(), list(DTYPES)]
    param_names = ["implementation", "row", "dtype"]
    unit = "seconds"

    def setup(self, implementation: str, row: str, dtype: str) -> None:
        text = more_calls().get(row) or expression(row)
        self.call = prepare(text, dtype, implementation)
        time.sleep(PAUSE)

    def track_call(self, *_: Any) -> float:
        """Return the median seconds per call."""
        with no_remarks():
            return statistics.median(samples(self.call))
