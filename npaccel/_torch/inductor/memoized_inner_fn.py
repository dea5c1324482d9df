"""Trace what an element-wise expression consists of once for each use of the whole.

Inductor keeps such an expression as a function that calls its operands' functions. An operand
that is used several times is called as often, its own operands as often again: what grows with the
depth of the expression by powers, until the code generator finds that all of it is the same. Python
needed 20 s for `a // b // a` of floats. Here an operand gives what it gave before, to the same
tracer at the same index, so that the generator is given each part once. The code that it writes is
the same, but that it counts each part once where it weighs whether vectors are worth it.

Read from torch/_inductor/{ir,lowering,loop_body,virtualized}.py of 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch._inductor.ir import ConstantBuffer, Pointwise
from torch._inductor.virtualized import V

from npaccel._torch.patching import Patch, patched

#: Attribute of an expression for its values: by the tracer's address, the tracer and its values.
_VALUES = "_npaccel_values"


@contextlib.contextmanager
def values_traced_once() -> Iterator[None]:
    """Make expressions that are traced meanwhile remember what they gave."""
    with patched(PATCHES):
        yield


def _remembering(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make_loader(self: Any) -> Callable[[Sequence[Any]], Any]:
        loader = original(self)
        by_tracer: dict[int, tuple[Any, dict[Any, Any]]] = vars(self).setdefault(_VALUES, {})

        def load(index: Sequence[Any]) -> Any:
            tracer = V.get_ops_handler()
            _, values = by_tracer.setdefault(id(tracer), (tracer, {}))
            key = (*index, ConstantBuffer.override_device)
            if key not in values:
                values[key] = loader(index)
            return values[key]

        return load

    return make_loader


PATCHES = (
    Patch(
        Pointwise, "make_loader", _remembering,
        "Inductor traces an operand as often as it's used, its own operands as often again",
        "tests/torch_layer/inductor/test_stored_values.py", read="2.13",
    ),
)  # fmt: skip

__all__ = ["values_traced_once"]
