"""Check which parts of npaccel may import what.

1. Only two subpackages touch torch's private parts. Private are modules and names of torch with a
   leading underscore and everything under ``torch.fx.experimental``. Imports, attribute chains that
   start at an imported torch module, and module names given to ``import_module`` count.
2. Packages import downward, in the order of `LAYERS`; imports in functions and those for types
   count.
3. No modules import each other in a circle, but for those in `CIRCLES`.
4. Where torch is read, nothing asks an object whether it has an attribute: one that torch renames
   would be passed over without a word. What isn't torch's stands in `MAY_LACK`; Python's names with
   double underscores and npaccel's own marks are none of torch's.

Usage: ``python .ci/check_imports.py [FOLDER ...]`` (default: ``npaccel`` and
``examples``). Exit status 1 when something is found.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ("npaccel/_torch/", "npaccel/_runtime/torch/")
DEFAULT_FOLDERS = ("npaccel", "examples")
PACKAGE = "npaccel"
#: The packages and modules of npaccel, the lowest first.
LAYERS = (
    "errors",
    "_version",
    "_process",
    "_cache",
    "_report",
    "_runtime",
    "_syntax",
    "_numpy",
    "_torch",
    "_compiler",
    "_loops",
    "_verify",
    "_jit",
    "_transforms",
    "_check",
    "_scipy",
    "scipy",
    "_sklearn",
    "sklearn",
    "_dask",
    "dask",
    "_sharding",
    "testing",
    "_tools",
    "__main__",
)
#: The packages that import from one above, and why.
UPWARD: dict[tuple[str, str], str] = {}
#: The modules that import each other, each group by its first one.
CIRCLES: dict[str, str] = {}
#: The packages that read objects of torch's.
READS_TORCH = ("_torch", "_runtime", "_compiler")
#: What may be asked for there: module and object with attribute, and whose it is.
MAY_LACK = {
    "_compiler.caller_objects: owner.str(write.key)": "the user's objects",
    "_compiler.graph_breaks: frame.end_lineno": "Python's frames, from 3.11 on",
    "_compiler.invented_floats: builtins.name": "Python's functions",
    "_runtime.arguments: kind._fields": "named tuples",
    "_runtime.arguments: kind._make": "named tuples",
    "_runtime.containers: kind._fields": "named tuples",
    "_runtime.errstate: _umath._extobj_contextvar": "NumPy's settings",
    "_runtime.guard_serialization: part.co_exceptiontable": "Python's code, from 3.11 on",
    "_runtime.guards: sys.modules[found[1]].attribute[1]": "modules that a function reads",
    "_runtime.guards: value.arguments[0]": "objects that a function reads",
    "_runtime.opaque: kind.toarray": "sparse matrices",
    "_runtime.opaque: sys.modules.get(module).kind.__name__": "classes of libraries",
    "_runtime.opaque: type(value).m": "methods of the user's classes",
    "_runtime.runner: runner.for_key": "npaccel's runners",
    "_runtime.torch.huge_pages: mmap.MADV_HUGEPAGE": "Python's constant, on Linux",
    "_runtime.torch.malloc: ctypes.CDLL(None).mallopt": "the C library",
    "_runtime.torch.symbolic_sizes: error._MARK": "npaccel's mark",
    "_torch.dynamo.numpy.ndarray_methods: np.ndarray.name": "NumPy's methods",
    "_torch.dynamo.numpy.ndarray_methods: self.python_type().name": "NumPy's methods",
    "_torch.dynamo.numpy.operations: found._fields": "named tuples",
    "_torch.dynamo.numpy.operations: part.ndim": "numbers and arrays",
    "_torch.dynamo.numpy.scipy_objects: kind.name": "SciPy's objects",
    "_torch.dynamo.numpy.scipy_objects: self.kind.name": "SciPy's objects",
    "_torch.dynamo.numpy.scipy_objects: self.python_type().name": "SciPy's objects",
    "_torch.dynamo.numpy.vectorize: value.pyfunc": "NumPy's object",
    "_torch.dynamo.object_writes: kind.name": "the user's objects",
    "_torch.dynamo.object_writes: owner.name": "the user's objects",
    "_torch.dynamo.python.absent_attributes: kind.attr": "Python's containers",
    "_torch.dynamo.python.class_attributes: type(kind).name": "the user's classes",
    "_torch.fx_passes.nodes: node.target.name": "npaccel's operations in graphs",
    "_torch.inductor.compile: os.register_at_fork": "Python's function, where processes fork",
    "_torch.inductor.cpp.dynamic_parallelism: kernel._WORK": "npaccel's mark",
    "_torch.inductor.cpp.dynamic_parallelism: loop._NEST": "npaccel's mark",
    "_torch.inductor.portable_code: ExternKernels.node.attr": "npaccel's class",
    "_torch.leftovers: function.cache_clear": "functions under functools.lru_cache",
    "_torch.transforms.functional_forms: _is_written_out.now": "npaccel's, for each thread",
    "_torch.transforms.loop_forms: node.field": "Python's syntax trees",
    "_torch.transforms.loop_forms: node.handlers": "Python's syntax trees",
    "_torch.transforms.loop_forms: node.lineno": "Python's syntax trees",
}
PRIVATE_PREFIXES = ("torch.fx.experimental",)


def is_private(dotted: str) -> bool:
    """Say whether a dotted name that starts at torch is private."""
    first, *rest = dotted.split(".")
    if first != "torch":
        return False
    if any(dotted == p or dotted.startswith(p + ".") for p in PRIVATE_PREFIXES):
        return True
    return any(part.startswith("_") and not part.startswith("__") for part in rest)


class _Finder(ast.NodeVisitor):
    """Collect the private names that one module uses."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.found: list[tuple[int, str]] = []

    def check(self, node: ast.AST, dotted: str) -> None:
        if is_private(dotted):
            self.found.append((getattr(node, "lineno", 0), dotted))

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self.check(node, name.name)
            if name.asname:
                self.aliases[name.asname] = name.name
            else:
                top = name.name.partition(".")[0]
                self.aliases[top] = top

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None:
            return
        for name in node.names:
            dotted = f"{node.module}.{name.name}"
            self.check(node, dotted)
            self.aliases[name.asname or name.name] = dotted

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self.dotted(node)
        if dotted is None:
            self.generic_visit(node)
        else:
            self.check(node, dotted)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in {"import_module", "__import__", "load", "loaded"} and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                self.check(node, argument.value)
        self.generic_visit(node)

    def dotted(self, node: ast.expr) -> str | None:
        """Return the dotted name of an attribute chain that starts at an import."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])


def violations(source: str, filename: str = "<string>") -> list[tuple[int, str]]:
    """Return the line and the dotted name of each private use in a module's source.

    Parameters
    ----------
    source : str
        Python source.
    filename : str
        Name for syntax errors.

    Returns
    -------
    list of (int, str)
        Sorted by line.
    """
    tree = ast.parse(source, filename)
    finder = _Finder()
    # Imports first: a function may use a name that is imported further down.
    finder.aliases |= aliases(tree)
    finder.visit(tree)
    return sorted(set(finder.found))


def aliases(tree: ast.Module) -> dict[str, str]:
    """Return the dotted name of what each name stands for that a module imports."""
    finder = _Finder()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            finder.visit(node)
    return finder.aliases


def layer(module: str) -> str:
    """Return the package of npaccel that a module is in."""
    return module.split(".")[1] if "." in module else "__main__"


def imported(source: str, modules: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each module of npaccel that a module's source imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
            found = [name if name in modules else node.module for name in names]
        else:
            continue
        for name in dict.fromkeys(found):
            if name in modules and name != PACKAGE:
                yield node.lineno, name


def modules_of(root: Path) -> dict[str, Path]:
    """Return the files of npaccel's modules by name."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((root / PACKAGE).rglob("*.py"))
    }


@functools.cache
def imports_of(root: Path) -> dict[str, list[tuple[int, str]]]:
    """Return what each module of npaccel imports of npaccel: lines and names."""
    paths = modules_of(root)
    return {
        module: list(imported(path.read_text(encoding="utf-8"), frozenset(paths)))
        for module, path in paths.items()
    }


def upward(root: Path, allowed: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield one line of text for each import that goes upward and isn't allowed to."""
    paths = modules_of(root)
    met = set()
    for module, found in imports_of(root).items():
        for line, name in found:
            pair = layer(module), layer(name)
            if LAYERS.index(pair[1]) <= LAYERS.index(pair[0]):
                continue
            met.add(pair)
            if pair not in allowed:
                yield (
                    f"{paths[module].relative_to(root)}:{line}: {name} lies above {pair[0]}: hand "
                    "in what is needed, or move it down"
                )
    for lower, higher in sorted(set(allowed) - met):
        yield f"UPWARD: {lower} doesn't import from {higher} any more; take the line out"


def circles(root: Path, allowed: Mapping[str, str]) -> Iterator[str]:
    """Yield one line of text for each group of modules that import each other."""
    graph = {module: {name for _, name in found} for module, found in imports_of(root).items()}
    reached = {module: _reached(graph, module) for module in graph}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    met = {group[0] for group in groups}
    for group in sorted(groups):
        if group[0] not in allowed:
            yield f"{len(group)} modules import each other: {', '.join(group)}"
    for name in sorted(set(allowed) - met):
        yield f"CIRCLES: {name} is in none any more; take the line out"


def asked(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each attribute that a module asks for and may not get."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if (node.func.id, len(node.args)) not in (("hasattr", 2), ("getattr", 3)):
            continue
        owner, name = node.args[:2]
        is_text = isinstance(name, ast.Constant) and isinstance(name.value, str)
        attribute = name.value if is_text else ast.unparse(name)
        is_pythons = is_text and attribute.startswith("__") and attribute.endswith("__")
        is_own = is_text and attribute.lstrip("_").startswith("npaccel_")
        if not (is_pythons or is_own):
            yield node.lineno, f"{ast.unparse(owner)}.{attribute}"


def open_probes(root: Path, allowed: Mapping[str, str]) -> Iterator[str]:
    """Yield one line of text for each attribute that torch might lack one day, unnoticed."""
    met = set()
    for module, path in modules_of(root).items():
        if layer(module) not in READS_TORCH:
            continue
        for line, text in asked(path.read_text(encoding="utf-8")):
            key = f"{module.removeprefix(PACKAGE + '.')}: {text}"
            met.add(key)
            if key not in allowed:
                yield (
                    f"{path.relative_to(root)}:{line}: {text} is asked for as if it might not be "
                    "there: test the object's class and read it, or name whose it is in MAY_LACK"
                )
    for key in sorted(set(allowed) - met):
        yield f"MAY_LACK: {key} isn't asked for any more; take the line out"


def _reached(graph: Mapping[str, set[str]], module: str) -> set[str]:
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        for name in graph[waiting.pop()] - reached:
            reached.add(name)
            waiting.append(name)
    return reached


def check(folders: list[Path]) -> Iterator[str]:
    """Yield one line of text for each violation in the folders' modules."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            if shown.as_posix().startswith(ALLOWED):
                continue
            for line, name in violations(path.read_text(encoding="utf-8"), str(path)):
                yield (
                    f"{shown}:{line}: {name} is private to torch; "
                    f"call it through a function of {' or '.join(ALLOWED)}"
                )


def main(arguments: list[str]) -> int:
    """Print the violations and return the exit status."""
    folders = [Path(a).resolve() for a in arguments] or [ROOT / f for f in DEFAULT_FOLDERS]
    lines = [
        *check(folders),
        *upward(ROOT, UPWARD),
        *circles(ROOT, CIRCLES),
        *open_probes(ROOT, MAY_LACK),
    ]
    print("\n".join(lines) if lines else "import rule: kept")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
