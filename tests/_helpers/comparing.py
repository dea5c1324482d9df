"""Compare a jitted function with plain NumPy on copies of the same arguments."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from typing import Any

import numpy as np
import torch

import npaccel
from npaccel import errors


def assert_same(got: Any, wanted: Any, where: str = "result", rtol: float | None = None) -> None:
    """Fail unless two results are alike: type, dtype, shape, values, structure."""
    assert type(got) is type(wanted), f"{where}: {type(got)} instead of {type(wanted)}"
    if isinstance(wanted, np.ndarray | np.generic):
        assert got.dtype == wanted.dtype, f"{where}: dtype {got.dtype} instead of {wanted.dtype}"
        assert got.shape == wanted.shape, f"{where}: shape {got.shape} instead of {wanted.shape}"
        if wanted.dtype.kind in "fc":
            eps = np.finfo(wanted.dtype).eps
            np.testing.assert_allclose(
                got, wanted, rtol=rtol or 16 * eps, atol=rtol or 16 * eps, err_msg=where
            )
        else:
            np.testing.assert_array_equal(got, wanted, err_msg=where)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted), where
        for name in wanted:
            assert_same(got[name], wanted[name], f"{where}[{name!r}]", rtol)
    elif isinstance(wanted, tuple | list):
        assert len(got) == len(wanted), where
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            assert_same(a, b, f"{where}[{i}]", rtol)
    elif dataclasses.is_dataclass(wanted):
        for field in dataclasses.fields(wanted):
            name = field.name
            assert_same(getattr(got, name), getattr(wanted, name), f"{where}.{name}", rtol)
    else:
        assert got == wanted or (got != got and wanted != wanted), where


def check(function: Any, *args: Any, calls: int = 3, compiled: bool = True, **options: Any) -> Any:
    """Call a function plainly and jitted, several times, and compare everything.

    Parameters
    ----------
    function : callable
    *args
        Copied for every call, so that writes don't add up.
    calls : int
        How many jitted calls: the first captures, later ones take the fast path.
    compiled : bool
        Fail if anything ran uncompiled.
    **options
        Of `npaccel.jit`; ``default_float`` is "float64" unless given.

    Returns
    -------
    Jitted
    """
    options = {"default_float": "float64", "backend": "eager", **options}
    jitted = npaccel.jit(function, **options)
    wanted_args = copy.deepcopy(args)
    wanted = function(*wanted_args)
    for call in range(calls):
        got_args = copy.deepcopy(args)
        got = jitted(*got_args)
        assert_same(got, wanted, f"call {call}: result")
        assert_same(got_args, wanted_args, f"call {call}: arguments")
    if compiled:
        assert not jitted.report().fallbacks, str(jitted.report())
        assert jitted.report().graphs or not _has_arrays(args), str(jitted.report())
    return jitted


def _has_arrays(args: Any) -> bool:
    return any(isinstance(arg, np.ndarray | torch.Tensor) for arg in args)


def quiet(function, *args):
    """Call a function without the warnings of what isn't compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PerformanceWarning)
        return function(*args)
