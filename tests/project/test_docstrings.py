"""Docstrings, and comments on constants, begin with an imperative verb or with a noun."""

import ast
import re
from pathlib import Path

import pytest

import npaccel

PACKAGE = Path(npaccel.__file__).parent
#: First words of half sentences: "What calls share", "So many bytes", "Of each bin".
FORBIDDEN = re.compile(
    r"(After|And|Are|As|At|Because|But|By|For|From|Here|How|If|In|Is|It|It's|Its|Let|Not|Of|On|Only|"
    r"Or|So|That|There|These|This|Those|To|Told|What|When|Where|Which|Who|Whose|Why|With|"
    r"Without)(?![\w'])"
)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def beginnings(source):
    """Yield line and first line of each docstring, and of each comment that is one."""
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if text:
            yield node.body[0].lineno, text.splitlines()[0]
    lines = source.splitlines()
    for i, line in enumerate(lines):
        comment = re.match(r" *#: (.*)", line)
        if comment and not re.match(r" *#:", lines[i - 1]):
            yield i + 1, comment[1]


def half_sentences(source):
    return [(line, text) for line, text in beginnings(source) if FORBIDDEN.match(text)]


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
    assert half_sentences(f'def f():\n    """{text}"""\n') == [(2, text)]
    assert half_sentences(f"#: {text}\n#: What not.\nA = 1\n") == [(1, text)]


def test_other_sentences_are_left():
    assert not half_sentences('"""Whether calls share."""\n#: Number of bins.\nA = 1\n')


@pytest.mark.parametrize(
    "path",
    sorted(path for path in PACKAGE.glob("_*/**/__init__.py")),
    ids=lambda path: path.parent.relative_to(PACKAGE).as_posix(),
)
def test_a_private_package_says_what_it_does_in_a_few_lines(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert 5 <= len(text.splitlines()) <= 15
