"""What a split function stores in objects of the user's is an array, and the one that it was."""

import numpy as np
import pytest
import torch

import npaccel


class Owner:
    def __init__(self):
        self.a = np.arange(6.0).reshape(3, 2)
        self.items, self.table, self.known = [], {}, None

    def made(self, x):
        """Return what NumPy makes between two regions, as the result of a call is."""
        for _ in range(2):
            print(end="")
        x += len(self.items)
        return self.a + 1

    def sums(self):
        for row in self.a:
            self.items.append(row.sum())

    def a_new_attribute(self, x):
        for row in self.a:
            self.items.append(row.sum())
        self.b = self.made(x)
        return self.b + 1

    def a_known_attribute(self, x):
        for row in self.a:
            self.items.append(row.sum())
        self.known = self.made(x)
        self.b = self.known
        return self.known[::-1]

    def an_item(self, x):
        for row in self.a:
            self.items.append(row.sum())
        self.table["a"] = made = self.made(x)
        self.b = [made, (made,)]
        return made * 2

    def deleted(self, x):
        for row in self.a:
            self.items.append(row.sum())
        self.b = made = self.made(x)
        self.c = made + 1
        del self.c
        return made - 1


def stored(one):
    """Return all objects in an owner, those in lists, tuples and dicts too."""
    found, todo = [], [*vars(one).values()]
    while todo:
        value = todo.pop()
        found.append(value)
        todo += value.values() if isinstance(value, dict) else ()
        todo += value if isinstance(value, list | tuple) else ()
    return found


NAMES = ["a_new_attribute", "a_known_attribute", "an_item", "deleted"]


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_stay_arrays(name, dynamic, backend):
    jitted = npaccel.jit(
        getattr(Owner, name), backend=backend, compile="now", default_float="float64",
        dynamic=dynamic, cache=False,
    )  # fmt: skip
    ours, numpys = Owner(), Owner()
    for size in (2, 2, 3, 4):
        ours.a = numpys.a = np.arange(3.0 * size).reshape(3, size)
        x = np.ones((3, size))
        np.testing.assert_array_equal(jitted(ours, x.copy()), getattr(Owner, name)(numpys, x))
        found, wanted = stored(ours), stored(numpys)
        assert [type(one) for one in found] == [type(one) for one in wanted]
        assert not any(isinstance(one, torch.Tensor) for one in found)
        for one, other in zip(found, wanted, strict=True):
            if isinstance(one, np.ndarray):
                np.testing.assert_array_equal(one, other)
