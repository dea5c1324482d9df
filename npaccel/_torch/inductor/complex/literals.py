"""Write complex numbers into generated code so that it reads them as they are.

Python's ``repr`` of ``complex(-0.0, -0.0)`` is ``(-0-0j)``, which is ``0j`` as an expression, and
that of a number with a NaN isn't one at all.

Read from torch/fx/graph.py and torch/_inductor/codegen/wrapper.py of 2.11 and 2.13.
"""

from __future__ import annotations

from typing import Any

import torch._inductor.codegen.wrapper
import torch.fx.graph

#: Where numbers are written into code, by `repr` of what they are.
_WRITERS = (torch.fx.graph, torch._inductor.codegen.wrapper)


def _literal(value: Any) -> str:
    if type(value) is not complex:
        return repr(value)
    return f"complex({_part(value.real)}, {_part(value.imag)})"


def _part(value: float) -> str:
    return f"float('{value!r}')" if value - value != 0 else repr(value)


def write_complex_numbers_exactly() -> None:
    """Let graphs and Inductor's code have complex numbers as calls of ``complex``."""
    for module in _WRITERS:
        module.repr = _literal  # type: ignore[attr-defined]


__all__ = ["write_complex_numbers_exactly"]
