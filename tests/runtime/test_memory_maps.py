"""Views of memory maps are memory maps, as in NumPy; what is computed of them are arrays."""

import numpy as np
import pytest
from comparing import assert_same

import npaccel


@pytest.fixture
def path(tmp_path):
    np.arange(12.0).tofile(tmp_path / "data")
    return tmp_path / "data"


def mapped(path, mode):
    return np.memmap(path, dtype=np.float64, mode=mode, shape=(3, 4))


def kind(value):
    """Type, shape, and whether it's of a file, and how that was opened."""
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(kind, value)]
    if isinstance(value, dict):
        return {name: kind(part) for name, part in value.items()}
    found = type(value).__name__, np.shape(value), getattr(value, "mode", None)
    return *found, getattr(value, "filename", None), getattr(value, "_mmap", None) is not None


def views(m):
    return {
        "slices": (m[1:], m[0], m[:, ::2], m[None], m[..., None], m[0:0]),
        "turned": (m.T, np.transpose(m), m.swapaxes(0, 1), np.moveaxis(m, 0, 1)),
        "shapes": [m.reshape(12), np.reshape(m, -1), m.ravel(), np.expand_dims(m, 0), m.view()],
        "parts": (np.split(m, 3), m.diagonal(), m.T[1:].reshape(-1, 3)[0]),
        "itself": m,
    }


def reversed_views(m):
    return m[::-1], np.flip(m), m[:, ::-2]


def computed(m):
    return (
        *(m + 1, m.sum(), m.sum(axis=0), np.sin(m), m * m[0], m[0, 1], m @ m.T, -m),
        *(m[[0, 1]], m[m > 3], np.where(m > 1, m, 0), np.concatenate([m, m]), m > 3),
        *(np.array(m), np.broadcast_to(m, (2, 3, 4)), m.mean()),
    )


def written(m):
    m[0] += 1
    v = m[1]
    v *= 2
    return v, m, m[1:]


FUNCTIONS = [views, reversed_views, computed, written]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("mode", ["r+", "r", "c"])
def test_results(path, function, mode, backend):
    if mode == "r" and function is written:
        pytest.skip("it can't be written to")
    jitted = npaccel.jit(function, backend=backend, default_float="float64")
    for _ in range(3):
        got, wanted = jitted(mapped(path, mode)), function(mapped(path, mode))
        assert kind(got) == kind(wanted)


def test_a_view_is_written_to_the_file(path):
    jitted = npaccel.jit(lambda m: m[1:], backend="eager")
    for number in (1.0, 2.0):
        view = jitted(mapped(path, "r+"))
        view[0] = number
        view.flush()
        assert_same(np.fromfile(path)[4:8], np.full(4, number))


@pytest.mark.inductor
def test_an_artifact_on_disk(path):
    def f(m):
        return m[1:], m + 1

    for _ in range(2):
        jitted = npaccel.jit(f, default_float="float64")
        assert kind(jitted(mapped(path, "r"))) == kind(f(mapped(path, "r")))


def test_arrays_after_memory_maps(path):
    jitted = npaccel.jit(views, backend="eager")
    for m in (mapped(path, "r+"), np.array(mapped(path, "r")), mapped(path, "c")):
        assert kind(jitted(m)) == kind(views(m))
