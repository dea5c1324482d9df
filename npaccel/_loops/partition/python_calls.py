"""Calls that Python makes: of functions that loop, and of NumPy on lists."""

from __future__ import annotations

import ast

from npaccel._loops.partition.facts import Facts
from npaccel._loops.partition.locals import is_inner
from npaccel._loops.partition.nodes import APPENDING, INNER, NATIVE, name


class InnerCalls(ast.NodeTransformer):
    """Wrap what is called by Python: functions that loop, and NumPy on lists."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.bodies: list[ast.expr] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.bodies += self.facts.functions_of(node)
        self.generic_visit(node)
        function: ast.expr | None = None
        if self.facts.callee_loops(node.func):
            line = ast.Constant(node.lineno)
            function = ast.Call(func=name(INNER), args=[node.func, line], keywords=[])
        elif self._is_numpy(node.func) and any(map(self.facts.is_container, node.args)):
            function = ast.Call(func=name(NATIVE), args=[node.func], keywords=[])
        elif self.facts.appends(node):
            function = ast.Call(func=name(APPENDING), args=[node.func], keywords=[])
        if function is None:
            return node
        new = ast.Call(func=function, args=node.args, keywords=node.keywords)
        return ast.fix_missing_locations(ast.copy_location(new, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Inner functions are split from their source when they're called.
        return node if node.name in self.facts.inner else self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node if node in self.bodies else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return node if is_inner(node) else self.generic_visit(node)

    def _is_numpy(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Attribute):
            return False
        return getattr(self.facts.host_values.value_of(node.value), "__name__", "") == "numpy"
