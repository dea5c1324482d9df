"""Rewrite generated code so that it computes on arrays, without tensors.

A tensor for each argument and buffer, and an array for each result, take 2 µs of a call, and 10
and more where a large array has gone through the caches before. Kernels only need pointers, which
arrays have as well. What needs tensors (torch's own operations, strides of arguments) keeps them.

Read from torch/_inductor/codegen/wrapper.py (PythonWrapperCodegen) of 2.11 and 2.13.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from npaccel._runtime.torch.ndarray_runtime import DTYPES, ON_ARRAYS, name_of

#: Maximum number of bytes of a buffer that is NumPy's: it's made sooner, and lies anywhere;
#: torch's begin at multiples of 64 bytes, where vectors of a large one are stored faster.
_SMALL = 1 << 18

#: The name that the code has for NumPy's kernels.
HOST_KERNELS = "host_kernels"
_BUFFER = "empty_strided_cpu"
_FUNCTIONS = {"max", "min", "math.floor", "math.ceil", "math.trunc", "RuntimeError"}
_PLAIN = (
    *(ast.Assign, ast.Delete, ast.Expr, ast.If, ast.Raise, ast.expr_context, ast.operator),
    *(ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.boolop, ast.cmpop),
    *(ast.unaryop, ast.Constant, ast.List, ast.Name, ast.Subscript, ast.Tuple),
)


class _NeedsTensorsError(Exception):
    """Something in the code works with tensors only."""


@functools.lru_cache(maxsize=1)  # What was compiled is kept on disk next.
def on_arrays(source: str) -> str:
    """Return a function that does with arrays what the code of a generated module does.

    Parameters
    ----------
    source : str
        The module.

    Returns
    -------
    str
        Python for a function of that name, which takes the inputs as arguments; it is for the
        module's scope and needs `ndarray_runtime.names`. Empty where the code needs tensors.
    """
    tree = ast.parse(source)
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "call"
    ]
    kernels = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).startswith("async_compile.")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if len(found) != 1:
        return ""
    try:
        return _rewritten(found[0], kernels)
    except _NeedsTensorsError:
        return ""


def _rewritten(function: ast.FunctionDef, kernels: set[str]) -> str:
    body = list(function.body)
    parameters: list[str] = []
    if body and isinstance(body[0], ast.Assign) and ast.unparse(body[0].value) == "args":
        target = body.pop(0).targets[0]  # type: ignore[attr-defined]
        if not isinstance(target, ast.Tuple):
            raise _NeedsTensorsError
        parameters = [ast.unparse(item) for item in target.elts]
    if body and ast.unparse(body[0]) == "args.clear()":
        body.pop(0)
    rewrite = _Rewriter(parameters, kernels)
    lines = [ast.unparse(ast.fix_missing_locations(rewrite.visit(node))) for node in body]
    text = "\n".join(lines) or "return ()"
    indented = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"def {ON_ARRAYS}({', '.join(parameters)}):\n{indented}\n"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, parameters: Sequence[str], kernels: set[str]) -> None:
        self.parameters = parameters
        self.kernels = kernels
        self.same: dict[str, str] = {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _PLAIN):
            raise _NeedsTensorsError(ast.unparse(node))
        return super().generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.same.pop(node.targets[0].id, None)
            if isinstance(node.value, ast.Name):
                self.same[node.targets[0].id] = self._first(node.value.id)
        return self.generic_visit(node)

    def _first(self, name: str) -> str:
        return self.same.get(name, name)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Make a view of what a result has already, or the caller: an array of its own."""
        if not isinstance(node.value, ast.Tuple):
            raise _NeedsTensorsError
        taken = set(self.parameters)
        items: list[ast.expr] = []
        for item in node.value.elts:
            new = self.visit(item)
            if isinstance(item, ast.Name):
                name = self._first(item.id)
                new = _parsed(f"again({item.id})") if name in taken else new
                taken.add(name)
            items.append(new)
        return ast.Return(ast.Tuple(items, ast.Load()))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node) not in DTYPES:
            raise _NeedsTensorsError(ast.unparse(node))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = ast.unparse(node.func)
        if called == _BUFFER:
            return self._buffer(node)
        if called == "reinterpret_tensor":
            node.func = ast.Name("view_of", ast.Load())
        elif called.startswith(f"{HOST_KERNELS}."):
            node.func = _parsed(called.replace(".", ".on_arrays.", 1))
        elif isinstance(node.func, ast.Attribute) and called not in _FUNCTIONS:
            return self._method(node.func, node)
        elif called not in self.kernels | _FUNCTIONS:
            raise _NeedsTensorsError(called)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def _method(self, method: ast.Attribute, call: ast.Call) -> ast.AST:
        owner = ast.unparse(self.visit(method.value))
        given = ", ".join(ast.unparse(self.visit(argument)) for argument in call.args)
        if method.attr == "item" and not given:
            return _parsed(f"{owner}.item()")
        if method.attr == "size":
            return _parsed(f"{owner}.shape[{given}]" if given else f"{owner}.shape")
        if method.attr == "stride" and given:
            return _parsed(f"{owner}.strides[{given}] // {owner}.itemsize")
        raise _NeedsTensorsError(ast.unparse(call))

    def _buffer(self, node: ast.Call) -> ast.AST:
        """Choose whose buffer it is: small ones in C order are NumPy's."""
        shape, strides = map(self.visit, node.args[:2])
        kind = ast.unparse(node.args[2])
        if kind not in DTYPES:
            raise _NeedsTensorsError(kind)
        by_torch = f"{_BUFFER}({ast.unparse(shape)}, {ast.unparse(strides)}, {kind}).numpy()"
        by_numpy = f"np_empty({ast.unparse(shape)}, {name_of(kind)})"
        if not (isinstance(shape, ast.Tuple) and isinstance(strides, ast.Tuple)):
            return _parsed(by_torch)
        if not _is_in_order(shape.elts, strides.elts):
            return _parsed(by_torch)
        most = _SMALL // DTYPES[kind].itemsize
        count, sizes = _factors(shape.elts)
        if not sizes:
            return _parsed(by_numpy if count <= most else by_torch)
        product = " * ".join([*([str(count)] if count != 1 else []), *sizes])
        return _parsed(f"{by_numpy} if {product} <= {most} else {by_torch}")


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _factors(sizes: Sequence[ast.expr]) -> tuple[int, list[str]]:
    """Return the product of sizes: of the numbers among its factors, and the others in order."""
    number = 1
    others: list[str] = []
    for size in sizes:
        if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
            count, more = _factors([size.left, size.right])
            number, others = number * count, others + more
        elif isinstance(size, ast.Constant) and isinstance(size.value, int):
            number *= size.value
        else:
            text = ast.unparse(size)
            others.append(text if isinstance(size, ast.Name | ast.Call) else f"({text})")
    return number, sorted(others)


def _is_in_order(shape: Sequence[ast.expr], strides: Sequence[ast.expr]) -> bool:
    """Whether elements surely lie in C order."""
    return all(
        _factors([stride]) == _factors(shape[i + 1 :])
        or (isinstance(shape[i], ast.Constant) and shape[i].value == 1)  # type: ignore[attr-defined]
        for i, stride in enumerate(strides)
    )


__all__ = ["HOST_KERNELS", "on_arrays"]
