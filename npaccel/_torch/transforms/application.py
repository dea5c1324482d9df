"""Apply a transform of `torch.func` to a region.

Read from torch/_functorch/eager_transforms.py (_construct_standard_basis_for) of 2.11 to 2.13.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch import eager_transforms

from npaccel._torch.patching import Patch
from npaccel._torch.transforms.forward_formulas import load_forward_formulas
from npaccel._torch.transforms.marks import as_tensor, with_axis
from npaccel._torch.transforms.scans.body import bodies_in, recomputing, traced
from npaccel._torch.transforms.scans.pruning import without_unused
from npaccel._torch.transforms.scans.rules import Interpreter

#: Words of torch for operations that can't be transformed.
_NO_DERIVATIVE = re.compile(
    r"derivative for (?:aten::)?(\w+) is not implemented|forward AD with (?:aten::)?(\w+)"
    r"|not differentiable"
)
_NOT_BATCHED = re.compile(r"\bvmap\b|[Bb]atching rule")


#: Kinds of transforms that go back through a region.
_REVERSE = ("grad", "vjp", "jacrev")


class RegionError(NotImplementedError):
    """An operation in a region can't be differentiated, or not be batched.

    Parameters
    ----------
    node : torch.fx.Node or None
        The operation, if it's known.
    error : Exception
        What torch says of it.
    """

    def __init__(self, node: torch.fx.Node | None, error: Exception) -> None:
        super().__init__(str(error).partition("\n")[0])
        self.node = node

    def reason(self, kind: str) -> str:
        """Return why, in words about the user's program."""
        found = _NO_DERIVATIVE.search(str(self))
        if found is not None:
            name = found[1] or found[2]
            what = f"torch's `{name}`" if name else str(self)
            return f"something in this line has no derivative for `{kind}`: {what}"
        return f"something in this line can't be batched, as `{kind}` does it: {self}"

    def advice(self, kind: str) -> str:
        """Return what to write instead."""
        if _NO_DERIVATIVE.search(str(self)):
            return "write it with other NumPy calls, or pass its result as an argument"
        return "write it without sizes that depend on values, np.where(mask, a, b) for a[mask]"


class _Interpreter(Interpreter):
    """Interpreter of a region that notes which of its operations can't be transformed."""

    def run_node(self, n: torch.fx.Node) -> Any:
        try:
            return super().run_node(n)
        except RegionError:
            raise
        except (NotImplementedError, RuntimeError) as error:
            if _NO_DERIVATIVE.search(str(error)) or _NOT_BATCHED.search(str(error)):
                raise RegionError(n, error) from error
            raise


class Application:
    """The target of a graph's node: a region under a transform.

    Parameters
    ----------
    kind : str
        As of `npaccel._runtime.transform_marks.enter`.
    settings : tuple
        Those of the two marks.
    leaves, captured : int
        How many arrays are entered, and how many others the region takes.
    region : torch.fx.GraphModule
        Of ATen's calls, without writes in place.
    """

    may_share = False

    def __init__(
        self,
        kind: str,
        settings: tuple[Any, Any],
        leaves: int,
        captured: int,
        region: torch.fx.GraphModule,
    ) -> None:
        self.kind = kind
        self.settings = settings
        self.leaves = leaves
        self.captured = captured
        self.region = region
        self.bodies = bodies_in(region.graph)
        self.name = f"npaccel.{kind}"
        self.__name__ = f"npaccel_{kind}"
        #: Region as the transform has made it.
        self.graph: torch.fx.GraphModule | None = None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        if self.graph is None:
            return self._applied(*inputs)
        return tuple(Interpreter(self.graph).run(*inputs))

    def trace(self, *inputs: Any) -> None:
        """Apply the transform to what stands for values, for good.

        Raises
        ------
        RegionError
        """
        checkpoint = self.settings[1][2] if self.kind in _REVERSE else False

        def apply(*values: Any) -> tuple[torch.Tensor, ...]:
            with recomputing(checkpoint):
                return self._applied(*values)

        self.graph = traced(apply, inputs)
        without_unused(self.graph.graph)
        self.graph.recompile()
        self.bodies += bodies_in(self.graph.graph)

    def _applied(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        leaves = [as_tensor(leaf) for leaf in inputs[: self.leaves]]
        captured = inputs[self.leaves : self.leaves + self.captured]
        extra = inputs[self.leaves + self.captured :]
        try:
            found = _TRANSFORMS[self.kind](self, leaves, captured, extra)
        except (NotImplementedError, RuntimeError) as error:
            if not _NO_DERIVATIVE.search(str(error)):
                raise
            raise RegionError(self._node_of(error), error) from error
        return tuple(torch.clone(one, memory_format=torch.contiguous_format) for one in found)

    def run(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        """Compute the region."""
        found: Any = _Interpreter(self.region).run(*inputs)
        return tuple(found)

    def _node_of(self, error: Exception) -> torch.fx.Node | None:
        """Return the operation whose derivative is missed on the way back."""
        found = _NO_DERIVATIVE.search(str(error))
        name = found and (found[1] or found[2])
        nodes: list[torch.fx.Node] = list(self.region.graph.nodes)
        for node in nodes:
            if name and str(node.target).split(".")[1:2] == [name]:
                return node
        return None


def _split(
    one: Application, leaves: Sequence[torch.Tensor], captured: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """Return a function of the differentiated leaves, and these.

    It returns the differentiated outputs, and all of them.
    """
    _, (count, main, *_) = one.settings
    given, rest = tuple(leaves[:count]), leaves[count:]

    def function(*values: torch.Tensor) -> Any:
        found = one.run(*values, *rest, *captured)
        return found[:main], found

    return function, given


def _grad(one: Application, leaves: Any, captured: Any, extra: Any) -> Any:
    function, given = _split(one, leaves, captured)

    def value(*values: torch.Tensor) -> Any:
        (first,), found = function(*values)
        return first, found

    gradients, (_, found) = torch.func.grad_and_value(
        value, argnums=tuple(range(len(given))), has_aux=True
    )(*given)
    return (*found, *gradients)


def _value(one: Application, leaves: Any, captured: Any, extra: Any) -> Any:
    return one.run(*leaves, *captured)


def _vjp(one: Application, leaves: Any, captured: Any, extra: Any) -> Any:
    function, given = _split(one, leaves, captured)
    _, pull_back, found = torch.func.vjp(function, *given, has_aux=True)
    return (*found, *pull_back(tuple(extra)))


def _jvp(one: Application, leaves: Any, captured: Any, extra: Any) -> Any:
    load_forward_formulas()
    function, given = _split(one, leaves, captured)
    tangents = tuple(as_tensor(t) for t in extra)
    _, found_tangents, found = torch.func.jvp(function, given, tangents, has_aux=True)
    return (*found, *found_tangents)


def _jacobian(transform: Callable[..., Any]) -> Callable[..., Any]:
    def apply(one: Application, leaves: Any, captured: Any, extra: Any) -> Any:
        load_forward_formulas()
        function, given = _split(one, leaves, captured)
        rows, found = transform(function, argnums=tuple(range(len(given))), has_aux=True)(*given)
        return (*found, *(part for row in rows for part in row))

    return apply


def _vmap(one: Application, leaves: Any, captured: Any, extra: Any) -> Any:
    in_axes, out_axes = one.settings

    def function(*values: torch.Tensor) -> Any:
        return one.run(*values, *captured)

    (size,) = extra
    if all(axis is None for axis in in_axes):
        return [
            torch.stack([out], axis).expand(with_axis(out.shape, axis, size))
            for out, axis in zip(function(*leaves), out_axes, strict=True)
        ]
    return torch.func.vmap(
        function, in_dims=tuple(in_axes), out_dims=tuple(out_axes), randomness="error"
    )(*leaves)


_TRANSFORMS: dict[str, Callable[[Application, Any, Any, Any], Any]] = {
    "grad": _grad,
    "value": _value,
    "vjp": _vjp,
    "jvp": _jvp,
    "jacrev": _jacobian(torch.func.jacrev),
    "jacfwd": _jacobian(torch.func.jacfwd),
    "vmap": _vmap,
}


def keeping(full: Callable[..., Any], graph: torch.fx.GraphModule) -> Callable[..., Any]:
    """Return a function that keeps the bodies of loops which its operators name.

    Parameters
    ----------
    full : callable
        What has been made of a graph.
    graph : torch.fx.GraphModule
        As captured.
    """
    loops = [n.target for n in graph.graph.nodes if isinstance(n.target, Application)]
    loops = [one for one in loops if one.bodies]
    if not loops:
        return full

    def call(*inputs: Any) -> Any:
        return full(*inputs)

    call.loops = loops  # type: ignore[attr-defined]
    return call


def _construct_standard_basis_for(original: Any) -> Any:
    """Make the rows of a Jacobian of several arrays by sizes, which stay known in a graph."""

    @functools.wraps(original)
    def construct(tensors: Sequence[torch.Tensor], tensor_numels: Sequence[int]) -> Any:
        count = sum(tensor_numels)
        found = []
        for tensor, size, first in zip(
            tensors, tensor_numels, itertools.accumulate(tensor_numels, initial=0), strict=False
        ):
            rows = tensor.new_zeros(count, size)
            rows.diagonal(-first).fill_(1)
            found.append(rows.view(count, *tensor.shape))
        return tuple(found)

    return construct


PATCHES = (
    Patch(
        eager_transforms, "_construct_standard_basis_for", _construct_standard_basis_for,
        "torch reads where parts of a Jacobian begin from a tensor, whose values no graph knows",
        "tests/transforms/test_transforms.py", read="2.11, 2.12, 2.13", only="2.11-2.12",
    ),
)  # fmt: skip
