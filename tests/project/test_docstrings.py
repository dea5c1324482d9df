"""Docstrings begin with an imperative verb, or with a noun that says what a thing is."""

import ast
import re
from pathlib import Path

import pytest

import npaccel

PACKAGE = Path(npaccel.__file__).parent
#: First words of half sentences: "What calls share", "So many bytes", "Of each bin".
FORBIDDEN = frozenset(
    ["after", "and", "are", "as", "at", "because", "but", "by", "for", "from", "here", "how", "if", "in", "is", "it", "it's", "its", "let", "not", "of", "on", "only", "or", "other", "so", "that", "there", "these", "this", "those", "to", "told", "what", "when", "where", "which", "who", "whose", "why", "with", "without"]
)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def half_sentences(source):
    """Yield line and first line of each docstring that begins so."""
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        first = re.match(r"[A-Z][\w']*", text or "")
        if first and first[0].lower() in FORBIDDEN:
            yield node.body[0].lineno, text.splitlines()[0]


@pytest.mark.parametrize(
    "path",
    sorted(path for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"),
    ids=lambda path: path.name,
)
def test_no_half_sentences(path):
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    found = [
        f"{file.relative_to(PACKAGE)}:{line}: {text}"
        for file in files
        for line, text in half_sentences(file.read_text(encoding="utf-8"))
    ]
    assert not found


@pytest.mark.parametrize("text", ["What calls share.", "Let others call.", "Of each bin."])
def test_a_half_sentence_is_found(text):
    assert list(half_sentences(f'def f():\n    """{text}"""\n')) == [(2, text)]


def test_constants_begin_so_too():
    found = [
        f"{file.relative_to(PACKAGE)}: {line.strip()}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.match(r" *#: (So (many|much|often)|By how much) ", line)
    ]
    assert not found
