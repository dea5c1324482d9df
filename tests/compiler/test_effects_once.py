"""The first call of integers has the effects of one call, also where NumPy's dtypes are found out.

By default floats are narrowed where no data are 64 bit. Which floats a call makes shows in NumPy;
then it's undone and made again. So what can't be undone must not be begun.
"""

import array
import collections
import copy
import dataclasses
import io
import itertools
import logging
import queue
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import xarray as xr

import npaccel
from npaccel._compiler.snapshot import Snapshot


class Counter:
    """Has a slot whose name is mangled."""

    __slots__ = ("__count",)

    def __init__(self):
        self.__count = 0

    def __call__(self):
        self.__count += 1

    def state(self):
        return self.__count


@dataclasses.dataclass(slots=True)
class Slot:
    at: object


def _count(kept):
    kept()


def _tell(kept):
    kept.info("told")


class Handler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def logger():
    found = logging.Logger("once")  # noqa: LOG001 (kept by nobody)
    found.addHandler(Handler())
    return found


def add_row(frame):
    frame.loc[len(frame)] = [7.0]


def set_item(kept):
    kept[0] = kept[0] + 1


def scale(kept):
    kept.data[:] = kept.data * 2


def add_column(kept):
    kept[f"c{len(kept.columns)}"] = 1.0


def drop(kept):
    kept.pop("c")


def rename(kept):
    kept.index = kept.index + 1


def write_minus_zero(kept):
    kept.iloc[1, 0] = -kept.iloc[1, 0]


def frame():
    return pd.DataFrame({"a": np.zeros(3)})


#: What makes an object, what a call does to it, and what shows that.
KINDS = {
    "DataFrame, item": (frame, lambda k: k.__setitem__("a", k["a"] + 1), pd.DataFrame.to_dict),
    "DataFrame, element": (frame, write_minus_zero, lambda k: np.signbit(k["a"]).tolist()),
    "DataFrame, row": (frame, add_row, pd.DataFrame.to_dict),
    "DataFrame, column": (frame, add_column, pd.DataFrame.to_dict),
    "DataFrame, fewer columns": (
        lambda: pd.DataFrame(np.zeros((2, 4)), columns=list("aabc")),
        drop, lambda k: list(k.columns),
    ),
    "DataFrame, index": (frame, rename, lambda k: list(k.index)),
    "Series": (lambda: pd.Series(np.zeros(3)), set_item, list),
    "text": (lambda: pd.Series(["a"]), lambda k: k.__setitem__(0, k[0] + "b"), list),
    "polars": (lambda: pl.Series([0], dtype=pl.Int32), lambda k: k.extend(k), list),
    "DataArray": (lambda: xr.DataArray(np.zeros(3, "f4")), set_item, lambda k: k.values.tolist()),
    "array.array": (lambda: array.array("d", [0.0]), lambda k: k.append(1.0), list),
    "sparse": (
        lambda: scipy.sparse.eye_array(3, format="csr", dtype="f4"),
        scale, lambda k: k.data.tolist(),
    ),
    "mangled slot": (Counter, _count, Counter.state),
    "slot": (lambda: Slot([0]), lambda k: k.at.append(1), lambda k: list(k.at)),
    "deque": (collections.deque, lambda k: k.append(1), list),
    "queue": (queue.Queue, lambda k: k.put(1), lambda k: list(k.queue)),
    "read-only dict": (
        lambda: types.MappingProxyType({"a": []}),
        lambda k: k["a"].append(1), lambda k: list(k["a"]),
    ),
    "memoryview": (lambda: memoryview(bytearray(2)), set_item, bytes),
    "generator": (
        lambda: (i for i in range(9)),
        lambda k: [v for v, _ in zip(k, "ab", strict=False)], list,
    ),
    "iterator": (lambda: iter(range(9)), lambda k: k.__next__(), list),
    "count": (itertools.count, lambda k: dict(zip("ab", k, strict=False)), next),
    "text stream": (io.StringIO, lambda k: k.writelines(["a"]), io.StringIO.getvalue),
    "logger": (logger, _tell, lambda k: k.handlers[0].lines),
    "bound method": (lambda: [0].append, lambda k: k(1), lambda k: list(k.__self__)),
    "bound method of a stream": (
        lambda: io.StringIO().write, lambda k: k("a"), lambda k: k.__self__.getvalue(),
    ),
}  # fmt: skip
X = np.arange(5, dtype=np.int32)


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("way", ["argument", "global", "closure", "attribute"])
@pytest.mark.parametrize(("make", "act", "state"), KINDS.values(), ids=KINDS)
def test_a_first_call_has_the_effects_of_one(make, act, state, way):
    """However the object is reached, one call changes it once."""
    wanted = make()
    act(wanted)
    kept = make()

    def argument(x, held):
        act(held)
        return np.sin(x)

    def closure(x):
        act(kept)
        return np.sin(x)

    def attribute(x, holder):
        act(holder.held)
        return np.sin(x)

    space = {"np": np, "act": act, "held": kept, "__name__": "user"}
    exec("def f(x):\n    act(held)\n    return np.sin(x)\n", space)
    calls = {
        "argument": (argument, (X, kept)),
        "global": (space["f"], (X,)),
        "closure": (closure, (X,)),
        "attribute": (attribute, (X, types.SimpleNamespace(held=kept))),
    }
    function, arguments = calls[way]
    npaccel.jit(function)(*arguments)
    assert state(kept) == state(wanted)


def shout():
    print("once")


def shouting(x):
    shout()
    return np.sin(x)


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_what_callees_print_is_printed_once(capsys):
    npaccel.jit(shouting)(X)
    assert capsys.readouterr().out == "once\n"


class Model:
    """Prints and logs in methods that `step` doesn't call."""

    def __init__(self):
        self.log = logging.getLogger("model")
        self.source = (i for i in range(3))
        self.state = X

    def __repr__(self):
        print("shown")
        return "Model"

    def summary(self):
        shout()
        self.log.info("%s", next(self.source))

    def step(self, x):
        self.state = self.state + x
        return np.sin(self.state)

    def loud(self, x):
        self.summary()
        return self.step(x)


def test_methods_that_are_not_called_do_not_count():
    """Only what the names in code lead to may not be undone."""
    model = Model()
    assert not Snapshot(Model.step, (model, X)).irreversible
    assert Snapshot(Model.loud, (model, X)).irreversible
    assert Snapshot(lambda held: held.source, (model,)).irreversible == "generator"


def test_what_is_found_in_two_ways_counts():
    """An object under a name that isn't used, and under one that is."""
    stream = io.StringIO()
    held = types.SimpleNamespace(one=stream, two=stream)
    assert Snapshot(lambda h: h.two, (held,)).irreversible == "StringIO"
    assert not Snapshot(lambda h: h.three, (held,)).irreversible
    assert Snapshot(lambda h, s: h.three, (held, stream)).irreversible == "StringIO"


@pytest.mark.parametrize(
    "value",
    [
        *(
            1,
            2.5,
            "a",
            None,
            ...,
            NotImplemented,
            slice(1),
            range(3),
            object(),
            np.sin,
            np.dtype("f4"),
        ),
        *(np.random.default_rng(0), itertools.chain, np.float32, len, [].append, np.errstate()),
        *(np.poly1d([1, 2]), np.polynomial.Polynomial([1]), np.vectorize(abs), np.ma.zeros(3)),
        *(scipy.sparse.eye_array(3), pd.Series([1]), pd.Index([1]), pd.Timestamp(0), frame()),
        *(Exception(1), types.SimpleNamespace(), collections.Counter("a"), Counter(), Slot(1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_usual_values_do_not_count(value):
    """NumPy makes first calls with them."""
    assert not Snapshot(lambda x: x, (value,)).irreversible


@pytest.mark.parametrize(("make", "act", "state"), KINDS.values(), ids=KINDS)
def test_check_leaves_what_it_can_as_it_was(make, act, state):
    """`check` calls several times; what has a way back is as before."""
    kept = make()

    def f(x):
        act(kept)
        return np.sin(x)

    if Snapshot(f, ()).irreversible:
        return
    before = copy.deepcopy(state(kept))
    npaccel.check(npaccel.jit(f, backend="eager", cache=False), X)
    assert state(kept) == before
