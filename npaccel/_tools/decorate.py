"""Decorate functions of a script and of its modules while their source is loaded.

The decorator comes next to the function, inside of its own ones, so that staticmethods,
properties and registries get the decorated function; line numbers stay.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

#: Makes the decorator of a function; is given the module's and the function's name.
Decorate = Callable[[str, str, Any], Any]
#: Says whether the functions of a module may be wanted: its name and its file.
WantsModule = Callable[[str, str], bool]
#: Says whether a function is: its module and its qualified name.
WantsFunction = Callable[[str, str], bool]

#: The name by which decorated code finds the decorator.
_NAME = "__npaccel_decorate__"
#: Decorators of other compilers, and npaccel's own: what they compile is left alone.
_COMPILERS = ("jit", "njit", "vectorize", "guvectorize", "stencil", "compile")


class _Decorator(ast.NodeTransformer):
    """Put the decorator on functions of a module and its classes, not on inner ones."""

    def __init__(self, wants: Callable[[str], bool], leave_compiled: bool) -> None:
        self.wants = wants
        self.leave_compiled = leave_compiled
        self.prefix = ""
        self.found: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        outer, self.prefix = self.prefix, f"{self.prefix}{node.name}."
        node.body = [self.visit(statement) for statement in node.body]
        self.prefix = outer
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        name = self.prefix + node.name
        if not self.wants(name) or (
            self.leave_compiled and any(map(_compiles, node.decorator_list))
        ):
            return node
        self.found.append(name)
        made = ast.Call(
            func=ast.Name(id=_NAME, ctx=ast.Load()), args=[ast.Constant(name)], keywords=[]
        )
        for part in ast.walk(made):
            ast.copy_location(part, node)
        node.decorator_list.append(made)
        return node


def _compiles(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return ast.unparse(decorator).rpartition(".")[2] in _COMPILERS


class Source:
    """Change of source: which functions are decorated, and by what.

    Parameters
    ----------
    wants_module : callable
    wants_function : callable
    decorate : callable
        Is given module, qualified name and function, and returns what takes its place.
    leave_compiled : bool
        Whether functions with a compiler's decorator are left as they are.

    Attributes
    ----------
    found : set of tuple
        Module and name of every function that was decorated.
    """

    def __init__(
        self,
        wants_module: WantsModule,
        wants_function: WantsFunction,
        decorate: Decorate,
        *,
        leave_compiled: bool = False,
    ) -> None:
        self.wants_module = wants_module
        self.wants_function = wants_function
        self.decorate = decorate
        self.leave_compiled = leave_compiled
        self.found: set[tuple[str, str]] = set()

    def code(self, text: str | bytes, file: str, module: str) -> types.CodeType:
        """Compile a module's source with its functions decorated."""
        return compile(self.tree(ast.parse(text, file), module), file, "exec", dont_inherit=True)

    def tree(self, tree: ast.Module, module: str) -> ast.Module:
        """Decorate the functions of a syntax tree."""
        visitor = _Decorator(lambda name: self.wants_function(module, name), self.leave_compiled)
        visitor.visit(tree)
        self.found |= {(module, name) for name in visitor.found}
        return tree

    def names(self, module: str) -> dict[str, Any]:
        """Return what decorated code of a module refers to."""

        def decorate(name: str) -> Callable[[Any], Any]:
            return lambda function: self.decorate(module, name, function)

        return {_NAME: decorate}

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Decorate in modules that are imported until the block ends."""
        finder = _Finder(self)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)


class _Finder(importlib.abc.MetaPathFinder):
    """Find modules as Python does, and load some of them decorated."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module whose functions are wanted."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if not self.source.wants_module(fullname, spec.origin or ""):
            return None
        spec.loader = _Loader(self.source, fullname, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Load a module with its functions decorated; its bytecode isn't kept."""

    def __init__(self, source: Source, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self.source = source

    def get_code(self, fullname: str) -> types.CodeType:
        """Compile the module's decorated source."""
        return self.source.code(self.get_data(self.path), self.path, fullname)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module."""
        module.__dict__.update(self.source.names(module.__name__))
        super().exec_module(module)
