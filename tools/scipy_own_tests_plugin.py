"""Plugin of `scipy_own_tests` for pytest: `npaccel.array_api`, and a line for each test."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest


def _enter() -> None:
    """Have SciPy's names take tensors from here on."""
    from scipy._lib import _array_api

    import npaccel
    from npaccel._scipy.dispatch import listing

    npaccel.config.backend = os.environ["SCIPY_OWN_TESTS_BACKEND"]
    for module in listing.SUBMODULES:
        importlib.import_module(f"scipy.{module}")
    npaccel.array_api.install()
    # Tests are marked by what the table says of the function that they name.
    table: dict[Any, Any] = _array_api.xp_capabilities_table
    for module in listing.SUBMODULES:
        public = importlib.import_module(f"scipy.{module}")
        for name in public.__all__:
            function = getattr(public, name)
            original = getattr(function, listing.ORIGINAL, None)
            if original is not None and original in table:
                table[function] = table[original]


if os.environ["SCIPY_OWN_TESTS_WAY"] == "npaccel":
    _enter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write what became of a part of a test."""
    if report.when != "call" and report.passed:
        return
    outcome = "xfailed" if report.skipped and hasattr(report, "wasxfail") else report.outcome
    crash = getattr(report.longrepr, "reprcrash", None)
    why = " ".join(crash.message.split())[:400] if crash is not None and report.failed else ""
    with Path(os.environ["SCIPY_OWN_TESTS_OUTCOMES"]).open("a", encoding="utf-8") as file:
        print(json.dumps([report.nodeid, outcome, why]), file=file, flush=True)
