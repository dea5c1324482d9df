"""Functions of elements whose derivative is written down, not that of the steps they take.

For what torch takes for a constant: `torch.special.modified_bessel_k0` is "non_differentiable" in
its derivatives.yaml, a gradient of zero without a word. And for functions whose steps have another
derivative than what they compute: quadratures between rounded ends, Newton's method.

In a region that is to be differentiated such a function stays one operator, which transforms have
the derivative of. What is left of it after them is its steps.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from npaccel._numpy.core.context import settings, tracing, wants_gradients
from npaccel._numpy.host.registration import operator
from npaccel._runtime.torch.transform_levels import is_differentiated, is_transformed

Tensor = torch.Tensor
#: Takes the function's tensors and returns the derivative by one of them, which has one itself.
Slope = Callable[..., Tensor]
Steps = TypeVar("Steps", bound=Callable[..., Tensor])
Pair = TypeVar("Pair", bound=Callable[..., tuple[Tensor, Tensor]])


@dataclasses.dataclass(frozen=True)
class OwnDerivative:
    """A function of tensors that broadcast, with its derivatives.

    Parameters
    ----------
    name : str
    steps : callable
        Computes it.
    slopes : sequence of callable or None
        By parameter; None: it has none, which is told.
    function : type
        Of torch's autograd.
    """

    name: str
    steps: Callable[..., Tensor]
    slopes: Sequence[Slope | None]
    function: Any

    def __call__(self, *tensors: Tensor) -> Tensor:
        """Compute it: as an operator where its derivative may be asked for later."""
        if any(is_differentiated(one) or is_transformed(one) for one in tensors):
            found: Tensor = self.function.apply(*tensors)
            return found
        if settings().is_transformed:
            return self.as_operator(*tensors)
        return self.steps(*tensors)

    def as_operator(self, *tensors: Tensor) -> Tensor:
        """Compute it as one operator."""
        found: Tensor = OF_ELEMENTS(self.name, list(tensors))
        return found


_declared: dict[str, OwnDerivative] = {}


def _steps(name: str, tensors: Sequence[Tensor]) -> Tensor:
    found = _declared[name].steps(*tensors)
    return found.clone(memory_format=torch.contiguous_format)


def _fake(name: str, tensors: Sequence[Tensor]) -> Tensor:
    shape = torch.broadcast_tensors(*tensors)[0].shape  # type: ignore[no-untyped-call]
    return tensors[0].new_empty(shape)


#: Takes a function's name and its tensors, of one dtype.
OF_ELEMENTS = operator(
    "of_elements(str name, Tensor[] tensors) -> Tensor",
    _steps,
    _fake,
    (torch.Tag.pt2_compliant_tag,),
    device="CompositeExplicitAutograd",
)


def of_name(name: str) -> OwnDerivative:
    """Return the function that an operator computes."""
    return _declared[name]


def with_slopes(*slopes: Slope | None) -> Callable[[Steps], Steps]:
    """Give a function of tensors of one dtype its derivatives, by each parameter.

    Parameters
    ----------
    *slopes : callable or None
        As in `OwnDerivative`.
    """

    def declare(steps: Steps) -> Steps:
        name = f"{steps.__module__}.{steps.__qualname__}"
        made = _declared[name] = OwnDerivative(name, steps, slopes, _function(name, slopes))

        @functools.wraps(steps)
        def call(*tensors: Tensor) -> Tensor:
            return made(*tensors)

        return call  # type: ignore[return-value]

    return declare


def pair_with_slopes(*slopes: Slope | None) -> Callable[[Pair], Pair]:
    """Give a function of two results that add to 1 the derivatives of the first.

    Parameters
    ----------
    *slopes : callable or None
        As in `OwnDerivative`.
    """
    of_second = [slope and _negated(slope) for slope in slopes]

    def declare(steps: Pair) -> Pair:
        def first(*tensors: Tensor) -> Tensor:
            return steps(*tensors)[0]

        def second(*tensors: Tensor) -> Tensor:
            return steps(*tensors)[1]

        for one in (first, second):
            one.__module__ = steps.__module__
            one.__qualname__ = f"{steps.__qualname__}.{one.__name__}"
        results = with_slopes(*slopes)(first), with_slopes(*of_second)(second)

        @functools.wraps(steps)
        def call(*tensors: Tensor) -> tuple[Tensor, Tensor]:
            if wants_gradients(*tensors):
                return results[0](*tensors), results[1](*tensors)
            return steps(*tensors)

        return call  # type: ignore[return-value]

    return declare


def _negated(slope: Slope) -> Slope:
    return lambda *tensors: -slope(*tensors)


def _function(name: str, slopes: Sequence[Slope | None]) -> Any:
    def slope_of(i: int, tensors: Sequence[Tensor]) -> Tensor:
        slope = slopes[i]
        if slope is None:
            raise NotImplementedError(f"{name} has no derivative by its parameter {i + 1}")
        # What it calls stays operators, as another derivative may follow.
        with tracing(dataclasses.replace(settings(), is_transformed=True)):
            return slope(*tensors)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(*tensors: Tensor) -> Tensor:
            return _declared[name].as_operator(*tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG004
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, cotangent: Tensor | None) -> Any:
            tensors = ctx.saved_tensors
            if cotangent is None:
                return (None,) * len(tensors)
            return tuple(
                (cotangent * slope_of(i, tensors)).sum_to_size(one.shape) if needed else None
                for i, (one, needed) in enumerate(zip(tensors, ctx.needs_input_grad, strict=True))
            )

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            tensors = ctx.saved_tensors
            parts = [
                tangent * slope_of(i, tensors)
                for i, tangent in enumerate(tangents)
                if tangent is not None
            ]
            return sum(parts[1:], parts[0])

        @staticmethod
        def vmap(info: Any, in_dims: Any, *tensors: Tensor) -> Any:  # noqa: ARG004
            rank = max(
                one.ndim - (axis is not None) for one, axis in zip(tensors, in_dims, strict=True)
            )
            aligned = [
                one if axis is None else _aligned(one.movedim(axis, 0), rank)
                for one, axis in zip(tensors, in_dims, strict=True)
            ]
            return _declared[name](*aligned), 0

    return Function


def _aligned(tensor: Tensor, rank: int) -> Tensor:
    """Give the elements of a batch so many axes."""
    ones = (1,) * (rank + 1 - tensor.ndim)
    return tensor.reshape(tensor.shape[:1] + ones + tensor.shape[1:])


__all__ = ["OF_ELEMENTS", "OwnDerivative", "of_name", "pair_with_slopes", "with_slopes"]
