"""Facts about a function while it's split: which parts Python has to compute."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Sequence

from npaccel._loops.partition.ast_utils import constant_iterations
from npaccel._loops.partition.host_values import HostValues
from npaccel._loops.partition.locals import (
    GROWING_METHODS,
    appends_by_text,
    containers,
    function_node,
    inner_definitions,
)
from npaccel._loops.partition.nodes import TEMPORARY
from npaccel._syntax import dataflow
from npaccel._syntax.context_managers import may_swallow
from npaccel._syntax.dataflow import Flow, Names

#: Methods of a list, dict or set that look at what is in their arguments.
_READING_METHODS = frozenset({"extend", "update", "remove", "discard"})
#: Loops over so few constants are left to the compiler, which unrolls them.
MAX_UNROLLED = 8
_MAX_UNROLLED_STATEMENTS = 32

_NATIVE_BUILTINS = frozenset({"print", "input", "open", "next", "iter", "setattr", "delattr"})


class Facts:
    """Facts about one function, and what splitting it has found so far."""

    def __init__(
        self,
        definition: ast.FunctionDef,
        host_values: HostValues,
        callee_loops: Callable[[ast.expr], bool],
        primitive: Callable[[ast.expr], Sequence[str] | None],
        nests: bool,
        lists: Names,
        of_items: Names = frozenset(),
    ) -> None:
        self.host_values = host_values
        self.primitive = primitive
        self._outer_loops = callee_loops
        self.nests = nests
        self.parameters = [a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)]
        self.loops: list[ast.For | ast.While] = []
        self.native: list[tuple[int, str]] = []
        self.in_nest = self.in_simple = False
        self.temporaries: list[str] = []
        self.containers = containers(definition, lists, of_items)
        self.inner = inner_definitions(definition)
        self.declared = dataflow.declarations(definition)
        self.looping: frozenset[str] = frozenset()
        self.looping = self._looping_functions()
        in_loops = [n for n in ast.walk(definition) if isinstance(n, ast.For | ast.While)]
        assigned = dataflow.of_statements([s for s in in_loops if not self.is_unrolled(s)]).writes
        self.changing = assigned
        self.varying = assigned & frozenset(host_values.host)
        self._stores = dataflow.stores([definition])

    def new_name(self) -> str:
        self.temporaries.append(TEMPORARY.format(len(self.temporaries)))
        return self.temporaries[-1]

    # -- Questions about nodes ------------------------------------------------

    def is_alone(self, part: Iterable[ast.AST], names: Names) -> bool:
        """Whether names are assigned to nowhere but in a part of the function."""
        own = dataflow.stores(part)
        return all(own[name] == self._stores[name] for name in names)

    def callee_loops(self, node: ast.expr) -> bool:
        """Whether a called expression is a function that loops, an inner one or another."""
        if isinstance(node, ast.Name) and node.id in self.inner:
            return node.id in self.looping
        return self._outer_loops(node)

    def _looping_functions(self) -> frozenset[str]:
        """The inner functions that loop, themselves or in what they call."""
        looping = {n for n, d in self.inner.items() if any(map(self._is_loop, ast.walk(d)))}
        before = -1
        while before != len(looping):
            before = len(looping)
            for inner, node in self.inner.items():
                if looping & dataflow.free_names(function_node(node)):
                    looping.add(inner)
        return frozenset(looping)

    def _is_loop(self, node: ast.AST) -> bool:
        """Whether a part of an inner function is a loop that mustn't be unrolled."""
        if isinstance(node, ast.While):
            return True
        if isinstance(node, ast.For):
            return not self.is_unrolled(node)
        return isinstance(node, ast.Call) and self._outer_loops(node.func)

    def has_primitive(self, node: ast.AST) -> bool:
        """Whether `npaccel.fori_loop` or the like is called somewhere in it."""
        return any(
            isinstance(n, ast.Call) and self.primitive(n.func) is not None for n in ast.walk(node)
        )

    def functions_of(self, node: ast.Call) -> list[ast.expr]:
        """The arguments of a primitive that are functions, which Python makes."""
        names = self.primitive(node.func)
        if names is None:
            return []
        by_place = [a for a, n in zip(node.args, names, strict=False) if n.endswith("()")]
        keywords = {n.removesuffix("()") for n in names if n.endswith("()")}
        return by_place + [k.value for k in node.keywords if k.arg in keywords]

    def is_unrolled(self, loop: ast.For | ast.While) -> bool:
        """Whether a loop has few iterations, known from its text, and nothing leaves it."""
        if isinstance(loop, ast.While) or loop.orelse or len(loop.body) > 8:
            return False
        iterations = constant_iterations(loop.iter)
        if iterations is None or not 0 < iterations <= MAX_UNROLLED:
            return False
        inside = [n for s in loop.body for n in ast.walk(s)]
        if any(isinstance(n, ast.Return | ast.While) or self.is_hoisted(n) for n in inside):
            return False
        tests = [n.test for n in inside if isinstance(n, ast.If)]
        jumps = any(isinstance(n, ast.Break | ast.Continue) for n in inside)
        if jumps and not all(map(self.host_values.is_host, tests)):
            return False
        nested = [n for n in inside if isinstance(n, ast.For)]
        if not all(map(self.is_unrolled, nested)):
            return False
        total = iterations
        for n in nested:
            total *= constant_iterations(n.iter) or 1
        return total * len(loop.body) <= _MAX_UNROLLED_STATEMENTS

    def is_hoisted(self, node: ast.AST) -> bool:
        """Whether an expression is computed by Python itself, ahead of what it stands in."""
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return self.is_container(node.value) and self.host_values.moves(node.slice)
        if not isinstance(node, ast.Call):
            return False
        if self.callee_loops(node.func) or self.host_values.converts(node):
            return True
        if isinstance(node.func, ast.Name) and node.func.id in _NATIVE_BUILTINS:
            return node.func.id not in self.host_values.locals
        if any(map(self.is_container, node.args)):
            return not (isinstance(node.func, ast.Name) and node.func.id in ("len", "enumerate"))
        method = isinstance(node.func, ast.Attribute) and node.func.attr in GROWING_METHODS
        if method and self.is_container(node.func.value):  # type: ignore[attr-defined]
            return True
        return self.appends(node)

    def appends(self, node: ast.AST) -> bool:
        """Whether a call appends to a list that isn't known to be one."""
        if not appends_by_text(node) or self.is_container(node.func.value):  # type: ignore[attr-defined]
            return False
        return self.host_values.value_of(node.func.value) is None  # type: ignore[attr-defined]

    def takes_objects(self, node: ast.Call) -> bool:
        """Whether a list, dict or set takes objects in, or gives some up, as they are."""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        is_own = method in GROWING_METHODS - _READING_METHODS
        return is_own and self.is_container(node.func.value)  # type: ignore[attr-defined]

    def is_container(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.containers

    def has_hoisted(self, node: ast.AST) -> bool:
        return any(self.is_hoisted(n) for n in ast.walk(node))

    def reads_container(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.containers for n in ast.walk(node))

    def needs_python(self, statements: Iterable[ast.stmt]) -> bool:
        """Whether statements hold something that Python has to drive."""
        leaving = ast.Break | ast.Continue | ast.Return | ast.Raise | ast.Try | ast.While
        for statement in statements:
            for node in ast.walk(statement):
                if isinstance(node, leaving | ast.Delete | ast.Import | ast.ImportFrom):
                    return True
                if isinstance(node, ast.For) and not self.is_unrolled(node):
                    return True
                if self.is_hoisted(node) or (
                    isinstance(node, ast.Name) and node.id in self.containers
                ):
                    return True
                if isinstance(node, ast.If) and not self.is_static_test(node.test):
                    return True
                if isinstance(node, ast.With) and may_swallow(node):
                    return True
        return False

    def is_static_test(self, test: ast.expr) -> bool:
        """Whether a condition is about Python values that stay the same in all loops."""
        return self.host_values.is_host(test) and not (
            dataflow.of_expression(test).reads & self.changing
        )

    def flow(self, statement: ast.stmt) -> Flow:
        """Names that a statement reads and writes, in the inner functions that it uses too."""
        reads = [dataflow.free_names(function_node(d)) for d in self.definitions_for([statement])]
        return Flow(frozenset().union(*reads)).then(dataflow.of_statement(statement))

    def commute(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether two statements, one of which touches no array's elements, may change places."""
        a, b = self.flow(one), self.flow(other)
        return not (a.writes & (b.reads | b.writes) or b.writes & a.reads)

    def definitions_for(self, statements: Sequence[ast.AST]) -> list[ast.stmt]:
        """The inner functions that statements use, and those that these use."""
        needed: dict[str, ast.stmt] = {}
        todo = list(statements)
        while todo:
            for node in ast.walk(todo.pop()):
                if isinstance(node, ast.Name) and node.id in self.inner and node.id not in needed:
                    needed[node.id] = self.inner[node.id]
                    todo.append(self.inner[node.id])
        return [copy.deepcopy(d) for d in sorted(needed.values(), key=lambda d: d.lineno)]
