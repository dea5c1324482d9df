"""ARCHITECTURE.md names files and objects that are there, and answers a newcomer's questions."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
QUOTED = sorted(set(re.findall(r"`([^`\s]+)`", TEXT)))
PATHS = [name for name in QUOTED if "/" in name]
NAMES = [name for name in QUOTED if name.startswith("npaccel.") and "(" not in name]

#: What someone who carries the code on asks, and the file that the page has to lead to.
QUESTIONS = {
    "a NumPy function": "npaccel/_numpy/statistics/sorting.py",
    "a wrong guard": "npaccel/_runtime/guards.py",
    "a slow small call": "npaccel/_runtime/runner.py",
    "a kernel that isn't vectorised": "npaccel/_torch/inductor/cpp/vector_ops.py",
    "a lost cache entry": "npaccel/_cache/store.py",
}


def test_there_are_names():
    assert len(PATHS) > 20
    assert len(NAMES) > 15


@pytest.mark.parametrize("path", PATHS)
def test_a_file_is_there(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there(name):
    module, attributes = name, []
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            attributes.insert(0, last)
    for attribute in attributes:
        found = getattr(found, attribute)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_its_answer_in_one_line(question):
    lines = [line for line in TEXT.splitlines() if line.startswith(f"| {question}")]
    assert len(lines) == 1
    assert QUESTIONS[question] in lines[0]


def test_each_private_package_is_on_the_page():
    packages = {path.parent.name for path in (ROOT / "npaccel").glob("_*/__init__.py")}
    assert all(f"`npaccel/{package}`" in TEXT for package in packages)
