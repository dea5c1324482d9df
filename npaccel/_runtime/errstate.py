"""Whether NumPy is told to raise, or to call something, where floats overflow or are divided by 0.

Compiled code does neither, so that NumPy runs calls under such settings.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

#: Settings of NumPy's that have no effect on compiled code.
WITHOUT_EFFECT = ("ignore", "warn", None)
#: Reason why NumPy runs a call.
CAUSE = (
    "numpy.errstate or numpy.seterr asks for something that compiled code doesn't do: it raises "
    "and calls nothing where NumPy would, so this call runs in NumPy"
)
ADVICE = "use 'ignore' or 'warn', and look for infinities and NaN in the results"

#: NumPy's settings: a context variable of objects that never change.
_umath = sys.modules.get("numpy._core.umath")
_variable: Any = getattr(_umath, "_extobj_contextvar", None)
#: Returns those of this context; None where they can't be had.
current = (lambda: None) if _variable is None else _variable.get
#: Settings that have no effect. A short call compares them itself, without another frame.
harmless: Any = object()


def have_effect() -> bool:
    """Whether NumPy would raise, call, print or log something in this context."""
    global harmless
    settings = current()
    if settings is harmless:
        return False
    if any(how not in WITHOUT_EFFECT for how in np.geterr().values()):
        return True
    if settings is not None:
        harmless = settings
    return False


__all__ = ["ADVICE", "CAUSE", "WITHOUT_EFFECT", "have_effect"]
