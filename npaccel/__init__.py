"""NumPy code, compiled: OpenMP C++ on every core, Triton kernels on a GPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from npaccel import errors
from npaccel._jit import Jitted, jit
from npaccel._loops.control_flow.primitives import cond, fori_loop, scan, while_loop
from npaccel._process.background import wait
from npaccel._report import Report
from npaccel._runtime import foreign_arrays, foreign_table
from npaccel._runtime.options import config, disabled, options
from npaccel._torch import check_supported
from npaccel._version import __version__
from npaccel.errors import NotCompiledError as NotCompiledError
from npaccel.errors import TransferError as TransferError
from npaccel.errors import VerificationError as VerificationError

if TYPE_CHECKING:
    from npaccel import dask as dask
    from npaccel import testing as testing
    from npaccel._check.check import check
    from npaccel._check.precision_audit import PrecisionAudit, audit_precision
    from npaccel._check.promotion_report import PromotionReport, check_promotion
    from npaccel._check.transfers import Transfers, transfers
    from npaccel._scipy.dispatch.patching import array_api
    from npaccel._sharding.arrays import gather, shard
    from npaccel._transforms.batches import vmap
    from npaccel._transforms.derivatives import (
        grad,
        hessian,
        hvp,
        jacobian,
        jvp,
        value_and_grad,
        vjp,
    )
    from npaccel._verify.verification import CheckResult

#: Modules that are imported when they're used.
_MODULES = ("dask", "scipy", "sklearn", "testing")
#: Modules of the names that are imported when they're used.
_LATER = {
    "CheckResult": "npaccel._verify.verification",
    "PrecisionAudit": "npaccel._check.precision_audit",
    "PromotionReport": "npaccel._check.promotion_report",
    "Transfers": "npaccel._check.transfers",
    "array_api": "npaccel._scipy.dispatch.patching",
    "audit_precision": "npaccel._check.precision_audit",
    "check": "npaccel._check.check",
    "check_promotion": "npaccel._check.promotion_report",
    "gather": "npaccel._sharding.arrays",
    "load_ipython_extension": "npaccel._tools.notebook",
    "shard": "npaccel._sharding.arrays",
    "transfers": "npaccel._check.transfers",
    "vmap": "npaccel._transforms.batches",
} | dict.fromkeys(
    ("grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"),
    "npaccel._transforms.derivatives",
)

__all__ = [
    "CheckResult",
    "Jitted",
    "PrecisionAudit",
    "PromotionReport",
    "Report",
    "Transfers",
    "__version__",
    "array_api",
    "audit_precision",
    "check",
    "check_promotion",
    "cond",
    "config",
    "disabled",
    "errors",
    "fori_loop",
    "gather",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "options",
    "scan",
    "shard",
    "transfers",
    "value_and_grad",
    "vjp",
    "vmap",
    "wait",
    "while_loop",
]


def __getattr__(name: str) -> Any:
    """Import what most programs don't use when it's asked for."""
    if name in _MODULES:
        return importlib.import_module(f"npaccel.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'npaccel' has no attribute {name!r}")
    found = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    errors_here = ("NotCompiledError", "TransferError", "VerificationError")
    of_any_module = (name for name in globals() if name.startswith("__"))
    return sorted({*__all__, *errors_here, *_MODULES, *of_any_module})


def _scipy_table() -> foreign_table.ForeignTable:
    from npaccel._scipy.traced import TracedScipy

    return TracedScipy()


def _call_on_dask_arrays() -> Any:
    from npaccel._dask import calls

    return calls.call


def _call_on_dtensors() -> Any:
    from npaccel._sharding import calls

    return calls.call


def _parts_of_dask_arrays() -> Any:
    from npaccel._dask import parts

    return parts.BlockParts


def _parts_of_dtensors() -> Any:
    from npaccel._sharding import parts

    return parts.RankParts


foreign_table.hand_in(_scipy_table)
foreign_arrays.hand_in("dask.array.core", "Array", _call_on_dask_arrays, _parts_of_dask_arrays)
foreign_arrays.hand_in("torch.distributed.tensor", "DTensor", _call_on_dtensors, _parts_of_dtensors)
check_supported()
