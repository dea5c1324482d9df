"""scikit-learn's estimators on the device that npaccel computes on, under scikit-learn's names.

``npaccel.sklearn.cluster.KMeans`` is a subclass of ``sklearn.cluster.KMeans`` with its parameters,
attributes and results. `accelerate` does the same for an estimator that is there already.
"""

from __future__ import annotations

import importlib
from typing import Any

try:
    import sklearn as _sklearn  # noqa: F401 (whether it is installed)
except ImportError as error:
    raise ImportError(
        "npaccel.sklearn needs scikit-learn: python3 -m pip install scikit-learn"
    ) from error

from npaccel._sklearn.dispatch.accelerate import accelerate, to_host
from npaccel._sklearn.dispatch.listing import SUBMODULES as _SUBMODULES
from npaccel._sklearn.dispatch.patching import accelerated
from npaccel._sklearn.dispatch.report import EstimatorReport, Step

__all__ = ["EstimatorReport", "Step", "accelerate", "accelerated", "to_host"]


def __getattr__(name: str) -> Any:
    """Import a submodule when it's asked for."""
    if name in _SUBMODULES:
        return importlib.import_module(f"npaccel.sklearn.{name}")
    raise AttributeError(f"module 'npaccel.sklearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in _SUBMODULES if "." not in name)})
