"""Assertions on compiled functions, for test suites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npaccel._check.check import check
from npaccel._check.promotion_report import check_promotion

__all__ = ["assert_no_promotion_surprises", "assert_same_as_numpy"]


def assert_same_as_numpy(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
    """Assert that a compiled function does what plain NumPy does.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one.
    *args, **kwargs
        Its arguments; they aren't changed.

    Raises
    ------
    VerificationError
        An `AssertionError` with the table of `npaccel.check`.

    Examples
    --------
    >>> import numpy as np
    >>> from npaccel.testing import assert_same_as_numpy
    >>> assert_same_as_numpy(lambda x: x - x.mean(), np.arange(4.0))
    """
    check(function, *args, **kwargs).raise_for_difference()


def assert_no_promotion_surprises(
    function: Callable[..., Any],
    /,
    *args: Any,
    allow: tuple[str, ...] = ("narrowed",),
    **kwargs: Any,
) -> None:
    """Assert that no operation's dtype surprises: see `npaccel.check_promotion`.

    Parameters
    ----------
    function : callable
        A function, or what `npaccel.jit` made of one.
    *args, **kwargs
        Its arguments; they aren't changed.
    allow : tuple of str, default ("narrowed",)
        Kinds of findings that are no surprise: "changed", "narrowed", "lossy",
        "widened", "overflow".

    Raises
    ------
    AssertionError
        With the findings, their lines and what to write instead.

    Examples
    --------
    >>> import numpy as np
    >>> from npaccel.testing import assert_no_promotion_surprises
    >>> assert_no_promotion_surprises(lambda x: x * 2.5, np.ones(3, np.float32))
    """
    report = check_promotion(function, *args, **kwargs)
    found = report.surprises(allow=allow)
    if found:
        raise AssertionError("\n".join([f"{report.name}: dtypes that surprise", *map(str, found)]))
