"""Statements that Python runs keep their place among compiled ones, but where nothing can tell.

Each program takes an array for a Python number in its own way: what is computed of it after a
write mustn't be computed before.
"""

import linecache
import types

import numpy as np
import pytest

import npaccel

SOURCE = """
import contextlib
import numpy as np
K = 2.0
class Caught(Exception):
    pass
class Box:
    pass
def made():
    box = Box()
    box.size = np.arange(3.0)
    return box
BOX = made()
{before}
def program(x, n, box, pairs, *rest, **named):
    for i in range(n):
        x[i:] += i
    {bind}
    y = x * 2
    s[0] = y[0] + 9
    t = s * 2
    return t, s
"""
BINDS = {
    "function of NumPy with the name of a method": "s = np.indices((3,))[0]",
    "module imported in the function": "import numpy as other; s = other.indices((3,))[0]",
    "attribute of an object": "s = box.size",
    "attribute of its attribute": "s = box.inner.shape",
    "attribute of a local object": "own = box.inner; s = own.shape",
    "attribute of what a function makes": "own = made(); s = own.size",
    "attribute of a global object": "s = BOX.size",
    "attribute that is added to a number": "s = 0.0; s = s + box.size",
    "attribute of a class": "class Own: pass\n    Own.size = x.copy()\n    s = Own.size",
    "items of starred arguments": "for s, u in zip(*pairs): pass\n    s = u",
    "starred target": "a, *b = 1, n, x.copy()\n    s = b[1]",
    "pattern": "match pairs:\n        case (s, _): pass\n    s = s[0]",
    "caught": (
        "try:\n        raise Caught(x.copy())\n    except Caught as error:\n"
        "        s = error.args[0]"
    ),
    "other function with a builtin's name": "s = sum(n)",
    "one of either": "s = x.copy() if n else 3",
    "walrus": "if (s := x.copy()) is None: return",
    "rest of the arguments": "s = rest[0]",
    "named argument": "s = named['a']",
}
BEFORE = {"other function with a builtin's name": "def sum(n): return np.arange(3.0) + n"}


def loaded(text, name):
    """Return a program's function, whose source can be read."""
    file = f"<{name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = {"__name__": "programs"}
    exec(compile(text, file, "exec"), space)
    return space


def arguments():
    box = types.SimpleNamespace(
        size=np.arange(3.0) + 1, inner=types.SimpleNamespace(shape=np.arange(3.0) + 2)
    )
    pairs = tuple([np.arange(3.0) + 5, np.arange(3.0) + 6] for _ in range(2))
    return np.arange(3.0), 2, box, pairs, np.arange(3.0) + 1


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("kind", BINDS)
def test_that_what_may_be_an_array_is_read_after_writes(kind):
    text = SOURCE.format(before=BEFORE.get(kind, ""), bind=BINDS[kind])
    expected = loaded(text, kind)["program"](*arguments(), a=np.arange(3.0) + 4)
    jitted = npaccel.jit(loaded(text, kind)["program"], backend="eager")
    for got, want in zip(jitted(*arguments(), a=np.arange(3.0) + 4), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("bind", ["s = K", "s = box.size"])
def test_that_a_number_may_be_an_array_at_a_later_call(bind):
    text = SOURCE.format(before="", bind=bind).replace("    s[0]", "    if n == 3: s[0]")
    plain, space = loaded(text, bind), loaded(text, bind)
    jitted = npaccel.jit(space["program"], backend="eager")
    for n, make in ((2, lambda: 2.0), (3, lambda: np.arange(3.0))):
        results = []
        for function, names in ((plain["program"], plain), (jitted, space)):
            names["K"] = make()
            results.append(function(np.arange(3.0), n, types.SimpleNamespace(size=make()), ()))
        for want, got in zip(*results, strict=True):
            np.testing.assert_array_equal(got, want)
