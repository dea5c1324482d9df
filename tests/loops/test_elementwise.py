"""Which loop nests count as element-wise; nothing is compiled here."""

import ast
import subprocess
import sys

import numpy as np
import pytest
from nest_checking import function_of, nest_of

from npaccel._loops.nests.eligibility import examine
from npaccel._loops.nests.lowering import lower_nest

A = np.zeros((4, 5))
V = np.zeros(4)


def reason(text, **values):
    """Ask about the nest with this loop."""
    body = "\n".join(f"    {line}" for line in text.strip("\n").splitlines())
    source = f"def f({', '.join(values)}):\n{body}\n    return ()\n"
    return examine(ast.parse(source).body[0], values, {"np": np})[0]


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(1, 4):\n    a[i, 0] = a[i - 1, 0] + 1",
        "for i in range(4):\n    for j in range(5):\n        v[i] += a[i, j] * 2",
        "for i in range(4):\n    v[i] = a[i][1]",
        "for i in range(4):\n    row = a[i]\n    v[i] = row[0]",
        "for x in v:\n    a[0, 0] += x",
        "for i, x in enumerate(v):\n    a[i, 0] = np.sqrt(x)",
        "while v[0] < 3:\n    v[0] += 1",
        "for i in range(len(v)):\n    if v[i] > 0:\n        continue\n    v[i] = max(v[i], 1.0)",
    ],
)
def test_elements(text):
    assert reason(text, a=A, v=V) == ""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("for i in range(4):\n    a[i, ::2] = 0.0", "line 3: a slice with a step"),
        ("for i in range(4):\n    v[i] = a[i, :].sum(axis=0)", "line 3"),
        ("for i in range(4):\n    a[i] = 0.0", "line 3: a write to a row"),
        ("for i in range(4):\n    v += np.sort(a[:, 0])", "line 3"),
        ("for i in range(4):\n    v[i] = np.dot(v, v, None)", "line 3"),
        ("for i in range(4):\n    w = np.zeros(3)\n    v[i] = np.sum(a)", "line 4: `a`"),
        ("for i in range(4):\n    print(i)", "line 2: it doesn't read or write elements"),
    ],
)
def test_arrays(text, part):
    assert part in reason(text, a=A, v=V)


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(4):\n    a[i, 1:] = 0.0",
        "for i in range(4):\n    v[i] = a[:, :].sum()",
        "for i in range(4):\n    a *= 2",
        "for i in range(4):\n    a[i, 0] = np.dot(v, v)",
        "for i in range(1, 4):\n    a[i] = a[i - 1] + 1",
        "for i in range(4):\n    v[i] = a[i].sum()",
    ],
)
def test_small_arrays(text):
    large = np.zeros((200, 1 << 17)) if "a[i" in text else np.zeros((200, 100))
    assert reason(text, a=A, v=V) == ""
    assert "a large array" in reason(text, a=large, v=np.zeros(1 << 18))


def test_what_cannot_be_typed_is_element_wise_all_the_same():
    """`compile_nest` then says why it can't, and the loop isn't split into array code."""
    assert reason("for i in range(4):\n    v[i] = words[i]", v=V, words=["a"]) == ""


def test_dimensions_decide():
    text = "for i in range(4):\n    v[i] = v[i] * 2"
    assert reason(text, v=V) == ""
    assert "array" in reason("for i in range(4):\n    v[i] = abs(w[i] * 2)", v=V, w=A)


def test_numba_is_not_imported():
    code = (
        "import ast, sys, numpy as np\n"
        "from npaccel._loops.nests.eligibility import examine\n"
        "nest = ast.parse('def f(v):\\n for i in range(3):\\n  v[i] = i\\n return ()').body[0]\n"
        "assert examine(nest, {'v': np.zeros(3)}, {})[0] == ''\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def lowered(text, **values):
    source = f"def f({', '.join(values)}):\n{text}"
    return lower_nest.lower(nest_of(function_of(source)), values, {"np": np}, narrow=False)


@pytest.mark.parametrize(
    ("text", "bails"),
    [
        ("    for i in range(n):\n        v[i] = n * i + 1\n    return ()\n", False),
        ("    for i in range(n):\n        c += 1\n    return (c,)\n", False),
        ("    for i in range(n):\n        c = (c * 31 + i) % 65521\n    return (c,)\n", False),
        ("    for i in range(n):\n        c = (c << 1 ^ i) & 0xFFFF\n    return (c,)\n", False),
        ("    while 0 < c < n:\n        c += c + 1\n    return (c,)\n", False),
        ("    for i in range(n):\n        c *= 3\n    return (c,)\n", True),
        ("    for i in range(n):\n        c <<= 1\n    return (c,)\n", True),
        ("    for i in range(n):\n        c = c + c\n    return (c,)\n", True),
    ],
)
def test_bounds_of_python_ints(text, bails):
    """Copies of written arrays are kept only where an int may outgrow 64 bits."""
    assert lowered(text, v=V, n=4, c=1).bails == bails
