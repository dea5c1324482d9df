"""Write the code of functions of single elements once for each of their results.

Read from torch/_inductor/{lowering,ir,ops_handler}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._inductor import lowering
from torch._inductor.ir import Pointwise
from torch._inductor.virtualized import ops

from npaccel._numpy.host.elementwise import ELEMENT_FUNCTIONS, ElementFunction
from npaccel._torch.patching import registered


@contextlib.contextmanager
def element_functions_inlined() -> Iterator[None]:
    """Lower graphs meanwhile with such functions in their loops."""
    lowered = {operator: _lowered(one) for operator, one in ELEMENT_FUNCTIONS.items()}
    with registered(lowering.lowerings, lowered):
        yield


def _lowered(one: ElementFunction) -> Callable[..., Any]:
    def lower(*args: Any) -> Any:
        boxes = lowering.broadcast_tensors(*args)
        loaders = [(box.make_loader(), box.get_dtype()) for box in boxes]

        def result(i: int) -> Any:
            def inner(index: Any) -> Any:
                found = one.function(*(_Value(load(index), dtype) for load, dtype in loaders))
                return (found if isinstance(found, tuple) else (found,))[i].value

            return Pointwise.create(
                device=boxes[0].get_device(),
                dtype=one.dtypes[i],
                inner_fn=inner,
                ranges=list(boxes[0].get_size()),
            )

        results = tuple(result(i) for i in range(len(one.dtypes)))
        return results if len(results) > 1 else results[0]

    return lower


class _Value:
    """An element in generated code, which takes what a tensor takes."""

    def __init__(self, value: Any, dtype: torch.dtype) -> None:
        self.value = value
        self.dtype = dtype

    def _constant(self, number: Any) -> _Value:
        return (
            number
            if isinstance(number, _Value)
            else _Value(ops.constant(number, self.dtype), self.dtype)
        )

    def to(self, dtype: torch.dtype) -> _Value:
        return _Value(ops.to_dtype(self.value, dtype, src_dtype=self.dtype), dtype)

    def view(self, dtype: torch.dtype) -> _Value:
        return _Value(ops.to_dtype_bitcast(self.value, dtype, self.dtype), dtype)

    def __neg__(self) -> _Value:
        return _Value(ops.neg(self.value), self.dtype)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _FUNCTIONS[function](*args)


def _operator(name: str, dtype: torch.dtype | None = None, swapped: bool = False) -> Any:
    def compute(self: _Value, other: Any) -> _Value:
        operands = (self, self._constant(other))
        first, second = reversed(operands) if swapped else operands
        return _Value(getattr(ops, name)(first.value, second.value), dtype or self.dtype)

    return compute


for _name, _method in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "truediv",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift",
}.items():
    setattr(_Value, f"__{_method}__", _operator(_name))
    setattr(_Value, f"__r{_method}__", _operator(_name, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(_Value, f"__{_name}__", _operator(_name, torch.bool))


def _where(condition: _Value, x: _Value, y: _Value) -> _Value:
    return _Value(ops.where(condition.value, x.value, y.value), x.dtype)


_FUNCTIONS: dict[Any, Callable[..., _Value]] = {
    torch.where: _where,
    torch.sqrt: lambda x: _Value(ops.sqrt(x.value), x.dtype),
    torch.full_like: lambda x, number: x._constant(number),
}

__all__ = ["element_functions_inlined"]
