"""Hoist what Python has to compute of an expression before the rest of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npaccel._loops.partition.ast_utils import called_name, is_scalar_by_text, replaced
from npaccel._loops.partition.host_values import ITERATORS, HostValues
from npaccel._loops.partition.nodes import Inline, assign, name
from npaccel._loops.partition.python_calls import InnerCalls
from npaccel._loops.partition.regions import Runs

_ITERATORS = ITERATORS | {"range", "tqdm", "map", "iter"}
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class CannotHoistError(Exception):
    """Something in an expression can't be computed before the rest."""


class Hoisting(Runs):
    """Take expressions apart: what Python computes before, and the rest."""

    def hoist(self, node: ast.expr) -> ast.expr:
        """Compute the parts of an expression that Python has to, in order; return the rest."""
        facts = self.facts
        if not facts.has_hoisted(node):
            return node
        if facts.is_hoisted(node):
            call = self._with_hoisted_arguments(node)
            temporary = facts.new_name()
            self.python(assign(temporary, call))
            facts.varying |= {temporary}
            if self.host_values.converts(node):
                self._is_number(temporary)
            return ast.copy_location(name(temporary), node)
        if isinstance(node, ast.Lambda | ast.IfExp | ast.BoolOp | _COMPREHENSIONS):
            raise CannotHoistError
        return self._with_hoisted_parts(node)

    def _with_hoisted_parts(self, node: ast.expr) -> ast.expr:
        parts = _evaluated(node)
        last = max(i for i, part in enumerate(parts) if self.facts.has_hoisted(part))
        new: dict[int, ast.expr] = {}
        for i, part in enumerate(parts[: last + 1]):
            hoisted = self.hoist(part)
            if (
                i < last
                and not self.host_values.may_wait(hoisted)
                and not _is_module(hoisted, self.host_values)
            ):
                hoisted = self._as_temporary(hoisted)
            new[id(part)] = hoisted
        return replaced(node, new)

    def _with_hoisted_arguments(self, node: ast.expr) -> ast.expr:
        """A call by Python, whose arguments are there already."""
        if isinstance(node, ast.Subscript):
            return node
        assert isinstance(node, ast.Call)
        parts = [*node.args, *(k.value for k in node.keywords)]
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise CannotHoistError
        new: dict[int, ast.expr] = {}
        functions = self.facts.functions_of(node)
        in_python = functions or isinstance(node.func, ast.Attribute)
        for part in parts:
            if part in functions or _is_display_of_names(part, self.host_values):
                continue
            if self.host_values.moves(part) or self.facts.is_container(part):
                continue
            if in_python and isinstance(part, ast.Tuple | ast.List | ast.Dict):
                new[id(part)] = self._with_hoisted_elements(part)
                continue
            if isinstance(part, ast.JoinedStr):
                new[id(part)] = self._with_hoisted_fields(part)
                continue
            hoisted = self.hoist(part)
            if self.facts.reads_container(hoisted):
                raise CannotHoistError
            new[id(part)] = (
                hoisted if self.host_values.moves(hoisted) else self._as_temporary(hoisted)
            )
        return replaced(node, new)

    def _with_hoisted_elements(self, node: ast.Tuple | ast.List | ast.Dict) -> ast.expr:
        """Have Python put together what a primitive starts with, or a list grows by."""
        if isinstance(node, ast.Dict):
            if not all(key is not None and self.host_values.moves(key) for key in node.keys):
                raise CannotHoistError
            parts = node.values
        else:
            parts = node.elts
        new: dict[int, ast.expr] = {}
        for part in parts:
            if self.host_values.moves(part) or self.facts.is_container(part):
                continue
            if isinstance(part, ast.Starred):
                raise CannotHoistError
            if isinstance(part, ast.Tuple | ast.List | ast.Dict):
                new[id(part)] = self._with_hoisted_elements(part)
                continue
            hoisted = self.hoist(part)
            if self.facts.reads_container(hoisted):
                raise CannotHoistError
            new[id(part)] = (
                hoisted if self.host_values.moves(hoisted) else self._as_temporary(hoisted)
            )
        return replaced(node, new)

    def _with_hoisted_fields(self, node: ast.JoinedStr) -> ast.expr:
        new: dict[int, ast.expr] = {}
        for field in node.values:
            if isinstance(field, ast.FormattedValue) and not self.host_values.moves(field.value):
                if self.facts.reads_container(field.value):
                    raise CannotHoistError
                new[id(field.value)] = self._as_temporary(self.hoist(field.value))
        return replaced(node, new)

    def test(self, node: ast.expr, *, first: bool) -> ast.expr:
        """Return a condition for Python to test.

        Parameters
        ----------
        node : ast.expr
        first : bool
            Whether it's always computed, so that it may be computed ahead.
        """
        if self._is_pythons(node):
            return node
        if isinstance(node, ast.BoolOp):
            head, *rest = node.values
            values = [self.test(head, first=first), *(self.test(v, first=False) for v in rest)]
            return ast.copy_location(ast.BoolOp(op=node.op, values=values), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            operand = self.test(node.operand, first=first)
            return ast.copy_location(ast.UnaryOp(op=node.op, operand=operand), node)
        if self.facts.reads_container(node) or self.facts.has_hoisted(node):
            if not first:
                return InnerCalls(self.facts).visit(node)  # type: ignore[no-any-return]
            try:
                node = self.hoist(node)
            except CannotHoistError:
                return InnerCalls(self.facts).visit(node)  # type: ignore[no-any-return]
            if self.host_values.is_host(node) or self.facts.reads_container(node):
                return node
        if first:
            return self._as_temporary(node)
        return Inline(node, self.facts.definitions_for([node]))

    def _is_pythons(self, test: ast.expr) -> bool:
        """Whether Python tests a condition itself: on numbers it's faster than any call."""
        if isinstance(test, ast.Compare):
            parts = [test.left, *test.comparators]
            return self.host_values.is_host(test) or all(map(is_scalar_by_text, parts))
        return self.host_values.is_host(test) or is_scalar_by_text(test)

    def _iterable(self, node: ast.expr) -> ast.expr:
        """Have Python take the items of what a loop goes over."""
        if self.host_values.moves(node) or self.facts.is_container(node):
            return node
        if isinstance(node, ast.Call) and called_name(node) in _ITERATORS:
            args = [
                a if called_name(node) == "range" and is_scalar_by_text(a) else self._iterable(a)
                for a in node.args
            ]
            return ast.copy_location(ast.Call(node.func, args, node.keywords), node)
        if self._is_array_expression(node):
            return self._as_temporary(node)
        return InnerCalls(self.facts).visit(node)  # type: ignore[no-any-return]

    def _is_array_expression(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript) and self.host_values.is_simple(node.value):
            return not self.host_values.is_host(node.slice)  # A view is made by Python sooner.
        if self.facts.has_hoisted(node) or self.facts.reads_container(node):
            return False
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            found = self.host_values.value_of(owner) if owner is not None else None
            return getattr(found, "__name__", "") == "numpy" and node.func.attr not in (  # type: ignore[attr-defined]
                "ndindex", "nditer", "ndenumerate",
            )  # fmt: skip
        return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript)

    def _returned_parts(self, value: ast.expr) -> ast.expr:
        """``return u, history``: what isn't about the list is compiled."""
        if self.facts.is_container(value):
            return value
        if not isinstance(value, ast.Tuple):
            raise CannotHoistError
        parts = [
            p
            if self.host_values.moves(p) or self.facts.is_container(p)
            else self._as_temporary(self.hoist(p))
            for p in value.elts
        ]
        return ast.copy_location(ast.Tuple(elts=parts, ctx=ast.Load()), value)


def _is_display_of_names(node: ast.expr, host_values: HostValues) -> bool:
    """Whether an expression puts values together that are there already."""
    parts: Sequence[ast.expr | None]
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.Dict(keys=keys, values=values):
            parts = [*keys, *values]
        case _:
            return False
    return all(
        part is not None and (host_values.moves(part) or _is_display_of_names(part, host_values))
        for part in parts
    )


def _is_module(node: ast.expr, host_values: HostValues) -> bool:
    return host_values.value_of(node) is not None


def _evaluated(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression in the order in which Python computes them."""
    if isinstance(node, ast.Call):
        # A method isn't kept apart from its array, which is a tensor in compiled code.
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return [owner, *node.args, *(k.value for k in node.keywords)]
    return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
