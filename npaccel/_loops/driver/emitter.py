"""Write a split function as plain syntax again, with calls of its regions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from npaccel._loops.driver.loop_variants import VariantDefinitions, define_variants, with_execution
from npaccel._loops.partition import nodes as partition_nodes
from npaccel._loops.partition.nodes import LOOP, NEST, REGION, Inline, Nest, name
from npaccel._loops.partition.partition import Split
from npaccel._syntax import dataflow, source


class SplitEmitter(ast.NodeTransformer):
    """Turn a split function into plain syntax, with calls of its regions."""

    def __init__(self, parts: Split, has_variants: bool) -> None:
        self.parts = parts
        self.has_variants = has_variants
        self.loops: dict[str, VariantDefinitions] = {}
        self.outputs: dict[str, int] = {}
        self.definitions: dict[str, ast.FunctionDef] = {}
        self.places: dict[str, list[ast.AST]] = {}
        self.nests: dict[str, Nest] = {}
        self.in_loop: dict[str, bool] = {}

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return plain statements."""
        module = ast.Module(body=list(body), type_ignores=[])
        return self.visit(module).body  # type: ignore[no-any-return]

    def visit_Region(self, node: partition_nodes.Region) -> ast.stmt:
        """A call, and assignments of what comes out."""
        statements = [*node.statements]
        if node.outputs:
            statements.append(_at_end(node, ast.Return(value=_several(node.outputs, ast.Load()))))
        region = self._define(REGION, node.inputs, statements, list(node.own))
        self.in_loop[region] = node.in_loop
        self.outputs[region] = len(node.outputs)
        call = _call(region, node.inputs)
        if not node.outputs:
            new: ast.stmt = ast.Expr(value=call)
        else:
            new = ast.Assign(targets=[_several(node.outputs, ast.Store())], value=call)
        return ast.copy_location(new, node)

    def visit_Inline(self, node: Inline) -> ast.expr:
        """A call that gives the expression's value."""
        local_names = self.parts.host_values.locals | self.parts.temporaries
        inputs = tuple(sorted(node.npaccel_flow().reads & local_names))
        value = ast.copy_location(ast.Return(value=node.value), node)
        region = self._define(REGION, inputs, [*node.definitions, value], [node.value])
        self.in_loop[region] = True
        self.outputs[region] = 1
        return ast.copy_location(_call(region, inputs), node)

    def visit_For(self, node: ast.For) -> Any:
        """A loop, which may call copies of itself."""
        return self._loop(node)

    def visit_While(self, node: ast.While) -> Any:
        """A loop, which may call copies of itself."""
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> Any:
        found = getattr(node, "npaccel_original", None)
        node.__dict__.pop("npaccel_original", None)
        live = node.__dict__.pop("npaccel_live", frozenset())
        self.generic_visit(node)
        if found is None or not self.has_variants:
            return node
        original, bound = found
        place = len(self.loops)
        local_names = self.parts.host_values.locals | self.parts.temporaries
        declared = frozenset(self.parts.declared)
        made = define_variants(node, original, bound, local_names, live, declared, place)
        if made is None or not all(self.in_loop[region] for region in made.regions):
            return node
        self.loops[LOOP.format(place)] = made
        return with_execution(node, made, place)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Have each iteration leave its values behind, for handlers to see."""
        return self._without_variants(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        """Do the same: what is entered may end errors."""
        return self._without_variants(node)

    def _without_variants(self, node: ast.AST) -> ast.AST:
        before, self.has_variants = self.has_variants, False
        node = self.generic_visit(node)
        self.has_variants = before
        return node

    def visit_Nest(self, node: Nest) -> list[ast.stmt]:
        """Write both: the loop nest that Numba runs, and the split loops that run otherwise."""
        last = _at_end(node, ast.Return(value=_tuple(node.outputs, ast.Load())))
        body = [*copy.deepcopy(node.loops), last]
        nest = self._define(NEST, node.inputs, body, list(node.loops))
        self.nests[nest] = node
        result = nest + "_result"
        missing = ast.Compare(left=name(result), ops=[ast.Is()], comparators=[ast.Constant(None)])
        targets: list[ast.expr] = [_tuple(node.outputs, ast.Store())]
        taken: ast.stmt = ast.Assign(targets=targets, value=name(result))
        if not node.outputs:
            taken = ast.Pass()
        choice = ast.If(test=missing, body=self.block(node.split), orelse=[taken])
        made = ast.Assign(targets=[name(result, ast.Store())], value=_call(nest, node.inputs))
        return [ast.copy_location(made, node), ast.copy_location(choice, node)]

    def _declarations(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Declarations of names that a region writes as global or nonlocal."""
        written = dataflow.of_statements(statements).writes & self.parts.declared.keys()
        found: dict[type[ast.Global | ast.Nonlocal], list[str]] = {}
        for written_name in sorted(written):
            found.setdefault(self.parts.declared[written_name], []).append(written_name)
        return [ast.copy_location(kind(names=n), statements[0]) for kind, n in found.items()]

    def _define(
        self,
        kind: str,
        inputs: Sequence[str],
        statements: Sequence[ast.stmt],
        places: list[ast.AST],
    ) -> str:
        region = kind.format(len(self.definitions))
        statements = [*self._declarations(statements), *statements]
        made = ast.FunctionDef(
            name=region,
            args=source.parameters(inputs),
            body=list(statements),
            decorator_list=[],
        )
        made.__dict__["type_params"] = []
        ast.copy_location(made, statements[0])
        self.definitions[region] = made
        self.places[region] = places
        return region


def _at_end(node: ast.stmt, new: ast.stmt) -> ast.stmt:
    line = getattr(node, "end_lineno", None) or node.lineno
    new.lineno = new.end_lineno = line
    new.col_offset = new.end_col_offset = node.col_offset
    return new


def _tuple(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    return ast.Tuple(elts=[name(n, context) for n in names], ctx=context)


def _several(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    return name(names[0], context) if len(names) == 1 else _tuple(names, context)


def _call(region: str, inputs: Sequence[str]) -> ast.Call:
    return ast.Call(func=name(region), args=[name(n) for n in inputs], keywords=[])
