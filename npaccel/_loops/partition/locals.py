"""Lists that grow and inner functions, by the text of a function."""

from __future__ import annotations

import ast

from npaccel._syntax.dataflow import Names

GROWING_METHODS = frozenset(
    {"append", "extend", "insert", "add", "update", "pop", "popleft", "appendleft"}
    | {"remove", "discard", "clear", "setdefault", "popitem"}
)
#: Methods that are nearly always a list's, whatever is before the dot.
_APPENDING_METHODS = frozenset({"append", "appendleft", "extend"})


def containers(definition: ast.FunctionDef, given: Names, of_items: Names = frozenset()) -> Names:
    """The lists, dicts and sets of a function that grow or change, or whose items a loop takes.

    Parameters
    ----------
    definition : ast.FunctionDef
    given : frozenset of str
        Parameters that are lists, dicts or sets.
    of_items : frozenset of str
        Those, and tuples, that hold arrays or numbers.
    """
    made = set()
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_container_display(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made |= {t.id for t in targets if isinstance(t, ast.Name)}
    grown, changed = set(), set()
    for node in ast.walk(definition):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in GROWING_METHODS
            and isinstance(node.func.value, ast.Name)
        ):
            grown.add(node.func.value.id)
        is_stored = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if is_stored and isinstance(node.value, ast.Name):  # type: ignore[attr-defined]
            changed.add(node.value.id)  # type: ignore[attr-defined]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
    taken = _taken_in_loops(definition) & of_items
    return frozenset(made & (grown | changed) | given & grown | taken)


def _taken_in_loops(definition: ast.FunctionDef) -> Names:
    """Return the names of which a loop takes items that may be others in each iteration."""
    loops = [node for node in ast.walk(definition) if isinstance(node, ast.For | ast.While)]
    return frozenset(
        node.value.id
        for loop in loops
        for node in ast.walk(loop)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and not isinstance(node.slice, ast.Constant | ast.Slice)
    )


def appends_by_text(node: ast.AST) -> bool:
    """Whether a call appends to what is probably a list: of an object, in a dict."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[_], keywords=[]):
            return method in _APPENDING_METHODS and _is_chain(owner)
    return False


def _is_chain(node: ast.expr) -> bool:
    """Whether an expression only names something: ``model.history``, ``results["x"]``."""
    match node:
        case ast.Attribute(value=owner):
            return _is_chain(owner)
        case ast.Subscript(value=owner, slice=ast.Constant() | ast.Name()):
            return _is_chain(owner)
    return isinstance(node, ast.Name)


def with_single_displays(definition: ast.FunctionDef) -> None:
    """Write ``times, sums = [], []`` as two assignments, in place."""
    _SingleDisplays().visit(definition)


class _SingleDisplays(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pass
            case _:
                return node
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        read = {n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name)}
        apart = len(names) == len(targets) == len(values) and not names & read
        if not apart or not any(map(_is_container_display, values)):
            return node
        return [
            ast.copy_location(ast.Assign([target], value), node)
            for target, value in zip(targets, values, strict=True)
        ]


def _is_container_display(node: ast.expr | None) -> bool:
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_container_display(node.left) or _is_container_display(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("list", "dict", "set", "deque", "defaultdict")
    return False


def makes_container(statement: ast.stmt, containers: Names) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            return target in containers and _is_plain_display(value)
        case ast.AnnAssign(target=ast.Name(id=target), value=value):
            return target in containers and _is_plain_display(value)
    return False


def _is_plain_display(node: ast.expr | None) -> bool:
    """An empty list or dict, or one of constants and names."""
    if isinstance(node, ast.List | ast.Set):
        return all(isinstance(e, ast.Constant | ast.Name) for e in node.elts)
    if isinstance(node, ast.Dict):
        return all(isinstance(e, ast.Constant | ast.Name) for e in (*node.keys, *node.values))
    if isinstance(node, ast.Call):
        return _is_container_display(node) and not any(
            isinstance(n, ast.Call) for a in node.args for n in ast.walk(a)
        )
    if isinstance(node, ast.BinOp):
        return _is_container_display(node)
    return False


def inner_definitions(definition: ast.FunctionDef) -> dict[str, ast.stmt]:
    """Functions defined inside, once, that can be defined again wherever they are used."""
    found: dict[str, list[ast.stmt]] = {}
    for node in ast.walk(definition):
        if node is definition:
            continue
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Lambda):
                found.setdefault(target.id, []).append(node)
    return {n: nodes[0] for n, nodes in found.items() if len(nodes) == 1 and _is_again(nodes[0])}


def function_node(definition: ast.stmt) -> ast.FunctionDef | ast.Lambda:
    node = definition.value if isinstance(definition, ast.Assign) else definition
    assert isinstance(node, ast.FunctionDef | ast.Lambda)
    return node


def _is_again(node: ast.stmt) -> bool:
    """Whether defining an inner function a second time makes the same function."""
    inner = function_node(node)
    defaults = [d for d in (*inner.args.defaults, *inner.args.kw_defaults) if d is not None]
    decorated = isinstance(inner, ast.FunctionDef) and inner.decorator_list
    nonlocal_ = any(isinstance(n, ast.Nonlocal) for n in ast.walk(inner))
    return not decorated and not nonlocal_ and all(isinstance(d, ast.Constant) for d in defaults)


def is_inner(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda)
