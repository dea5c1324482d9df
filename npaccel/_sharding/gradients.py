"""Calls with DTensors that require gradients: torch's autograd goes through them.

Forward is the call as ever. Backward is a call of another function, which computes the first one
again and its derivative: the gradient of the inner product of results and cotangents. It's captured
for whole arrays, so that collectives of the way back follow as those of any function do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from npaccel._compiler.function_spec import FunctionSpec
from npaccel._jit import jit
from npaccel._runtime.torch import layout
from npaccel._runtime.torch.local_parts import entering
from npaccel._runtime.transform_leaves import build, flatten, is_real_float
from npaccel._transforms.derivatives import grad
from npaccel.errors import UnsupportedArrayError

#: Options that the way back is compiled with, too.
_OPTIONS = ("backend", "cache", "default_float", "loops", "rng")


class Differentiated:
    """Make a function's calls with DTensors that require gradients.

    Parameters
    ----------
    spec : FunctionSpec
    call : callable
        Makes calls with DTensors that don't.
    effects : callable
        Says why a call that it has made can't be computed again; "" if it can, None if it hasn't
        made one.
    """

    def __init__(
        self,
        spec: FunctionSpec,
        call: Callable[[Sequence[Any]], Any],
        effects: Callable[[Sequence[Any]], str | None],
    ) -> None:
        self.spec, self.call, self.effects = spec, call, effects
        self._backs: dict[Any, Callable[..., Any]] = {}

    def refused(self, why: str) -> UnsupportedArrayError:
        """Return the error for a call that isn't differentiated."""
        return UnsupportedArrayError(
            f"{self.spec.name}: a DTensor requires gradients, which aren't computed, because "
            f"{why}; call it under torch.no_grad(), or differentiate with npaccel.grad"
        )

    def __call__(self, values: Sequence[Any]) -> Any:
        """Make a call."""
        leaves: list[Any] = []
        structure = flatten(tuple(values), leaves)
        asks = [isinstance(one, torch.Tensor) and one.requires_grad for one in leaves]
        wanted = [i for i, asked in enumerate(asks) if asked]
        if any(not isinstance(leaves[i], DTensor) for i in wanted):
            raise self.refused("so does a tensor that isn't a DTensor, which each rank has alone")
        others = [None if asked else _kept(one) for one, asked in zip(leaves, asks, strict=True)]
        record = _Record(structure, tuple(wanted), others)
        found = _Call.apply(self, record, *[leaves[i] for i in wanted])  # type: ignore[no-untyped-call]
        results = list(record.results)
        for place, one in zip(record.places, found, strict=True):
            results[place] = one
        for place, argument in record.arguments:
            results[place] = leaves[argument]
        return build(record.result, results)

    def back(self, record: _Record, given: Sequence[Any], cotangents: Sequence[Any]) -> Any:
        """Return the gradients of the DTensors that require them."""
        key = repr((record.structure, record.wanted, record.differentiable))
        back = self._backs.get(key)
        if back is None:
            options = {name: getattr(self.spec.options, name) for name in _OPTIONS}
            loss = _product(self.spec, record.structure, record.wanted, record.differentiable)
            loss.__name__ = loss.__qualname__ = self.spec.function.__name__
            back = self._backs.setdefault(key, grad(jit(**options)(loss)))
        return back(tuple(given), tuple(record.others), tuple(cotangents))


@dataclasses.dataclass
class _Record:
    """A call whose way back may be asked for.

    Parameters
    ----------
    structure : object
        Of the arguments.
    wanted : tuple of int
        The leaves of the arguments that require gradients.
    others : list
        The other leaves, and None in place of these.
    results : list
        Leaves of the result.
    result : object
        Its structure.
    places, differentiable : tuple of int
        Those of them that torch is told of, and that have gradients.
    arguments : list of (int, int)
        Those that are arguments, and which ones.
    """

    structure: Any
    wanted: tuple[int, ...]
    others: list[Any]
    results: list[Any] = dataclasses.field(default_factory=list)
    result: Any = None
    places: tuple[int, ...] = ()
    differentiable: tuple[int, ...] = ()
    arguments: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def values(self, given: Sequence[Any]) -> Any:
        """Return the arguments with other DTensors in place of those that require gradients."""
        leaves = list(self.others)
        for place, one in zip(self.wanted, given, strict=True):
            leaves[place] = one
        return build(self.structure, leaves)


class _Call(torch.autograd.Function):
    """A call, as torch's autograd knows it."""

    @staticmethod
    def forward(ctx: Any, own: Differentiated, record: _Record, *wanted: Any) -> Any:
        given = [one.detach() for one in wanted]
        if own.effects(record.values(given)) is None:  # It may write to them.
            given = [one.clone() for one in given]
        values = record.values(given)
        why = own.effects(values)
        result = None if why else own.call(values)
        why = why or own.effects(values)
        if why:
            raise own.refused(why)
        record.result = flatten(result, record.results)
        arguments = {id(one): place for one, place in zip(given, record.wanted, strict=True)}
        known = list(enumerate(record.results))
        record.arguments = [(i, arguments[id(one)]) for i, one in known if id(one) in arguments]
        made = [i for i, one in known if isinstance(one, DTensor) and id(one) not in arguments]
        record.places = tuple(made)
        record.differentiable = tuple(i for i in made if is_real_float(record.results[i]))
        found = tuple(record.results[i] for i in made)
        ctx.own, ctx.record = own, record
        ctx.save_for_backward(*wanted, *(one for one in record.others if _is_tensor(one)))
        ctx.metas = [(one.shape, one.dtype, one.placements, one.device_mesh) for one in found]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(one for one in found if not is_real_float(one)))
        record.results = [None if i in made else one for i, one in known]
        return found

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        record: _Record = ctx.record
        saved = list(ctx.saved_tensors)  # Raises if one was written to meanwhile.
        given = saved[: len(record.wanted)]
        if not torch.is_grad_enabled():  # Else the way back is differentiated in its turn.
            given = [one.detach() for one in given]
        pairs = zip(record.places, cotangents, ctx.metas, strict=True)
        filled = [
            _zeros(*meta) if one is None else one
            for place, one, meta in pairs
            if place in record.differentiable
        ]
        found = ctx.own.back(record, given, filled)
        return (
            None,
            None,
            *(
                one.redistribute(like.device_mesh, entering(like))
                for one, like in zip(found, given, strict=True)
            ),
        )


def _product(
    spec: FunctionSpec, structure: Any, wanted: Sequence[int], places: Sequence[int]
) -> Callable[..., Any]:
    """Return the inner product of results and cotangents, as a function of some leaves."""
    function, binding = spec.function, spec.binding
    count, names = len(binding.positional), binding.keyword_only
    more, named = binding.var_positional is not None, binding.var_keyword is not None

    def product(given: Any, others: Any, cotangents: Any) -> Any:
        leaves = list(others)
        for place, one in zip(wanted, given, strict=True):
            leaves[place] = one
        values = list(build(structure, leaves))
        last = values.pop() if named else {}
        args = [*values[:count], *(values.pop() if more else ())]
        kwargs = dict(zip(names, values[count:], strict=True))
        results: list[Any] = []
        flatten(function(*args, **kwargs, **last), results)
        total: Any = 0.0
        for place, cotangent in zip(places, cotangents, strict=True):
            total = total + np.sum(results[place] * cotangent)
        return total

    return product


def _kept(leaf: Any) -> Any:
    """Return an argument as the way back needs it, also if the caller's array is written to."""
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor)


def _zeros(shape: Any, dtype: Any, placements: Any, mesh: Any) -> DTensor:
    own = layout.local_shape(shape, mesh, placements)
    local = torch.zeros(own, dtype=dtype, device=mesh.device_type)
    return layout.dtensor_of(local, shape, mesh, placements)


__all__ = ["Differentiated"]
