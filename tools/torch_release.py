"""List what a release of torch changes in what npaccel uses of it.

    python tools/torch_release.py OLD NEW

OLD and NEW are folders that hold the package ``torch`` (a site-packages folder, a checkout),
wheels, or versions, whose wheels pip downloads. Neither is imported. Found are, by npaccel's
module:

* private names that are gone, or have another signature or another source;
* replacements (`npaccel._torch.patching.Patch`) whose original is gone or changed, or exists where
  there was none;
* names of attributes that OLD defines somewhere in torch and NEW nowhere;
* methods that classes of npaccel's override and NEW's base class doesn't have;
* methods that are new in classes of which npaccel replaces others: one of them may be asked first.

A name that has only moved is still found where NEW imports it under the old name. Exit status 1
when something is gone. What changes in behaviour alone no static look can see: run the tests.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import hashlib
import itertools
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci"))

import check_imports  # type: ignore[import-not-found]  # noqa: E402 (lies in a hidden folder)

#: What is listed, the gravest first.
KINDS = ("gone", "exists now", "other signature", "other source", "new methods")
#: Where attributes are looked for that npaccel names.
_PRIVATE = ("torch._", "torch.fx.", "torch.utils._")
#: Names that torch makes when it's imported.
MADE_AT_IMPORT = frozenset(
    {
        "torch._assert_async",
        "torch._dynamo.config.patch",
        "torch._inductor.config.patch",
        "torch._is_functional_tensor",
    }
)
#: Functions and classes, attributes and variables that are set.
_DEFINITION = re.compile(
    r"\b(?:def|class) (\w+)|\.(\w+)\s*(?::[^=\n]+)?=|^\s*(\w+)\s*[:=]", re.MULTILINE
)
#: Names that say nothing about torch: Python's own, and those of every object.
_COMMON = frozenset(dir(object)) | frozenset(
    name for kind in (str, list, dict, set, tuple, type, BaseException) for name in dir(kind)
)


@dataclasses.dataclass(frozen=True, order=True)
class Change:
    """One difference between the releases.

    Parameters
    ----------
    module : str
        npaccel's module that it concerns.
    line : int
    kind : str
        One of `KINDS`.
    name : str
        Dotted name in torch.
    detail : str
    """

    module: str
    line: int
    kind: str
    name: str
    detail: str = ""

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"  line {self.line}: {self.kind}: {self.name}{detail}"


class Release:
    """The sources of one release of torch.

    Parameters
    ----------
    sources : dict
        Text by path, as in ``"torch/_dynamo/utils.py"``.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self.modules = {
            path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): text
            for path, text in sources.items()
        }
        self.packages = {
            path.removesuffix("/__init__.py").replace("/", ".")
            for path in sources
            if path.endswith("/__init__.py")
        }

    @classmethod
    def of(cls, place: str, folder: Path) -> Release:
        """Read a folder, a wheel, or the wheel of a version.

        Parameters
        ----------
        place : str
        folder : Path
            Where wheels are downloaded to.
        """
        path = Path(place)
        if not path.exists():
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
            folder = folder / place
            subprocess.run([*command, "-d", str(folder), f"torch=={place}"], check=True)
            (path,) = folder.glob("torch-*.whl")
        if path.is_file():
            with zipfile.ZipFile(path) as wheel:
                names = [name for name in wheel.namelist() if _is_source(name)]
                return cls({name: wheel.read(name).decode() for name in names})
        files = {file.relative_to(path).as_posix(): file for file in path.glob("torch/**/*.py")}
        if not files:
            raise click.UsageError(f"{place}: there is no package torch in it")
        return cls({name: file.read_text(encoding="utf-8") for name, file in files.items()})

    @functools.cache  # noqa: B019 (there are two releases)
    def names(self, module: str) -> dict[str, ast.AST]:
        """Return what a module defines or imports, by name."""
        return dict(_bound(ast.parse(self.modules[module]).body))

    @functools.cache  # noqa: B019 (there are two releases)
    def starred(self, module: str) -> list[str]:
        """Return the modules of which a module imports all names, but for compiled ones."""
        bound = _bound(ast.parse(self.modules[module]).body)
        aliases = [node for name, node in bound if name == "*" and isinstance(node, ast.alias)]
        found = [self._imported(module, alias).removesuffix(".*") for alias in aliases]
        return [base for base in found if base in self.modules]

    def find(self, dotted: str, depth: int = 0) -> Any:
        """Return the syntax of what a dotted name stands for, None if there is no such name.

        True for modules, and for what torch has compiled, of which there is no source.
        """
        if dotted in self.modules or f"{dotted}.".startswith("torch._C."):
            return True
        parts = dotted.split(".")
        for n in range(len(parts) - 1, 0, -1):
            module = ".".join(parts[:n])
            if module in self.modules:
                return self._member(module, parts[n:], depth)
        return None

    def _member(self, module: str, parts: list[str], depth: int) -> Any:
        found: Any = self.names(module).get(parts[0])
        if depth > 20:
            return None
        if found is None:
            inherited = (self.find(".".join([b, *parts]), depth + 1) for b in self.starred(module))
            return next((one for one in inherited if one is not None), None)
        if isinstance(found, ast.alias):
            return self.find(".".join([self._imported(module, found), *parts[1:]]), depth + 1)
        for name in parts[1:]:
            if not isinstance(found, ast.ClassDef):
                return found  # An attribute of a value: not known.
            found = self.methods(module, found).get(name)
            if found is None:
                return None
        return found

    def _imported(self, module: str, alias: ast.alias) -> str:
        """Return the dotted name that an import binds."""
        node = getattr(alias, "npaccel_from", None)
        if node is None:
            return alias.name if alias.asname else alias.name.partition(".")[0]
        base = node.module or ""
        if node.level:
            package = module.split(".")
            package = package[: len(package) - node.level + (module in self.packages)]
            base = ".".join([*package, *filter(None, [node.module])])
        return f"{base}.{alias.name}"

    def methods(self, module: str, node: ast.ClassDef, depth: int = 0) -> dict[str, ast.AST]:
        """Return what a class and its bases within torch define, by name."""
        found: dict[str, ast.AST] = {}
        for base in reversed(node.bases):
            name = _dotted(base)
            if name is None or depth > 20:
                continue
            owner, kind = self._class(module, name)
            if kind is not None:
                found |= self.methods(owner, kind, depth + 1)
        return found | dict(_bound(node.body))

    def _class(self, module: str, name: str) -> tuple[str, ast.ClassDef | None]:
        """Return a class that a module calls so, and the module that defines it."""
        for _ in range(20):
            first, _, rest = name.partition(".")
            found = self.names(module).get(first)
            if isinstance(found, ast.ClassDef):
                return module, found if not rest else None
            if not isinstance(found, ast.alias):
                return module, None
            dotted = self._imported(module, found) + (f".{rest}" if rest else "")
            owner = next((m for m in _prefixes(dotted) if m in self.modules), None)
            if owner is None or owner == dotted:
                return module, None
            module, name = owner, dotted[len(owner) + 1 :]
        return module, None

    def class_named(self, dotted: str) -> tuple[str, ast.ClassDef | None]:
        """Return a class by its dotted name, and the module that defines it."""
        owner = next((m for m in _prefixes(dotted) if m in self.modules), None)
        if owner is None or owner == dotted:
            return "", None
        return self._class(owner, dotted[len(owner) + 1 :])

    @functools.cached_property
    def defined(self) -> dict[str, str]:
        """Where each name of a function, class or class's member is first defined."""
        found: dict[str, str] = {}
        for module, text in self.modules.items():
            if not module.startswith(_PRIVATE):
                continue
            for name in filter(None, itertools.chain(*_DEFINITION.findall(text))):
                found.setdefault(name, module)
        return found


def _is_source(name: str) -> bool:
    return name.startswith("torch/") and name.endswith(".py")


def _prefixes(dotted: str) -> Iterator[str]:
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        yield ".".join(parts[:n])


def _bound(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.AST]]:
    """Yield what statements bind, those within `if`, `try` and `with` too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if isinstance(node, ast.ImportFrom):
                    alias.npaccel_from = node  # type: ignore[attr-defined]
                yield alias.asname or alias.name.partition(".")[0], alias
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield name.id, node
        for part in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                yield from _bound(getattr(node, part, []))


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def signature(node: Any) -> str:
    """Return what calls of a function or class look like, with decorators that change that."""
    if isinstance(node, ast.ClassDef):
        return signature(dict(_bound(node.body)).get("__init__"))
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    kinds = [_dotted(one) for one in node.decorator_list]
    kinds = [one for one in kinds if one in ("staticmethod", "classmethod", "property")]
    args = copy.deepcopy(node.args)
    for one in ast.walk(args):
        if isinstance(one, ast.arg):
            one.annotation = None
    return " ".join([*map(str, kinds), ast.unparse(args)])


def digest(node: Any) -> str:
    """Return a digest of a definition's syntax."""
    text = ast.dump(node) if isinstance(node, ast.AST) else str(node)
    return hashlib.sha256(text.encode()).hexdigest()


# -- What npaccel uses ------------------------------------------------------------------------


@dataclasses.dataclass
class Use:
    """The uses of torch in one module of npaccel.

    Parameters
    ----------
    module : str
    private : list
        Line and dotted name of each private name, and the releases where it's used, if not all.
    patches : list
        Line, owner's dotted name, attribute by all its names, releases that are patched, and
        whether it's new.
    attributes : dict
        Line by name of an attribute.
    overrides : list
        Line, base's dotted name, and method.
    """

    module: str
    private: list[tuple[int, str, str]]
    patches: list[tuple[int, str, tuple[str, ...], str, bool]]
    attributes: dict[str, int]
    overrides: list[tuple[int, str, str]]


def uses() -> Iterator[Use]:
    """Yield what each module of npaccel uses that may touch torch's private parts."""
    for folder in check_imports.ALLOWED:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield _uses(module.removesuffix(".__init__"), text)


@functools.cache
def renamed() -> dict[str, tuple[str, ...]]:
    """Return the names that differ between releases by npaccel's name of them."""
    tree = ast.parse((ROOT / "npaccel/_torch/dynamo/releases.py").read_text(encoding="utf-8"))
    return {
        name: (node.value.body.value, node.value.orelse.value)
        for name, node in _bound(tree.body)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp)
        if isinstance(node.value.body, ast.Constant) and isinstance(node.value.orelse, ast.Constant)
    }


def _names(node: ast.expr) -> tuple[str, ...]:
    """Return what a patched attribute is called, by release."""
    if isinstance(node, ast.Constant):
        return (str(node.value),)
    return renamed().get(node.id, ()) if isinstance(node, ast.Name) else ()


def _releases(tree: ast.Module) -> dict[int, str]:
    """Return the releases in which lines run, where a module asks for some."""
    return {
        line: str(node.test.args[0].value)
        for node in tree.body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Call)
        if _dotted(node.test.func) == "is_release" and isinstance(node.test.args[0], ast.Constant)
        for part in node.body
        for line in range(part.lineno, (part.end_lineno or part.lineno) + 1)
    }


def _uses(module: str, text: str) -> Use:
    tree = ast.parse(text)
    aliases = check_imports.aliases(tree)

    def resolved(node: ast.expr) -> str | None:
        name = _dotted(node)
        if name is None:
            return None
        first, _, rest = name.partition(".")
        return ".".join(filter(None, [aliases.get(first, first), rest]))

    only_at = _releases(tree)
    found = check_imports.violations(text, module)
    use = Use(module, [(line, name, only_at.get(line, "")) for line, name in found], [], {}, [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            use.attributes.setdefault(node.attr, node.lineno)
        elif isinstance(node, ast.Call) and _dotted(node.func) == "Patch" and len(node.args) > 1:
            owner, name = node.args[:2]
            of = owner.value if isinstance(owner, ast.Constant) else resolved(owner)
            if isinstance(of, str) and of.startswith("torch") and (names := _names(name)):
                given = {word.arg: word.value for word in node.keywords}
                only = getattr(given.get("only"), "value", "")
                use.patches.append((node.lineno, of, names, only, "is_new" in given))
        elif isinstance(node, ast.ClassDef):
            for base in filter(None, map(resolved, node.bases)):
                use.overrides += [
                    (method.lineno, base, method.name)
                    for method in node.body
                    if isinstance(method, ast.FunctionDef) and base.startswith("torch")
                ]
    return use


# -- Comparing --------------------------------------------------------------------------------


def changes(old: Release, new: Release, release: str = "") -> list[Change]:
    """Return what differs in what npaccel uses.

    Parameters
    ----------
    old, new : Release
    release : str
        NEW's version, as far as it's known: replacements for other releases are left out.
    """
    found: dict[Change, None] = {}
    used = list(uses())
    for use in used:
        for line, name, only in use.private:
            if _covers(only, release):
                _compare(found, Change(use.module, line, "", name), old.find(name), new.find(name))
        for line, owner, names, only, is_new in use.patches:
            if _covers(only, release):
                before, after = (_first(one, owner, names) for one in (old, new))
                place = Change(use.module, line, "", f"{owner}.{names[0]}")
                _compare(found, place, before, after, is_new)
        found |= dict.fromkeys(_lost(use, old, new))
    found |= dict.fromkeys(_new_methods(used, old, new))
    return sorted(found)


def _lost(use: Use, old: Release, new: Release) -> Iterator[Change]:
    """Yield the overridden methods that no base class has any more, and attributes of nothing."""
    for line, base, name in use.overrides:
        before, after = old.find(f"{base}.{name}"), new.find(f"{base}.{name}")
        if before is not None and after is None and not name.startswith("__"):
            yield Change(use.module, line, "gone", f"{base}.{name}", "overridden here")
    for name, line in use.attributes.items():
        if name in old.defined and name not in new.defined and name not in _COMMON:
            where = f"an attribute that {old.defined[name]} defines"
            yield Change(use.module, line, "gone", name, where)


def _first(release: Release, owner: str, names: Iterable[str]) -> Any:
    """Return what a release has under one of several names."""
    found = (release.find(f"{owner}.{name}") for name in names)
    return next((one for one in found if one is not None), None)


def _compare(
    found: dict[Change, None], place: Change, before: Any, after: Any, is_new: bool = False
) -> None:
    if before is None:  # A name that npaccel adds, of another release, or made at import.
        if is_new and after is not None:
            found[dataclasses.replace(place, kind="exists now")] = None
        return
    if is_new:
        return
    kind = detail = ""
    if after is None:
        kind = "gone"
    elif signature(before) != signature(after):
        kind, detail = "other signature", f"({signature(before)}) is ({signature(after)})"
    elif digest(before) != digest(after) and not isinstance(before, ast.ClassDef):
        kind = "other source"
    if kind:
        found[dataclasses.replace(place, kind=kind, detail=detail)] = None


def _covers(only: str, release: str) -> bool:
    """Whether a release is one of some; all are where either isn't known."""
    if not only or not release:
        return True
    low, dash, high = only.partition("-")
    parts = tuple(map(int, release.split(".")[:2]))
    if parts < tuple(map(int, low.split("."))):
        return False
    return parts <= tuple(map(int, high.split("."))) if high else bool(dash) or low == release


def _new_methods(used: list[Use], old: Release, new: Release) -> Iterator[Change]:
    """Yield the methods that are new in classes of which others are replaced."""
    patched = {owner: (use.module, line) for use in used for line, owner, *_ in use.patches}
    for owner, (module, line) in patched.items():
        (where, before), (_, after) = old.class_named(owner), new.class_named(owner)
        if before is None or after is None:
            continue
        known = old.methods(where, before)
        kinds = (ast.FunctionDef, ast.Assign, ast.AnnAssign)
        names = [n for n, node in _bound(after.body) if n not in known and isinstance(node, kinds)]
        if names:
            yield Change(module, line, "new methods", owner, f"{', '.join(sorted(set(names)))}")


@click.command()
@click.argument("old")
@click.argument("new")
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only these kinds.")
def main(old: str, new: str, kind: tuple[str, ...]) -> None:
    """List what release NEW of torch changes in what npaccel uses of release OLD."""
    with tempfile.TemporaryDirectory() as folder:
        releases = [Release.of(place, Path(folder)) for place in (old, new)]
    number = _version(releases[1])
    found = [one for one in changes(*releases, number) if not kind or one.kind in kind]
    for module in dict.fromkeys(one.module for one in found):
        click.echo(module)
        for one in found:
            if one.module == module:
                click.echo(str(one))
    counts = [f"{sum(one.kind == each for one in found)} {each}" for each in KINDS]
    click.echo(", ".join(counts))
    sys.exit(any(one.kind in ("gone", "exists now") for one in found))


def _version(release: Release) -> str:
    """Return a release's number, empty if its sources don't tell it."""
    has_version = "torch.version" in release.modules
    node = release.names("torch.version").get("__version__") if has_version else None
    value = getattr(node, "value", None)
    text = value.value if isinstance(value, ast.Constant) else ""
    return ".".join(str(text).split(".")[:2])


if __name__ == "__main__":
    main()
