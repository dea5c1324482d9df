"""Compute sizes and dtypes of common operations on fake tensors in a shorter way.

Most of a capture's time goes into operations on fake tensors of symbolic sizes: the same sizes are
multiplied and compared again for each, through torch's Python references. Two things spare that.
A size that was computed once is taken from a table. And the result of an operation on elements is
made at once where its operands are contiguous, and their sizes equal as expressions: its dtype is
the one that torch found for the first operation with operands of the same kinds.

Read from torch/_subclasses/fake_tensor.py and torch/fx/experimental/sym_node.py of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.sym_node import SymNode

from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

aten = torch.ops.aten

#: Methods of a SymNode whose results depend on nothing but the two expressions.
_PURE = ("_add", "_sub", "_mul", "_eq", "_ne", "_ge", "_gt", "_le", "_lt", "_sym_max", "_sym_min")
#: Operators that give one element for each of the first operand's, beside those torch lists.
_LIKE_FIRST = frozenset(
    {
        aten._to_copy.default,
        aten.clone.default,
        aten.copy_.default,
        aten.cumprod.default,
        aten.cumsum.default,
    }
)
#: Operations whose meta function raises for some numbers.
_BY_VALUE = frozenset(
    {
        aten.pow.Scalar,
        aten.pow.Tensor_Scalar,
        aten.float_power.Scalar,
        aten.float_power.Tensor_Scalar,
    }
)
#: Memory orders that a contiguous operand doesn't have.
_OTHER_ORDERS = (torch.channels_last, torch.channels_last_3d)
_NUMBERS = (float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
#: The results' dtypes, by operation and kinds of operands. None: torch makes another layout.
_dtypes: dict[Hashable, torch.dtype | None] = {}


@contextlib.contextmanager
def quick_fakes() -> Iterator[None]:
    """Take the short way in this thread until the block ends."""
    active.quick_fakes += 1
    try:
        yield
    finally:
        active.quick_fakes -= 1


def _remembering(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(original)
    def compute(self: Any, other: Any) -> Any:
        env = self.shape_env
        if (
            not active.quick_fakes
            or env is None
            or type(other) is not SymNode
            or self.pytype is not int
            or other.pytype is not int
            or self.fx_node
            or get_proxy_mode() is not None
        ):
            return original(self, other)
        memo = vars(env).setdefault("_npaccel_memo", {})
        # A result has a hint, too, and knows whether it's a sum of symbols.
        key = (
            original, self.expr, other.expr, self._hint, other._hint,
            self._optimized_summation, other._optimized_summation,
        )  # fmt: skip
        found = memo.get(key)
        if found is None:
            found = memo[key] = original(self, other)
        return found

    return compute


def _dispatching(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def dispatch(
        self: Any,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        operands = None
        if active.quick_fakes and _suits(func) and not self.propagate_real_tensors:
            operands = _operands(self, func, args, kwargs)
        if operands is None:
            return original(self, func, types, args, kwargs)
        if func is aten.copy_.default:
            return args[0]
        kinds, like = operands
        try:
            dtype = _dtypes[kinds]
        except KeyError:
            result = original(self, func, types, args, kwargs)
            _dtypes[kinds] = result.dtype if _is_as_expected(result, like) else None
            return result
        if dtype is None:
            return original(self, func, types, args, kwargs)
        return _made(like, dtype)

    return dispatch


@functools.cache
def _suits(func: Any) -> bool:
    """Whether an operation gives one new element for each of its operands' elements."""
    if func is aten.copy_.default:
        return True
    if not isinstance(func, torch._ops.OpOverload) or func in _BY_VALUE:
        return False
    schema = func._schema
    returned = schema.returns
    return (
        (func in _LIKE_FIRST or torch.Tag.pointwise in func.tags)
        and not schema.is_mutable
        and len(returned) == 1
        and str(returned[0].type) == "Tensor"
        and returned[0].alias_info is None
        and torch.Tag.nondeterministic_seeded not in func.tags
    )


def _operands(
    mode: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Hashable, Any] | None:
    """The kinds of the operands, and one with the result's sizes; None: torch has to do it."""
    kinds: list[Hashable] = [func, torch.get_default_dtype(), *kwargs]
    like: Any = None
    for value in (*args, *kwargs.values()):
        kind = _kind(value, mode)
        if kind is None:
            return None
        kinds.append(kind)
        if isinstance(value, torch.Tensor):
            if like is None or (like.ndim == 0 and value.ndim):
                like = value
            elif value.ndim and not _same_sizes(value.shape, like.shape):
                return None
            if value.fake_device != like.fake_device:
                return None
    if like is None or (func in _LIKE_FIRST and like is not args[0]):
        return None
    return tuple(kinds), like


def _kind(value: Any, mode: Any) -> Hashable:
    """Return what decides on the dtype of a result; None where that isn't known."""
    if type(value) is FakeTensor:
        known = (
            value.fake_mode is mode
            and value.constant is None
            and value.layout is torch.strided
            and not value.is_conj()
            and not value.is_neg()
            and _is_contiguous(value)
        )
        return (value.dtype, value.ndim > 0) if known else None
    if value is None or isinstance(value, bool | str | torch.dtype | torch.memory_format):
        return None if value in _OTHER_ORDERS else (type(value), value)
    if isinstance(value, int):
        return (int, value < 0, value.bit_length())
    return (type(value),) if isinstance(value, _NUMBERS) else None


def _same(one: Any, other: Any) -> bool:
    """Whether two sizes are equal as expressions."""
    if isinstance(one, int) or isinstance(other, int):
        return type(one) is type(other) and bool(one == other)
    first, second = one.node, other.node
    if type(first) is not SymNode or type(second) is not SymNode:
        return False
    return first is second or bool(first.expr == second.expr)


def _same_sizes(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(_same, one, other))


def _is_contiguous(value: torch.Tensor) -> bool:
    """Whether an array is contiguous for all sizes, without a guard on any."""
    if not value._has_symbolic_sizes_strides:  # type: ignore[attr-defined]
        return value.is_contiguous()
    expected: Any = 1
    for size, stride in zip(reversed(value.shape), reversed(value.stride()), strict=True):
        if not _same(stride, expected):
            return False
        expected = size * expected
    return True


def _made(like: Any, dtype: torch.dtype) -> FakeTensor:
    with torch._C._DisableTorchDispatch():
        result = torch.empty(like.shape, dtype=dtype, device="meta")
    return FakeTensor(like.fake_mode, result, like.fake_device)


def _is_as_expected(result: Any, like: Any) -> bool:
    if type(result) is not FakeTensor or result.fake_device != like.fake_device:
        return False
    made = _made(like, result.dtype)
    return _same_sizes(result.shape, made.shape) and _same_sizes(result.stride(), made.stride())


_SLOW = "torch computes the same sizes and dtypes again for each operation"
_TEST = "tests/torch_layer/dynamo/test_fake_arithmetic.py"

PATCHES = (
    *(Patch(SymNode, name, _remembering, _SLOW, _TEST) for name in _PURE),
    Patch(FakeTensorMode, "dispatch", _dispatching, _SLOW, _TEST),
)

__all__ = ["PATCHES", "quick_fakes"]
