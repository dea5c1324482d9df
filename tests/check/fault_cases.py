"""Functions with a fault planted into npaccel's computation of one of their lines.

A fault breaks one implementation of npaccel's table, or one operator. The line at
which a function parts from NumPy bears the comment "here".
"""

import dataclasses
import inspect
import operator

import numpy as np
import torch

from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._torch.dynamo.numpy import operations as numpy_operations

_numpy.load()


def broken_row(name, implementation=None, **fields):
    """Return a planter that replaces the implementation of a row; it's given the right one."""

    def plant(monkeypatch):
        row = table.row_named(name)
        changes = dict(fields)
        if implementation is not None:
            right = row.implementation
            changes["implementation"] = lambda *args, **kwargs: implementation(
                right, *args, **kwargs
            )
        bad = dataclasses.replace(row, **changes)
        monkeypatch.setitem(table._rows, name, bad)
        if row.numpy is not None:
            monkeypatch.setitem(table._by_object, id(row.numpy), bad)

    return plant


def broken_operator(op, implementation):
    """Return a planter that replaces the computation of an operator."""

    def plant(monkeypatch):
        original = numpy_operations.operator_operation

        def operation(asked):
            right = original(asked)
            if asked is not op:
                return right
            return numpy_operations.Operation(
                right.name,
                lambda *args: implementation(right.function, *args),
                right.zero_d,
                right.may_share,
            )

        monkeypatch.setattr(numpy_operations, "operator_operation", operation)

    return plant


CASES = {}


def case(plant, *args, warm_up=None):
    """Enter a function with a fault and the arguments of its call."""

    def enter(function):
        CASES[function.__name__] = (function, plant, args, warm_up)
        return function

    return enter


def line_of(function):
    """Return the number of the line that is marked."""
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))


X = np.linspace(-2.0, 3.0, 12)
M = X.reshape(3, 4)
I32 = np.arange(-5, 7, dtype=np.int32)


@case(broken_row("numpy.sqrt", lambda right, x: right(x).half()), np.abs(X).astype(np.float32))
def wrong_dtype(x):
    y = x + 1
    z = np.sqrt(y)  # here
    return z * 2


@case(broken_row("numpy.where", lambda right, c, a, b: right(c, a, a)), X)
def wrong_value_in_one_branch(x):
    up = x * 2
    down = x * 3
    y = np.where(x > 0, up, down)  # here
    return y - 1


@case(broken_operator(operator.setitem, lambda right, a, key, value: None), X)
def lost_write(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * 2  # here
    return y + x


@case(broken_operator(operator.setitem, lambda right, a, key, value: None), X)
def lost_mutation_of_an_argument(x):
    y = x * 2
    x[0] = y[1]  # here
    return y


@case(broken_operator(operator.imul, lambda right, a, b: a * b), X)
def lost_operator_in_place(x):
    y = np.sin(x)
    x *= 2  # here
    return y


factor = 2.0
_remembered = {}


def _stale(right, a, b):
    return right(a, _remembered.setdefault("factor", b))


@case(broken_row("numpy.multiply", _stale), X, warm_up=("factor", 3.0))
def stale_global(x):
    y = x + 1
    return np.multiply(y, factor)  # here


@case(broken_row("numpy.sum", zero_d="array"), X)
def scalar_turned_array(x):
    y = x * x
    total = np.sum(y)  # here
    return x, total


@case(broken_row("numpy.mean", lambda right, x, axis, keepdims: right(x, axis)), M)
def wrong_shape(m):
    shifted = m + 1
    return np.mean(shifted, axis=1, keepdims=True)  # here


@case(broken_operator(operator.floordiv, lambda right, a, b: (a / b).trunc().to(a.dtype)), I32)
def wrong_for_negatives(i):
    j = i + 0
    k = j // 2  # here
    return k * j


@case(
    broken_row("numpy.maximum", lambda right, a, b: torch.fmax(a, b)), np.array([1.0, np.nan, 3, 4])
)
def lost_nan(x):
    y = x[::-1].copy()
    return np.maximum(x, y)  # here


@case(broken_row("numpy.cumsum", lambda right, x, axis: right(x, 1 - axis)), M)
def wrong_axis(m):
    n = m.T
    return np.cumsum(n, axis=0)  # here


@case(broken_operator(operator.gt, lambda right, a, b: a >= b), I32)
def wrong_comparison(i):
    positive = i > 0  # here
    return np.where(positive, i, -1)


@case(broken_row("numpy.add", lambda right, a, b: a.to(torch.int16) + b), I32.astype(np.int8))
def wider_integer(i):
    return np.add(i, i)  # here


def _type_error(right, arrays):
    if type(arrays[0]) is torch.Tensor:  # Not while the function is captured.
        raise TypeError("no")
    return right(arrays)


@case(broken_row("numpy.concatenate", _type_error), X)
def exception_out_of_nothing(x):
    y = x * 2
    return np.concatenate((x, y))  # here


@case(broken_row("numpy.reshape", lambda right, x, shape: x), X)
def missing_exception(x):
    y = x * 2
    return np.reshape(y, (5, 5))  # here


@case(broken_row("numpy.argsort", lambda right, x: right(-x)), X)
def wrong_order(x):
    y = np.cos(x)
    order = np.argsort(y)  # here
    return x[order]


@case(broken_row("numpy.exp", lambda right, x, out: out), X)
def lost_out(x):
    y = np.ones_like(x)
    np.exp(x, out=y)  # here
    return y / 2


def _second_is_wrong(right, x):
    fraction, whole = right(x)
    return fraction, whole + 1


@case(broken_row("numpy.modf", _second_is_wrong), X)
def second_output(x):
    fraction, whole = np.modf(x)  # here
    return fraction + whole, whole


@case(broken_row("numpy.ndarray.sum", lambda right, x: right(x).int()), I32)
def narrower_sum(i):
    j = i * 3
    return j.sum()  # here


@case(broken_row("numpy.conjugate", lambda right, x: x), X + 1j)
def not_conjugated(z):
    w = np.conj(z)  # here
    return (w * z).real


@case(broken_row("numpy.ndarray.clip", lambda right, x, low, high: right(x, low, None)), X)
def half_a_clip(x):
    y = x * 3
    return y.clip(-1, 1) + 1  # here


def _third(y, i):
    if i == 2:
        return np.tanh(y)  # here
    return y + i


@case(broken_row("numpy.tanh", lambda right, x: right(x) * 1.001), X)
def in_a_helper_in_a_loop(x):
    for i in range(4):
        x = _third(x, i)
    return x


@case(broken_operator(operator.getitem, lambda right, a, key: right(a, key + 1)), I32)
def off_by_one(i):
    j = i * 2
    return j[-3]  # here


@case(broken_row("numpy.log1p", lambda right, x: right(x) + 1e-3), np.abs(X))
def after_a_branch_on_data(x):
    if x.sum() > 0:
        x = x * 2
    return np.log1p(x) - 1  # here


#: Where the marked line isn't in the function itself.
HELPERS = {"in_a_helper_in_a_loop": _third}
