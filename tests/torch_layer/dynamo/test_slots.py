"""What Python's operators and builtins do with arrays, in whatever slot Dynamo looks it up."""

import copy
import math
import operator
import re
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from sweep import FULL

import npaccel
from npaccel._torch.importing import load_compiler

load_compiler()
from torch._dynamo.variables.base import VariableTracker  # noqa: E402 (imports the compiler)

from npaccel._torch import patches  # noqa: E402

VALUES = {
    "floats": np.arange(1.0, 4.0),
    "ints": np.arange(1, 4),
    "bools": np.array([True, False, True]),
    "complex": np.arange(3) * (1 + 2j),
    "none": np.zeros(0),
    "0-d": np.array(2.0),
    "float": np.float64(2.5),
    "int": np.int64(2),
    "bool": np.True_,
}
OTHERS = {
    "list": [1, 2, 3],
    "tuple": (1.0, 2.0, 3.0),
    "None": None,
    "int": 2,
    "float": 1.5,
    "str": "ab",
    "bool": True,
    "rows": np.arange(1, 7).reshape(2, 3),
    "scalar": np.float32(3.5),
}
UNARY = {
    **{f.__name__: f for f in (abs, len, int, float, complex, bool, hash, list, tuple, sum, min)},
    **{f.__name__: f for f in (max, sorted, any, all, callable, round, copy.copy, copy.deepcopy)},
    **{f.__name__: f for f in (operator.neg, operator.pos, operator.invert, operator.not_)},
    **{f.__name__: f for f in (operator.truth, operator.index, math.floor, math.trunc)},
    "round to digits": lambda a: round(a, 1),
    "iteration": lambda a: [x * 2 for x in a],
    "reversed": lambda a: list(reversed(a)),
    "enumerate": lambda a: [i * x for i, x in enumerate(a)],
    "zip": lambda a: [x + y for x, y in zip(a, a, strict=True)],
    "map": lambda a: [*map(operator.neg, a)],
    "unpacked": lambda a: [*a],
    "str": lambda a: (str(a), repr(a), f"{a}"),
    "type": lambda a: (type(a).__name__, a.__class__.__name__),
    "parts": lambda a: (a.T, a.real, a.imag, a.flat[0:2]),
    "sizes": lambda a: (a.ndim, a.itemsize, a.shape, a.size, a.nbytes, a.dtype),
    "layout": lambda a: (a.strides, a.flags.writeable),
    "base": lambda a: a.base is None,
    "hasattr": lambda a: (hasattr(a, "T"), hasattr(a, "foo"), getattr(a, "foo", 3)),
    "isinstance": lambda a: [isinstance(a, kind) for kind in (np.ndarray, np.generic, float, int)],
    "item of a list": lambda a: [5, 6, 7, 8][a],
    "range": lambda a: list(range(a)),
    "a list times": lambda a: [1, 2] * a,
    "__len__": lambda a: a.__len__(),
    "__iter__": lambda a: [*a.__iter__()],
    "__neg__": lambda a: a.__neg__(),
    "__bool__": lambda a: a.__bool__(),
    "__float__": lambda a: a.__float__(),
    "__index__": lambda a: a.__index__(),
    "__getattribute__": lambda a: a.__getattribute__("ndim"),
    "item": lambda a: (a.item(), a.tolist()),
    "in": lambda a: 2.0 in a,
}
BINARY = {
    **{
        name: getattr(operator, name)
        for name in (
            *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift"),
            *("and_", "or_", "xor", "lt", "le", "eq", "ne", "gt", "ge", "is_", "is_not"),
            *("contains", "getitem", "concat", "iadd", "isub", "imul", "itruediv", "ifloordiv"),
            *("imod", "ipow", "imatmul", "iand", "ior", "ixor", "iconcat", "indexOf", "countOf"),
        )
    },
    "divmod": divmod,
    "pow()": lambda a, b: pow(a, b),
    "pow() of three": lambda a, b: pow(a, b, None),
    "__add__": lambda a, b: a.__add__(b),
    "__radd__": lambda a, b: a.__radd__(b),
    "__eq__": lambda a, b: a.__eq__(b),
    "__pow__": lambda a, b: a.__pow__(b),
    "__iadd__": lambda a, b: a.__iadd__(b),
    "__contains__": lambda a, b: a.__contains__(b),
}


def described(value):
    """What a user sees of a result: types, dtypes, shapes, values, whether it can be written to."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [described(one) for one in value]
    if isinstance(value, np.ndarray):
        # `**` of complex numbers differs in the last digit.
        shown = np.round(value, 12) + 0 if value.dtype.kind == "c" else value
        return str(value.dtype), value.shape, repr(shown.tolist()), value.flags.writeable
    if isinstance(value, complex):
        return type(value).__name__, repr(complex(np.round(value, 12) + 0))
    return type(value).__name__, repr(value)


def outcome(function, *args):
    args = copy.deepcopy(args)
    try:
        found = described(function(*args))
    except Exception as error:  # noqa: BLE001 (of all types)
        found = type(error).__name__
    return found, described(args)


def differences(function, calls):
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, args in calls.items():
            jitted = npaccel.jit(
                lambda *values: function(*values),
                default_float="float64", backend="eager", cache=False,
            )  # fmt: skip
            wanted, got = outcome(function, *args), outcome(jitted, *args)
            if wanted != got:
                found[name] = wanted, got
    return found


@pytest.mark.parametrize("name", UNARY)
def test_of_one(name):
    """With every other value, by turns; all of them in a full sweep."""
    first, step = (0, 1) if FULL else (list(UNARY).index(name) % 2, 2)
    calls = {kind: (VALUES[kind],) for kind in list(VALUES)[first::step]}
    assert differences(UNARY[name], calls) == {}


@pytest.mark.parametrize("name", BINARY)
def test_of_two(name):
    """With one of three operands each, by turns; all of them in a full sweep."""
    calls, place = {}, list(BINARY).index(name)
    for i, kind in enumerate(("floats", "bools", "float")):
        for j, (other, operand) in enumerate(OTHERS.items()):
            if (i + j + place) % 3 and not FULL:
                continue
            calls[f"{kind}, {other}"] = VALUES[kind], operand
            if "__" not in name:
                calls[f"{other}, {kind}"] = operand, VALUES[kind]
    assert differences(BINARY[name], calls) == {}


SLOT = re.compile(r"^(tp|nb|sq|mp|lookup)_|_impl$")
KNOWN = tomllib.loads(Path(__file__).parents[1].joinpath("slots.toml").read_text(encoding="utf-8"))


def replaced():
    found = {VariableTracker: set()}
    for patch in patches.PATCHES:
        is_class = isinstance(patch.owner, type)
        if patch.is_applied and is_class and issubclass(patch.owner, VariableTracker):
            found.setdefault(patch.owner, set()).add(patch.name)
    return found


@pytest.mark.parametrize("kind", replaced(), ids=lambda kind: kind.__name__)
def test_each_slot_of_what_is_replaced_was_read(kind):
    """One that is new may be asked before what npaccel replaces: a wrong answer without a word."""
    bases = (
        kind.__mro__ if kind is VariableTracker else set(kind.__mro__) - {*VariableTracker.__mro__}
    )
    slots = {name for base in bases for name in vars(base) if SLOT.search(name)}
    known = KNOWN.get(kind.__name__, {"slots": []})["slots"]
    assert sorted(slots - replaced()[kind] - {*known}) == []
