"""The page on troubleshooting has each class of npaccel's errors, and each fixed cause."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import npaccel
from npaccel._report import suggestions
from npaccel._runtime import error_translation, errstate
from npaccel._torch.dynamo import break_reasons

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/troubleshooting.md").read_text(encoding="utf-8")
#: What tells why something runs uncompiled, and which of its arguments is the cause.
TELLING = {"note": 1, "_noted": 2, "uncompiled": 1, "add_note": 0}
FOLDERS = ("_compiler", "_loops", "_runtime")
#: Notes that aren't about something that runs uncompiled.
OTHERS = {"float64 and complex128 arguments are cast to 32 bit a part"}


def words(text):
    """Return a text without marks and line ends, which a table on a page has otherwise."""
    return re.sub(r"[`\s]+", " ", text).strip(" ;,:.(")


ON_PAGE = words(PAGE)


def literal_parts(node):
    """Return the parts of a text that don't depend on the program."""
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.Constant)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def causes_in_sources():
    """Yield the longest fixed part of each cause, and where it's told."""
    for folder in FOLDERS:
        for path in sorted((ROOT / "npaccel" / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                place = TELLING.get(name)
                if place is None or len(node.args) <= place:
                    continue
                parts = [words(part) for part in literal_parts(node.args[place])]
                longest = max(parts, key=len, default="")
                if " " in longest and longest not in OTHERS:
                    yield longest, f"{path.name}:{node.lineno}"


def causes_of_errors():
    """Return the causes and remedies that `assumption_and_advice` has as literals."""
    tree = ast.parse(inspect.getsource(error_translation.assumption_and_advice))
    pairs = [n.value for n in ast.walk(tree) if isinstance(n, ast.Return)]
    texts = [part for pair in pairs if isinstance(pair, ast.Tuple) for part in pair.elts]
    parts = [max(literal_parts(text), key=len) for text in texts if literal_parts(text)]
    return [part for part in parts if words(part) != "so this call runs in NumPy"]


def causes_of_breaks():
    """Return the fixed parts of what is said of a line that isn't captured."""
    for _, answer in break_reasons._SENTENCES:
        if isinstance(answer, str):
            yield max(re.split(r"`?\\\d`?", answer), key=len)
    yield break_reasons.UNKNOWN


SOURCES = dict(causes_in_sources())
CONSTANTS = [
    "which can't be compiled",  # arguments that NumPy alone computes with
    errstate.CAUSE,
    errstate.ADVICE,
    error_translation.SHARED,
    error_translation.ELEMENTS,
    error_translation.REFUSED,
    error_translation.NO_MEMORY_IN_A_CALL[0],
    error_translation.NO_MEMORY_TO_COMPILE[0],
    *causes_of_errors(),
    *causes_of_breaks(),
]


def test_causes_are_found():
    assert len(SOURCES) > 6
    assert len(CONSTANTS) > 20


@pytest.mark.parametrize("name", npaccel.errors.__all__)
def test_each_class_has_a_row(name):
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1
    _, _, when, remedy, _ = re.split(r" ?\| ?", rows[0])
    assert when
    assert remedy


@pytest.mark.parametrize("cause", SOURCES)
def test_each_cause_in_the_sources_is_on_the_page(cause):
    assert cause in ON_PAGE, SOURCES[cause]


@pytest.mark.parametrize("cause", CONSTANTS)
def test_each_fixed_cause_is_on_the_page(cause):
    assert words(cause) in ON_PAGE


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in suggestions._FIXES])
def test_each_remedy_is_on_the_page(pattern):
    remedy = dict(suggestions._FIXES)[pattern]
    assert words(remedy) in ON_PAGE
