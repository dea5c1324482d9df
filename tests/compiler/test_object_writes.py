"""Methods that change objects: later calls do it without Dynamo's frame, from disk too."""

import collections
import copy
import dataclasses
import threading
import typing
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
        self.log, self.weights = [], [np.ones(5), np.arange(5.0), 3.0]
        self.same = self.log
        self.stats = {"loss": 0.0, "n": 0, "u": np.ones(5), 3: "three", "log": []}
        self.counter, self.queue = collections.Counter(), collections.deque()

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

    def appends_alone(self, x):
        self.log.append(x.sum())
        self.t += 1
        return x * self.t

    def appends_several(self, x):
        self.log.append(x.mean())
        self.log.append(self.t)
        self.history.append("text")
        self.log.append(x * 2)

    def appends_tuples(self, x):
        self.log.append((self.t, self.dt, x * 2, "text", [x.max(), None]))
        self.t += 1

    def appends_what_it_returns(self, x):
        self.log.append(self.u)
        self.u = self.u + x
        self.log.append(self.u)
        return self.u

    def appends_an_argument(self, x):
        self.log.append(x)
        self.log.append(x[1:])
        return x * 2

    def appends_to_one_list_by_two_names(self, x):
        self.log.append(x.sum())
        self.same.append(x.max())
        return x + 1

    def appends_and_replaces(self, x):
        self.log.append(x.sum())
        self.log = []

    def appends_and_returns_the_list(self, x):
        self.log.append(x.sum())
        return self.log

    def appends_in_a_branch(self, x):
        if self.t % 2:
            self.log.append(x.sum())
        self.t += 1
        return x * self.t

    def appends_and_raises(self, x):
        self.log.append(x.sum())
        return x[self.log[0] > 0 and 9]

    def appends_objects(self, x):
        self.log.append(Part(2.0, x * 2))
        self.log.append({"x": x + 1, "t": self.t})

    def appends_items_of_another(self, x):
        self.log.append(self.weights[0])
        self.log.append(self.stats)
        return x * 2

    def extends(self, x):
        self.log.extend([x.sum(), 2.0])
        self.history += [x * 2]

    def inserts_and_makes_objects(self, x):
        self.log.insert(0, len(self.log))
        made = Part(1.0, x)
        return made.level, [made.data, x * 2], made

    def inserts(self, x):
        self.log.insert(0, x.sum())
        self.history.append(self.log[-1])

    def pops(self, x):
        self.log.append(x.sum())
        self.weights.append(self.weights.pop(0) + x)

    def items_of_lists(self, x):
        for i in range(2):
            self.weights[i] = self.weights[i] - 0.1 * x
        self.weights[-1] = self.weights[-1] + 1.0
        return self.weights[0]

    def swaps_items(self, x):
        self.weights[0], self.weights[1] = self.weights[1], self.weights[0]
        return self.weights[0] + x

    def items_of_items(self, x):
        self.weights[0] = x * 2
        self.parts[0] = self.parts[1]
        self.parts[0].level = 7.0
        return x + 1

    def items_of_dicts(self, x):
        self.stats["loss"] = x.sum()
        self.stats["n"] += 1
        self.stats["u"] = self.stats["u"] * 2 + x
        return self.stats["u"]

    def new_items(self, x):
        self.stats["fresh"] = x * 2
        self.stats[7] = x.max()
        return x + 1

    def numbered_items(self, x):
        self.stats[3] = "four"
        self.stats.update(loss=x.min(), n=2)
        return x + 1

    def lists_in_dicts(self, x):
        self.stats["log"].append(x.sum())
        self.stats["n"] = self.stats["n"] + 1
        return x * 2

    def deletes_items(self, x):
        self.stats["n"] = x.sum()
        self.stats.pop("loss", None)
        return x * 2

    def setdefault(self, x):
        self.stats.setdefault("late", x * 2)
        self.stats.setdefault("n", x)
        return x + 1

    def item_and_owner(self, x):
        self.stats["log"] = []
        self.stats["log"].append(x.sum())
        self.stats["u"] = x
        return self.stats

    def counters(self, x):
        self.counter["calls"] += 1
        self.queue.append(x.sum())
        return x * 2

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
            flat(value, f"{name}.{key}")

    def flat(value, name):
        found[name] = value
        if isinstance(value, list | tuple | dict | collections.deque):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, one in pairs:
                flat(one, f"{name}[{key!r}]")
            found[name] = type(value).__name__, len(value)
        elif hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            found[name] = type(value).__name__
            look(value, name)

    look(state, "")
    arrays = [name for name, value in found.items() if isinstance(value, np.ndarray)]
    same = [(a, b, np.shares_memory(found[a], found[b])) for a in arrays for b in arrays]
    writeable = [found[name].flags.writeable for name in arrays]
    owners = state.part is state.parts[0], state.parts[0] is state.parts[1]
    return found, same, writeable, owners, state.log is state.same


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
    *("scalars", "twice", "hidden", "slots", "setters"),
    *("appends_alone", "appends_several", "appends_an_argument"),
    *("appends_to_one_list_by_two_names", "appends_in_a_branch", "lists_in_dicts"),
    *("items_of_lists", "items_of_dicts", "numbered_items"),
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
    import test_object_writes as t
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


class Pair(typing.NamedTuple):
    first: list
    second: int


EMPTY, NAMES = [], {"k": None}


class Holder:
    def __init__(self):
        self.numbers, self.empty, self.nothing, self.nested = [1.0, 2.0], [], [None], [[]]
        self.arrays, self.table, self.none = [np.ones(3)], {"a": np.ones(3)}, {}
        self.pair, self.tuple = Pair([], 1), ([], {})


GIVEN_BACK = {
    "numbers": lambda h, x: (h.numbers, x * 2),
    "empty": lambda h, x: (h.empty, x * 2),
    "nothing": lambda h, x: (h.nothing, x * 2),
    "nested": lambda h, x: (h.nested, x * 2),
    "item": lambda h, x: (h.nested[0], x * 2),
    "arrays": lambda h, x: (h.arrays, x * 2),
    "table": lambda h, x: (h.table, x * 2),
    "none": lambda h, x: (h.none, x * 2),
    "pair": lambda h, x: (h.pair, x * 2),
    "tuple": lambda h, x: (h.tuple, x * 2),
    "global": lambda h, x: (EMPTY, x * 2),
    "global dict": lambda h, x: (NAMES, x * 2),
    "in a new list": lambda h, x: ([h.empty, h.none], x * 2),
    "in a new dict": lambda h, x: ({"a": h.empty}, x * 2),
    "new ones": lambda h, x: (([], {}, [None]), x * len(h.empty)),
}


def identities(found):
    """Return the ids of lists and dicts in a result, which the holder keeps alive."""
    if isinstance(found, dict | list | tuple):
        parts = found.values() if isinstance(found, dict) else found
        own = () if isinstance(found, tuple) else (id(found),)
        return [*own, *(one for part in parts for one in identities(part))]
    return []


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("backend", ["eager", pytest.param("inductor", marks=pytest.mark.inductor)])
@pytest.mark.parametrize("name", GIVEN_BACK)
def test_results_hold_the_callers_lists(name, backend):
    """Later calls and calls from disk give the caller's own lists back, and new ones as new."""
    function, holder = GIVEN_BACK[name], Holder()
    is_new = name.startswith(("in a new", "new"))
    for _ in range(2 if backend == "inductor" else 1):
        jitted = npaccel.jit(function, compile="now", backend=backend)
        kept = []
        for i in range(3):
            x = np.arange(3.0) + i
            ours, numpys = jitted(holder, x), function(holder, x)
            assert_same(ours, numpys)
            new = 0 if not is_new else 3 if name == "new ones" else 1
            assert identities(ours)[new:] == identities(numpys)[new:]
            assert not {*identities(ours)[:new]} & {one for old in kept for one in identities(old)}
            kept.append(ours)
    EMPTY.clear()


def test_results_hold_lists_as_they_are_later():
    """What a list holds by then, and which list stands there."""
    holder = Holder()
    jitted = npaccel.jit(GIVEN_BACK["empty"], compile="now", backend="eager")
    for i in range(4):
        found, _ = jitted(holder, np.ones(3))
        assert found is holder.empty
        assert found == [0] * (i % 2)
        found.append(0)
        if i % 2:
            holder.empty = []


def log_to(x, log):
    y = x * 2 + 1
    log.append(y.sum())
    return y


def step(state, dt):
    state["x"] = state["x"] + dt * state["v"]
    state["v"] = state["v"] * 0.99
    state["t"] += dt
    state["trace"].append(state["x"][0])
    return state


def step_weights(weights, gradients, rate):
    for i, gradient in enumerate(gradients):
        weights[i] = weights[i] - rate * gradient
    return weights


@pytest.mark.inductor
def test_lists_and_dicts_among_the_arguments():
    """Programs that keep their state in lists and dicts."""
    for _ in range(2):  # The second from disk.
        log, numpys_log = [], []
        state = {"x": np.zeros(4), "v": np.arange(4.0), "t": 0.0, "trace": []}
        numpys_state = copy.deepcopy(state)
        weights = [np.ones(3), np.arange(4.0)]
        numpys_weights = copy.deepcopy(weights)
        gradients = [np.full(3, 0.5), np.ones(4)]
        jitted = [npaccel.jit(one, compile="now") for one in (log_to, step, step_weights)]
        for i in range(5):
            x = np.arange(5.0) * i
            assert_same(jitted[0](x, log), log_to(x, numpys_log))
            assert jitted[1](state, 0.25) is state
            step(numpys_state, 0.25)
            assert jitted[2](weights, gradients, 0.1) is weights
            step_weights(numpys_weights, gradients, 0.1)
        assert_same(log, numpys_log)
        assert_same(state, numpys_state)
        assert_same(weights, numpys_weights, rtol=1e-13)
    for one in jitted:
        assert all(graph.loaded for graph in one.report().graphs)


class Mixed:
    """Objects whose parts are of another kind after a call."""

    shared = 0.5

    def __init__(self, other):
        self.a, self.b, self.n = np.arange(3.0), other, 1
        self.items, self.table = [np.ones(3)], {"v": np.ones(3)}
        self.slotted = Slotted()
        self.slotted.k = np.ones(3)

    def swaps(self, x, t):
        y = self.a * t + x if isinstance(self.a, np.ndarray) else x + t
        self.a, self.b = self.b, self.a
        return float(y.sum()), t, self.n

    def appends_another_kind(self, x, t):
        y = self.items[-1] * t + x
        self.items.append(t if isinstance(self.items[-1], np.ndarray) else x * 3)
        self.items.append(self.b)
        self.items.append(y)
        return float(y.sum()), t

    def items_of_a_dict(self, x, t):
        y = self.table["v"] * t + x
        self.table["w"] = self.table["v"]
        self.table["v"] = t if isinstance(self.table["v"], np.ndarray) else x
        self.table[f"new {len(self.table)}"] = self.b
        return float(y.sum()), float(t)

    def new_attributes(self, x, t):
        self.shared = self.shared + t
        self.fresh, self.a = self.a, t
        return float(x.sum()) * self.shared, t

    def slots(self, x, t):
        y = self.slotted.k * t + x
        self.slotted.k = t
        return float(y.sum()), t


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("other", [(1, 2.0), None, 2.5, [np.ones(2)], "text"], ids=repr)
@pytest.mark.parametrize(
    "name", ["swaps", "appends_another_kind", "items_of_a_dict", "new_attributes", "slots"]
)
def test_parts_become_of_another_kind(name, other, backend):
    """A second run of the frame, which looks where numbers go, reads what the first one has."""
    jitted = npaccel.jit(
        getattr(Mixed, name), backend=backend, compile="now", default_float="float64", cache=False
    )
    ours, numpys = Mixed(copy.copy(other)), Mixed(copy.copy(other))
    for i, t in enumerate((2, 3, 2.5, 4)):
        x = np.arange(3.0) + i
        assert_same(jitted(ours, x, t), getattr(Mixed, name)(numpys, x, t))
        for one in (ours, numpys):
            one.slotted = one.slotted.k
        assert_same(vars(ours), vars(numpys))
        assert list(ours.table) == list(numpys.table)
        for one in (ours, numpys):
            k, one.slotted = one.slotted, Slotted()
            one.slotted.k = k
