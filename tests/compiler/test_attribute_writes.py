"""Methods that set attributes: later calls set them without Dynamo's frame, from disk too."""

import copy
import dataclasses
import threading
from pathlib import Path

import children
import numpy as np
import pytest
from comparing import assert_same

import npaccel


@dataclasses.dataclass
class Part:
    level: float = 1.5
    data: np.ndarray = dataclasses.field(default_factory=lambda: np.arange(4.0))


class Slotted:
    __slots__ = ("k",)

    def __init__(self):
        self.k = 2.0


class Checked:
    def __init__(self):
        self._k = 1.0

    @property
    def k(self):
        return self._k

    @k.setter
    def k(self, value):
        self._k = value * 2


class Noisy:
    def __init__(self):
        self.k = 1.0

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        object.__setattr__(self, "last", name)


class State:
    total = 0.0

    def __init__(self):
        self.u = np.arange(5.0)
        self.v = np.ones(5)
        self.t, self.dt, self.flag, self.name = 0, 0.25, False, "start"
        self.part, self.parts, self.history = Part(), [Part(), Part()], []
        self.slotted, self.checked, self.noisy = Slotted(), Checked(), Noisy()
        self.result = None
        self.__hidden = 0.0

    def counts(self, x):
        self.t += 1
        return x * self.t

    def floats(self, x):
        self.dt *= 1.5
        return x + self.dt

    def replaces(self, x):
        self.u = self.u * 0.5 + x

    def replaces_and_returns(self, x):
        self.u = self.u + x
        return self.u

    def returns_the_old(self, x):
        old = self.u
        self.u = old + x
        return old

    def twice(self, x):
        self.u = self.v = self.u + x
        return self.u is self.v

    def swaps(self, x):
        self.u, self.v = self.v, self.u
        return self.u * x

    def keeps_argument(self, x):
        self.u = x
        return x * 2

    def writes_and_replaces(self, x):
        self.u[1:] += x[1:]
        self.v = self.u[::2]
        self.t = self.t + 2

    def constants(self, x):
        self.flag, self.name, self.result = True, "done", None
        return x + self.t

    def several(self, x):
        self.result = {"mean": x.mean(), "all": (x * 2, [x.sum(), 1])}
        return self.result

    def scalars(self, x):
        self.dt = x.sum()
        self.flag = x[0] > 1
        return x * self.dt

    def python_numbers(self, x):
        self.dt = float(x.sum())
        self.t = int(x[0])
        return self.dt * x

    def nested(self, x):
        self.part.level += 0.5
        self.part.data = self.part.data * self.part.level
        return self.part.data.sum() + x

    def replaces_an_owner(self, x):
        self.part = self.parts[0]
        self.part.level = 3.0
        return x * self.part.level

    def of_items(self, x):
        for part in self.parts:
            part.level = part.level + 1.0
        return x * self.parts[1].level

    def slots(self, x):
        self.slotted.k += 1.0
        return x * self.slotted.k

    def setters(self, x):
        self.checked.k = self.checked.k + 1.0
        return x * self.checked.k

    def noisy_ones(self, x):
        self.noisy.k = self.noisy.k + 1.0
        return x * self.noisy.k

    def new_attribute(self, x):
        self.fresh = x * 2
        return self.fresh

    def of_the_class(self, x):
        self.total = self.total + x.sum()
        return self.total

    def hidden(self, x):
        self.__hidden = self.__hidden + x.max()
        return self.__hidden

    def appends(self, x):
        self.history.append(x.sum())
        self.t += 1
        return len(self.history)

    def conditional(self, x):
        if self.t % 2:
            self.u = x * 2
        self.t += 1
        return self.u

    def read_only(self, x):
        self.v = np.broadcast_to(x[:1], (5,))
        return self.v

    def raises(self, x):
        self.t += 1
        self.u = self.u + x
        return self.u[self.t * 2]

    def with_numbers(self, x, step=3):
        self.t = step
        self.dt = self.dt + step
        return x * step


METHODS = sorted(name for name, one in vars(State).items() if callable(one) and name[0] != "_")


def seen(state):
    """Return the attributes of an object and of what it holds, and which arrays are one."""
    found = {}

    def look(one, name):
        slots = getattr(type(one), "__slots__", ())
        values = {slot: getattr(one, slot) for slot in slots} or vars(one)
        for key, value in values.items():
            if isinstance(value, list) and value and isinstance(value[0], Part):
                for i, part in enumerate(value):
                    look(part, f"{name}.{key}[{i}]")
            elif hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
                look(value, f"{name}.{key}")
            else:
                found[f"{name}.{key}"] = value

    look(state, "")
    arrays = [name for name, value in found.items() if isinstance(value, np.ndarray)]
    same = [(a, b, np.shares_memory(found[a], found[b])) for a in arrays for b in arrays]
    writeable = [found[name].flags.writeable for name in arrays]
    return found, same, writeable, state.part is state.parts[0]


def compare(name, calls=4, **options):
    """Make calls of a method, compiled and by NumPy, and compare results and objects."""
    ours, numpys = State(), State()
    options = {"compile": "now", "default_float": "float64", **options}
    jitted = npaccel.jit(getattr(State, name), **options)
    for i in range(calls):
        x = np.arange(5.0) + i
        results = []
        for call, state in ((jitted, ours), (getattr(State, name), numpys)):
            try:
                results.append(call(state, x.copy()))
            except IndexError as error:
                results.append(str(error)[:20])
        npaccel.wait()
        assert_same(*results)
        assert_same(*map(seen, (ours, numpys)))
    return jitted


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    compare(name, backend="eager")


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("name", METHODS)
def test_methods_compiled_behind(name):
    compare(name, calls=6, backend="eager", compile="behind")


WITHOUT_FRAME = [
    *("constants", "counts", "floats", "nested", "replaces", "replaces_and_returns"),
    *("scalars", "twice", "hidden"),
]


@pytest.mark.inductor
@pytest.mark.parametrize("name", WITHOUT_FRAME)
def test_kept_on_disk(name):
    graphs = compare(name).report().graphs
    assert not [graph.uncacheable for graph in graphs if graph.uncacheable]
    again = compare(name).report().graphs
    assert all(graph.loaded for graph in again)


@pytest.mark.parametrize("name", ["counts", "replaces", "nested"])
def test_few_signatures_behind(name):
    graphs = compare(name, calls=9, backend="eager", compile="behind").report().graphs
    assert len(graphs) <= 2


def test_other_objects_of_the_class():
    jitted = npaccel.jit(State.counts, backend="eager", compile="now")
    states = [State() for _ in range(6)]
    for i, state in enumerate(states):
        for _ in range(i):
            jitted(state, np.ones(3))
    assert [state.t for state in states] == list(range(6))


def test_threads_set_their_own_objects():
    jitted = npaccel.jit(State.replaces, backend="eager", compile="now")
    states = [State() for _ in range(6)]
    wanted = copy.deepcopy(states[0])
    for _ in range(20):
        wanted.replaces(np.ones(5))

    def run(state):
        for _ in range(20):
            jitted(state, np.ones(5))

    threads = [threading.Thread(target=run, args=(state,)) for state in states]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for state in states:
        np.testing.assert_array_equal(state.u, wanted.u)


@pytest.mark.inductor
def test_in_a_new_process():
    """A method with state runs from disk in another process, without the compiler."""
    source = """
    import test_attribute_writes as t
    import npaccel
    jitted = npaccel.jit(t.State.nested, compile="now", default_float="float64")
    state = t.State()
    for i in range(4):
        jitted(state, np.arange(5.0) + i)
    loaded = [graph.loaded for graph in jitted.report().graphs]
    answer(loaded=loaded, level=state.part.level, data=state.part.data.tolist(),
           dynamo="torch._dynamo" in sys.modules)
    """
    folder = Path(__file__).parent
    path = f"{folder}:{folder.parent / '_helpers'}"
    first = children.run(source, path=path)
    second = children.run(source, path=path)
    assert all(second["loaded"])
    assert not second["dynamo"]
    assert {**first, "loaded": 0, "dynamo": 0} == {**second, "loaded": 0, "dynamo": 0}
