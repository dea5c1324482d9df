"""Indices of cache entries, altered under a valid hash: dropped and built again, never an error."""

import copy
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sweep import FULL

import npaccel
from npaccel._cache import cache_warnings
from npaccel._cache.entry import _BODY, _HEAD, _MIDDLE, _TAIL
from npaccel._cache.layout import INDEX
from npaccel._compiler import fallback

pytestmark = pytest.mark.inductor

X = np.linspace(0.0, 6.0, 1000)
FACTOR = 2.5
OTHERS = (None, True, -1, 10**400, float("inf"), "x", [], {}, [[]], {"a": 1})


def several(x, n):
    y = np.sin(x) * FACTOR
    x[1:] += n
    return y[::-1], {"last": (y.sum(), None)}, np.random.default_rng(3).normal(size=4) * 2


def places(item, path=()):
    """Where there is something in JSON."""
    for name in item if isinstance(item, dict) else range(len(item)):
        yield (*path, name)
        if isinstance(item[name], dict | list):
            yield from places(item[name], (*path, name))


def altered(body, path, change):
    """Return a copy without what is in a place, or with something else there."""
    body = copy.deepcopy(body)
    owner = body
    for name in path[:-1]:
        owner = owner[name]
    if change == "drop":
        del owner[path[-1]]
    elif type(change[0]) is type(owner[path[-1]]) and change[0] == owner[path[-1]]:
        return None
    else:
        owner[path[-1]] = change[0]
    return body


def write(path, body):
    import hashlib

    data = json.dumps(body, separators=(",", ":")).encode("ascii")
    digest = hashlib.sha256(data).hexdigest().encode("ascii")
    path.write_bytes(_HEAD + digest + _MIDDLE + data + _TAIL)


def called(function):
    """Call a function that knows nothing yet; return its graphs, and what was warned of."""
    cache_warnings._said.clear()
    jitted = npaccel.jit(function, dynamic=False, default_float="float64")
    given, expected = X.copy(), X.copy()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        got = jitted(given, 3)
    wanted = function(expected, 3)
    np.testing.assert_allclose(given, expected, rtol=1e-12)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(got[1]["last"][0], wanted[1]["last"][0], rtol=1e-9)
    np.testing.assert_allclose(got[2], wanted[2])
    return jitted.report().graphs, [str(one.message) for one in said]


@pytest.mark.timeout(3600 if FULL else 200)
def test_any_altered_field_means_that_it_is_built_again(own_cache, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(own_cache))
    (graph,), said = called(several)
    assert said == []
    assert graph.uncacheable == ""
    folder = Path(graph.artifact)
    index = folder / INDEX
    good = index.read_bytes()
    body = json.loads(good[_BODY : -len(_TAIL)])
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    built = []
    # That is made again as in the first call: what is tried here is that it's called for.
    monkeypatch.setattr(
        npaccel._compiler.dispatcher.Dispatcher, "_compile_and_run", recovered(built)
    )
    cases = [
        (path, change)
        for path in places(body)
        for change in ("drop", *((other,) for other in OTHERS))
        if path[0] != "created" or change == "drop"  # It orders entries, no more.
        if (path, change) != (("schema",), (True,))  # It's one.
    ]
    for path, change in cases if FULL else cases[:: len(cases) // 60]:
        changed = altered(body, path, change)
        if changed is None:
            continue
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, data in kept.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)
        write(index, changed)
        built.clear()
        _, said = called(several)
        assert built, (path, change)
        assert len(said) == 1, (path, change, said)
        assert "built again" in said[0], (path, change)
        assert not folder.exists(), (path, change)


def recovered(built):
    def compile_and_run(self, values, *rest):
        built.append(True)
        return fallback.run_in_numpy(self.spec, values)

    return compile_and_run
