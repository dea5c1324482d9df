"""Dynamo's reasons for not capturing something, in words about the user's program.

What isn't known here gets one sentence for all. ``TORCH_LOGS=graph_breaks`` prints Dynamo's own.

Read from torch/_dynamo/exc.py, torch/_dynamo/graph_break_registry.json and the calls of
`unimplemented` in torch/_dynamo/variables of 2.11 and 2.13.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_NONE = "has no compiled implementation in npaccel"
#: Text where nothing better is known.
UNKNOWN = f"something in this line {_NONE}"
_LIBRARY = re.compile(r".*/(?:site-packages|python3\.\d+)/(.+?)(?:/__init__)?\.py$")
#: Words that only the compiler's own texts have in them.
_INSIDES = re.compile(
    r"Dynamo|dynamo|FX node|[Ff]ake|proxy|prox(y|ies)\b|\bVT\b|VariableTracker|\w+Variable\b|"
    r"\bSym(Int|Float|Bool|Node)|[Ss]ymbolic|[Uu]nbacked|torch|_impl\b|[Gg]uard|[Tt]race|"
    r"[Gg]raph[ -]break|subgraph|[Ii]nline|sourceless|[Rr]econstruct|mutation|Tensor\b|"
    r"\binternal|C slot|site-packages|HigherOrder"
)


def _error_of_call(found: re.Match[str]) -> str:
    """Return what a row of the table raises while it's traced."""
    called, kind = found["called"], found["kind"]
    text = re.sub(r"\\(['\"])", r"\1", found["text"]).replace("\\n", " ").strip()
    if kind in ("UnsupportedDtypeError", "NotImplementedError"):
        return f"{called}: {text}"
    return f"{called} raises {kind} here ({text})"


def _function_of_library(found: re.Match[str]) -> str:
    library = _LIBRARY.match(found["file"] or "")
    of = f" of {library[1].replace('/', '.')}" if library else ""
    return f"`{found['name']}`{of} {_NONE}"


#: Beginnings of Dynamo's texts, and what they say of a program.
_SENTENCES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"Dynamo failed to run FX node with fake tensors: \w+ <(?:function |built-in \w+ )?"
        r"(?P<called>[\w.]+).*\bgot (?P<kind>\w+)\((?P<quote>['\"])(?P<text>.*)(?P=quote)",
        _error_of_call,
    ),
    (
        r".*marked that the function `(?P<name>[^`]+)`(?: in file `(?P<file>[^`]+)`)?",
        _function_of_library,
    ),
    (r".*how to trace method `__new__` of class `type`", f"making such an object {_NONE}"),
    (r".*how to trace method `(\w+)` of class `(\w+)`", rf"`\1` of `\2` {_NONE}"),
    (r".*how to trace [\w ]*`ndarray\(", "an array is called as a function"),
    (r".*how to trace [\w ]*`_?([\w.]+)", rf"`\1` {_NONE}"),
    (r".*how to enter an? `([^`]+)` context manager", rf"`with` a `\1` {_NONE}"),
    (r".*support next\(\) on (\w+)", rf"`next` of a `\1` {_NONE}"),
    (r".*cannot trace (\w+)\(\) on (\w+)", rf"`\1` of a `\2` {_NONE}"),
    (r".*handle the bytecode instruction `(\w+)`", rf"Python's `\1` {_NONE}"),
    (r".*special method '(\w+)' implemented in C on .*type '(\w+)'", rf"`\1` of a `\2` {_NONE}"),
    (
        r".*data-dependent branching|.*[Dd]ata-dependent jump|.*dynamic control flow",
        "the way from here depends on values of arrays, which are known only while code runs",
    ),
    (r"Failed to find name `(\w+)`", r"the name `\1` isn't defined"),
    (r"Could not find an? .*variable with name `(\w+)`", r"the variable `\1` has no value here"),
    (
        r"Attempted to load uninitialized local variable (\w+)",
        r"the variable `\1` has no value here",
    ),
    (
        r".*reconstruct.*\bGeneratorVariable\b",
        "a generator of random numbers that is made here goes on to code that isn't compiled",
    ),
    (r"Failure when attempting to import", "what is imported here isn't found"),
    (
        r"Missing `as_proxy\(\)`",
        "a call here has an argument that is neither an array nor a number",
    ),
    (r"Cannot perform sort with", f"sorting by what is computed from arrays {_NONE}"),
)


def in_our_words(text: str) -> str:
    """Return a text of Dynamo as a sentence about the user's program; others as they are."""
    text = " ".join(text.split())
    if _NONE in text:
        return text
    for pattern, answer in _SENTENCES:
        found = re.match(pattern, text, re.DOTALL)
        if found is not None:
            return answer(found) if callable(answer) else found.expand(answer)
    return UNKNOWN if not text or _INSIDES.search(text) else text


def reason_in(text: str, category: str = "") -> str:
    """Return the explanation in a message of Dynamo, or its headline.

    Parameters
    ----------
    text : str
    category : str
        Dynamo's name of the cause: where a message has several, of that one.
    """
    lines = _lines_of(text, category)
    explanation = [line for line in lines if line.startswith("Explanation:")]
    if explanation:
        return in_our_words(explanation[0].removeprefix("Explanation:"))
    return in_our_words(lines[0] if lines else text)


def hint_in(text: str, category: str) -> str:
    """Return the first hint in a message of Dynamo, empty without one."""
    hints = [line for line in _lines_of(text, category) if line.startswith("Hint:")]
    return hints[0].removeprefix("Hint:").strip() if hints else ""


def _lines_of(text: str, category: str) -> list[str]:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[lines.index(category) :] if category in lines else lines


__all__ = ["UNKNOWN", "hint_in", "in_our_words", "reason_in"]
