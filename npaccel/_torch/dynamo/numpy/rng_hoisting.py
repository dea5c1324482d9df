"""Take the calls of NumPy's random numbers out of a captured graph.

What they compute on the host becomes lines of Python (`npaccel._runtime.host_rng`),
and their results become inputs of the graph.

Read from torch/_dynamo/output_graph.py, torch/utils/_sympy/printers.py and
torch/fx/experimental/symbolic_shapes.py of 2.11 and 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch._dynamo.source import SyntheticLocalSource
from torch.utils._sympy.printers import PythonPrinter

from npaccel._numpy.core.context import settings
from npaccel._numpy.random.results import PYTHON_TYPES, Drawn
from npaccel._report.details import DRAWS, LineCode
from npaccel._runtime.host_rng import Draws, Line
from npaccel._torch.dynamo.source_lines import frames_of
from npaccel._torch.fx_passes.alias_checks import written
from npaccel._torch.fx_passes.nodes import name_of


class HostCall:
    """The target of a node: one call of NumPy's random numbers on the host.

    Parameters
    ----------
    name : str
        NumPy's name of it, for graphs and reports.
    owner : str or torch.fx.Node
        Dynamo's expression of the generator, ``"random"`` for `numpy.random`,
        or the node that makes it.
    function : str
        What is called, see `npaccel._runtime.host_rng.Line`.
    result : callable or None
        Says what a draw gives; takes the call's arguments. None where it's no draw.
    """

    may_share = False

    def __init__(
        self,
        name: str,
        owner: str | torch.fx.Node,
        function: str,
        result: Callable[..., Drawn] | None,
    ) -> None:
        self.name = name
        self.owner = owner
        self.function = function
        self.result = result
        self.drawn: Drawn | None = None
        self.__name__ = f"numpy_random_{function}"

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor | None:
        if self.result is None:
            return None
        self.drawn = self.result(*args, **kwargs)
        return self.drawn.empty(settings().device)


class UnknownValueError(Exception):
    """A number that a draw needs isn't known before the graph runs."""


def extract(graph: torch.fx.GraphModule, fakes: Sequence[Any]) -> tuple[Draws, list[Any]]:
    """Take the calls of NumPy's random numbers out of a captured graph.

    Parameters
    ----------
    graph : torch.fx.GraphModule
        Changed in place: each draw becomes an input after the others.
    fakes : sequence
        The examples of its inputs.

    Returns
    -------
    draws : Draws
    examples : list of torch.Tensor
        Of the new inputs.

    Raises
    ------
    UnknownValueError
    """
    calls = [node for node in graph.graph.nodes if isinstance(node.target, HostCall)]
    if not calls:
        return Draws(lines=()), []
    texts = _Texts(graph.graph, fakes)
    lines, examples = [], []
    for i, node in enumerate(calls):
        call = node.target
        is_draw = call.result is not None
        target = f"d{i}" if is_draw else f"h{i}"
        owner = texts.targets[call.owner] if isinstance(call.owner, torch.fx.Node) else call.owner
        lines.append(Line(target, owner, call.function, texts.arguments(node), is_draw))
        texts.targets[node] = target
        if is_draw:
            examples.append(node.meta["example_value"])
            _make_input(graph.graph, node, target)
    for node in reversed(calls):
        graph.graph.erase_node(node)
    graph.recompile()
    owners = [c.target.owner for c in calls if isinstance(c.target.owner, str)]
    return Draws(tuple(lines), tuple(dict.fromkeys(owners))), examples


def draw_lines(graph: torch.fx.GraphModule) -> tuple[LineCode, ...]:
    """Return the user's lines at which NumPy draws, before `extract` takes the calls out."""
    found: dict[LineCode, None] = {}
    for node in graph.graph.nodes:
        frames = frames_of(node.meta.get("stack_trace"))
        if isinstance(node.target, HostCall) and node.target.result is not None and frames:
            file, line, _ = frames[-1]
            found[LineCode(file, line, (f"{DRAWS}: {node.target.function}",))] = None
    return tuple(found)


def _make_input(graph: torch.fx.Graph, node: torch.fx.Node, name: str) -> None:
    """Put an input in the place of a draw."""
    last = list(graph.find_nodes(op="placeholder"))
    place = last[-1].next if last else next(iter(graph.nodes))
    with graph.inserting_before(place):
        new = graph.placeholder(f"npaccel_{name}")
    new.meta = dict(node.meta)
    new._dynamo_source = SyntheticLocalSource(new.name)  # type: ignore[attr-defined] # for AOT
    if any(_owner(target) is node for other in graph.nodes for target in written(other)):
        with graph.inserting_before(node):  # An array of the graph's own is cheaper to write to.
            copy = graph.call_function(torch.clone, (new,))
        copy.meta = dict(node.meta)
        new = copy
    node.replace_all_uses_with(new)


def writes(node: torch.fx.Node) -> bool:
    """Whether a node of a graph writes to an array."""
    return not isinstance(node.target, HostCall) and any(True for _ in written(node))


def _owner(node: Any) -> Any:
    """The node that an array, or what it may be a view of, comes from."""
    while isinstance(node, torch.fx.Node) and name_of(node) and node.args:
        if isinstance(node.target, HostCall):
            break
        node = node.args[0]
    return node


#: Types of results of nodes that are known before the graph runs.
_KNOWN: tuple[type, ...] = (tuple, list, int, float, torch.SymInt, torch.SymFloat)


class _Texts:
    """Python for the arguments of calls, over the inputs of the graph, ``t0``, ``t1``, ..."""

    def __init__(self, graph: torch.fx.Graph, fakes: Sequence[Any]) -> None:
        self.targets: dict[torch.fx.Node, str] = {}
        self.inputs = {node: i for i, node in enumerate(graph.find_nodes(op="placeholder"))}
        self.symbols: dict[Any, str] = {}
        for i, value in enumerate(fakes):
            self._learn(i, value)
        for node in graph.nodes:
            if node.op == "call_method" and node.target == "item" and node.args[0] in self.inputs:
                number = node.meta.get("example_value")
                if isinstance(number, torch.SymInt | torch.SymFloat):
                    self.symbols[number.node.expr] = f"t{self.inputs[node.args[0]]}.item()"

    def _learn(self, i: int, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            if isinstance(value, torch.SymInt | torch.SymFloat):
                self.symbols[value.node.expr] = f"t{i}"
            return
        parts: dict[str, tuple[Any, ...]] = {"size": tuple(value.shape), "stride": value.stride()}
        for kind, sizes in parts.items():
            for d, size in enumerate(sizes):
                if isinstance(size, torch.SymInt):
                    self.symbols.setdefault(size.node.expr, f"t{i}.{kind}({d})")

    def arguments(self, node: torch.fx.Node) -> str:
        """Return Python for all arguments of a call."""
        named = [f"{name}={self.text(value)}" for name, value in node.kwargs.items()]
        return ", ".join([*map(self.text, node.args), *named])

    def text(self, value: Any) -> str:
        """Return Python for one argument."""
        if isinstance(value, torch.fx.Node):
            return self._of_node(value)
        if isinstance(value, torch.SymInt | torch.SymFloat):
            return self._of_number(value)
        if isinstance(value, tuple):
            return "(" + "".join(f"{self.text(item)}, " for item in value) + ")"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.text, value)) + "]"
        if isinstance(value, torch.dtype):
            return PYTHON_TYPES[value].__name__
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        raise UnknownValueError(f"an argument of type {type(value).__qualname__}")

    def _of_node(self, node: torch.fx.Node) -> str:
        if node in self.targets:
            return self.targets[node]
        value = node.meta.get("example_value")
        if node in self.inputs and isinstance(value, torch.Tensor):
            return f"array(t{self.inputs[node]})"
        if isinstance(value, _KNOWN):
            return self.text(value)
        raise UnknownValueError("an argument that is computed in the function")

    def _of_number(self, number: torch.SymInt | torch.SymFloat) -> str:
        expression = number.node.expr
        known = {symbol: self._symbol(symbol) for symbol in expression.free_symbols}
        names = {
            symbol: sympy.Symbol(text, integer=symbol.is_integer, positive=symbol.is_positive)
            for symbol, text in known.items()
        }
        return f"({PythonPrinter().doprint(expression.xreplace(names))})"

    def _symbol(self, symbol: Any) -> str:
        if symbol not in self.symbols:
            raise UnknownValueError("a number that isn't known before the compiled code runs")
        return self.symbols[symbol]
