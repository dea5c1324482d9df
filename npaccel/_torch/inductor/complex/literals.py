"""Write complex numbers into generated code so that it reads them as they are.

Python's ``repr`` of ``complex(-0.0, -0.0)`` is ``(-0-0j)``, which is ``0j`` as an expression, and
that of a number with a NaN isn't one at all.

Read from torch/fx/graph.py and torch/_inductor/codegen/wrapper.py of 2.11 and 2.13.
"""

from __future__ import annotations

from typing import Any

import torch._inductor.codegen.wrapper
import torch.fx.graph

from npaccel._torch.patching import Patch

#: Modules that write numbers into code, by `repr` of what they are.
_WRITERS = (torch.fx.graph, torch._inductor.codegen.wrapper)


def _literal(value: Any) -> str:
    if type(value) is not complex:
        return repr(value)
    return f"complex({_part(value.real)}, {_part(value.imag)})"


def _part(value: float) -> str:
    return f"float('{value!r}')" if value - value != 0 else repr(value)


def _repr(_: Any) -> Any:
    return _literal


_WHY = "`repr` of a complex number isn't Python for it where parts are -0.0 or NaN"
_TEST = "tests/torch_layer/inductor/test_complex_constants.py"

PATCHES = tuple(Patch(module, "repr", _repr, _WHY, _TEST, is_new=True) for module in _WRITERS)

__all__ = ["PATCHES"]
