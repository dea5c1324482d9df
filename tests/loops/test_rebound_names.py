"""A global that another thread rebinds while a loop is made into code."""

import ast

import numpy as np
import pytest

from npaccel._loops.nests import numba_backend

NESTS = {
    "single elements": """
        def nest(a, s):
            for x in a:
                s = s * K + x if s < 100 else s - K
            return s
        """,
    "rows": """
        def nest(a, s):
            for i in range(len(a)):
                s[i, :] = a[i] * K + s[i, :] - K
            return s
        """,
}


class Rebound(dict):
    """A namespace in which `K` is rebound after some lookups."""

    left = 10**9

    def get(self, name, default=None):
        if name == "K":
            self.left -= 1
            if self.left < 0:
                self["K"] = 0.5
        return super().get(name, default)

    def __getitem__(self, name):
        return self.get(name) if name == "K" else super().__getitem__(name)


@pytest.mark.parametrize("text", NESTS.values(), ids=NESTS)
@pytest.mark.parametrize("lookups", range(14))
def test_code_holds_for_what_it_was_made_of(text, lookups, monkeypatch):
    """Wherever the name is rebound, the next call computes with its new value."""
    monkeypatch.setattr(numba_backend, "_compiled", {})
    nest = ast.parse(text.replace("\n        ", "\n")).body[0]
    names = Rebound(K=4.0, np=np)
    start = np.zeros((3, 2)) if "s[i" in text else 0.0
    names.left = lookups
    made = numba_backend.compile_nest(
        nest, {"a": np.ones(3), "s": start}, names, "nest.py", cache=False
    )
    names.left = -1
    got = made(np.ones(3), np.copy(start) if np.ndim(start) else start)
    plain = dict(names)
    exec(compile(ast.Module([nest], []), "nest.py", "exec"), plain)
    wanted = plain["nest"](np.ones(3), np.copy(start))
    np.testing.assert_array_equal(got[0], wanted)
