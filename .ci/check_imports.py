"""Check that one subpackage only touches torch's private parts.

Private are modules and names of torch with a leading underscore and everything
under ``torch.fx.experimental``. Imports, attribute chains that start at an
imported torch module, and module names given to ``import_module`` count.

Usage: ``python .ci/check_imports.py [FOLDER ...]`` (default: ``npaccel`` and
``examples``). Exit status 1 when something is found.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ("npaccel/_torch/", "npaccel/_runtime/torch/")
DEFAULT_FOLDERS = ("npaccel", "examples")
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
        if name in {"import_module", "__import__"} and node.args:
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
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            finder.visit(node)
    finder.found.clear()
    finder.visit(tree)
    return sorted(set(finder.found))


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
    lines = list(check(folders))
    print("\n".join(lines) if lines else "import rule: kept")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
