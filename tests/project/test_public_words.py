"""Texts for users keep to the words of the glossary, which is short."""

import ast
import re
from pathlib import Path

import pytest

import npaccel

PACKAGE = Path(npaccel.__file__).parent
ROOT = PACKAGE.parent
#: What the glossary has other words for: iteration, subgraph, implementation, fix.
OTHERS = re.compile(r"\b(turns?|pieces?|forms?|mend(s|ed|ing)?)\b", re.IGNORECASE)
#: Where they mean something else.
MEANT = re.compile(r"turns? (up|out|into)|Schur form", re.IGNORECASE)


def found(text):
    return [one.group() for one in OTHERS.finditer(MEANT.sub("", text))]


def test_the_glossary_is_short_and_sorted():
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(\w[\w ]*)\n  \S", page, re.MULTILINE)
    assert 20 < len(terms) <= 30
    assert terms == sorted(terms, key=str.lower)
    assert not found(page)


FOLDERS = [ROOT / "docs", *(ROOT / "docs" / name for name in ("guide", "reference"))]
PAGES = [ROOT / "README.md", *(page for one in FOLDERS for page in sorted(one.glob("*.md")))]
PAGES += sorted((ROOT / "docs/design").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page):
    assert not found(page.read_text(encoding="utf-8"))


def texts(path):
    """Yield the texts of a module that users may read: with words, and no docstrings of ours."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ours:
            yield node.lineno, node.value


def test_messages():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in texts(path)
        if " " in text and found(text)
    ]
    assert not wrong


@pytest.mark.parametrize("name", npaccel.__all__)
def test_public_docstrings(name):
    thing = getattr(npaccel, name)
    members = vars(thing) if isinstance(thing, type) else {}
    public = [member for name, member in members.items() if not name.startswith("_")]
    assert not [word for one in (thing, *public) for word in found(one.__doc__ or "")]
