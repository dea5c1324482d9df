"""Questions about sizes that may be symbolic, and about memory.

Read from torch/fx/experimental/symbolic_shapes.py and torch/_subclasses/fake_tensor.py of 2.11
and 2.13, torch/_dynamo/decorators.py of 2.11 to 2.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch._subclasses.fake_tensor import FakeTensor

from npaccel._runtime.error_translation import refusal

F = TypeVar("F", bound=Callable[..., Any])

#: Sizes and the like that are known while code runs; torch's module for them imports SymPy.
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
#: An attribute of errors that NumPy raises for values.
_MARK = "npaccel_refused"


def surely(condition: Any) -> bool:
    """Whether a condition on sizes holds; False where that depends on the data.

    Parameters
    ----------
    condition : bool or torch.SymBool
        A comparison of sizes. Where it can be decided from the sizes of the
        traced call, later calls are guarded to agree.
    """
    if not isinstance(condition, torch.SymBool):
        return bool(condition)
    from torch.fx.experimental.symbolic_shapes import guard_or_false  # Has come with the size.

    return bool(guard_or_false(condition))


def is_proven(condition: Any) -> bool:
    """Whether a condition on sizes follows from what the graph asserts of them, without a guard."""
    if not isinstance(condition, torch.SymBool):
        return bool(condition)
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return bool(statically_known_true(condition))


def assume(condition: Any, otherwise: str) -> None:
    """Compile for sizes of which a condition holds; NumPy runs calls for which it doesn't.

    Parameters
    ----------
    condition : bool or torch.SymBool
        A comparison of sizes that depend on the data.
    otherwise : str
        What is the case where it doesn't hold.
    """
    torch._check(condition, lambda: f"Runtime assertion failed: {otherwise}")  # type: ignore[no-untyped-call]


def holds_here(condition: Any, unusual: str) -> bool:
    """Whether an unusual condition on sizes holds.

    Parameters
    ----------
    condition : bool or torch.SymBool
        A comparison of sizes. Where it depends on the data, code is compiled for sizes for
        which it doesn't hold, and NumPy runs calls for which it does.
    unusual : str
        What is the case where it holds.
    """
    if depends_on_data(condition):
        assume(torch.sym_not(condition), unusual)  # type: ignore[no-untyped-call]
        return False
    return bool(condition)


def raise_unless(condition: torch.Tensor, otherwise: str) -> None:
    """Have compiled code raise RuntimeError where a value isn't true.

    Parameters
    ----------
    condition : torch.Tensor
        Of dtype bool, without dimensions.
    otherwise : str
        The error's text.
    """
    torch.ops.aten._assert_async.msg(condition, otherwise)


def refuse_where(wrong: torch.Tensor, error: Exception) -> None:
    """Raise NumPy's error if one of some values is wrong, on a CPU.

    While code is traced an assertion is made, at which NumPy runs the call and says what is wrong.
    A GPU can't be used any more after a failed assertion; nobody looks there.

    Parameters
    ----------
    wrong : torch.Tensor
        Of dtype bool.
    error : Exception
        What NumPy raises.
    """
    if wrong.device.type != "cpu":
        return
    if is_traced(wrong):
        raise_unless(~torch.any(wrong), refusal(error))
    elif wrong.any():
        setattr(error, _MARK, True)
        raise error


def raise_refusal(error: Exception) -> None:
    """Raise what compiled code raises in place of an error of `refuse_where`, if it is one."""
    if getattr(error, _MARK, False):
        raise RuntimeError(refusal(error)) from error


def is_traced(x: torch.Tensor) -> bool:
    """Whether a tensor only stands for values that come later."""
    if torch.compiler.is_compiling() or type(x) is not torch.Tensor:
        return True
    return bool(torch._is_functional_tensor(x))  # In a region of a transform.


def depends_on_data(x: Any) -> bool:
    """Whether a size or an index is known only while the code runs."""
    if not isinstance(x, _SYMBOLIC):
        return False
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    return bool(free_unbacked_symbols(x))


def traced_as_constant(function: F) -> F:
    """Have Dynamo call a function while it traces, and take the result as a constant.

    `torch.compiler.assume_constant_result` does so, but imports Dynamo first.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def leave_unbound(found: Any) -> None:
    """Keep sizes that depend on the data within one node of a graph.

    Parameters
    ----------
    found : object
        What the node computed: sizes that occur in it stay known. Or what it wrote to.
    """
    first = found[0] if isinstance(found, tuple | list) and found else found
    if not isinstance(first, FakeTensor) or first.fake_mode.shape_env is None:
        return
    env = first.fake_mode.shape_env
    env.ignorable_fresh_unbacked_symbols.extend(env.pending_fresh_unbacked_symbols)


def share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether one tensor may be a view of what the other is a view of."""
    return bool(torch._C._is_alias_of(a, b))  # type: ignore[attr-defined]


__all__ = [
    "assume",
    "depends_on_data",
    "holds_here",
    "is_proven",
    "is_traced",
    "leave_unbound",
    "raise_refusal",
    "raise_unless",
    "refuse_where",
    "share_memory",
    "surely",
    "traced_as_constant",
]
