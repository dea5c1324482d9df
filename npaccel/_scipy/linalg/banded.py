"""Equations with bands, which LAPACK solves on the host, also within a graph."""

from __future__ import annotations

import functools
from typing import Any

import torch

from npaccel._numpy.host import scipy_linalg as host
from npaccel._scipy.dispatch.table import traced

_ROW_BY_ROW = "elimination in a band goes row by row"


def _on_host(bound: dict[str, Any]) -> str:
    if any(bound.get(name) for name in ("overwrite_ab", "overwrite_b")):
        return "it may write to its arguments"
    return "" if bound["check_finite"] else "it may have values that aren't finite"


def _floats(*arrays: Any) -> list[torch.Tensor]:
    """Return arrays in LAPACK's dtypes: of whole numbers and half floats it is float64."""
    return [
        array if array.dtype in (torch.float32, torch.float64) or array.is_complex()
        else array.to(torch.float64)
        for array in arrays
    ]  # fmt: skip


_of_bands = functools.partial(
    traced, arrays=("ab", "b"), host_reason=_on_host, on_tensors=True, reason=_ROW_BY_ROW
)


@_of_bands("linalg.solve_banded")
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve equations of which the bands are given."""
    lower, upper = l_and_u
    ab, b = _checked(ab, b, int(lower) + int(upper) + 1)
    return host.solve_banded(ab, b, int(lower), int(upper))


@_of_bands("linalg.solveh_banded")
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve Hermitian positive definite equations of which the bands on one side are given."""
    ab, b = _checked(ab, b, ab.shape[0])
    return host.solveh_banded(ab, b, bool(lower))


def _checked(ab: Any, b: Any, bands: int) -> list[torch.Tensor]:
    if ab.device.type != "cpu":
        raise ValueError("LAPACK is on the host")
    if ab.ndim != 2 or b.ndim not in (1, 2) or ab.shape[0] != bands or ab.shape[1] != b.shape[0]:
        raise ValueError("the shapes of ab and b don't fit")
    return _floats(ab, b)
