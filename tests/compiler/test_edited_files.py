"""What is kept of functions that inline code: files are edited, moved lines don't matter."""

from pathlib import Path

import children
import numpy as np
import pytest

import npaccel
from npaccel._cache import store
from npaccel._compiler import stored_signatures
from npaccel._runtime import guard_serialization

pytestmark = pytest.mark.inductor

PROGRAM = Path(children.__file__).with_name("edited_program.py")
HELPER = "import numpy as np\n\n\ndef imported(x):\n    return np.exp(x) * 1.25\n"
RUN = "import edited_program; answer(**edited_program.loaded())"


def test_edited_files(tmp_path):
    text = PROGRAM.read_text(encoding="utf-8")

    def loaded(text, helper):
        (tmp_path / "edited_program.py").write_text(text, encoding="utf-8")
        (tmp_path / "edited_helper.py").write_text(helper, encoding="utf-8")
        return children.run(RUN, path=tmp_path, NPACCEL_CACHE_DIR=str(tmp_path / "cache"))

    kinds = loaded(text, HELPER)
    assert len(kinds) >= 18
    assert not any(kinds.values())
    assert all(loaded(text, HELPER).values())
    # Comments and lines that move change nothing.
    moved = "# A comment.\n\n" + text.replace("class Point:", "class Point:  # of one number")
    assert all(loaded(moved, "\n\n" + HELPER).values())
    # Another number does, once.
    other, helper = text.replace("1.25", "1.75"), HELPER.replace("1.25", "1.75")
    assert not any(loaded(other, helper).values())
    assert all(loaded(other, helper).values())
    # What was kept for the first program still is.
    assert all(loaded(text, HELPER).values())


def wave(x):
    return np.sin(x) * 1.25 + x


def test_an_entry_of_changed_files_is_replaced(tmp_path, monkeypatch):
    """Code that no guard covers is known by its file."""
    file = tmp_path / "inlined.py"
    cache = store.DiskCache(tmp_path / "cache")

    def of_file(*args):
        state = file.stat()
        return [[str(file), state.st_size, state.st_mtime_ns]]

    monkeypatch.setattr(guard_serialization, "uncovered_files", of_file)
    monkeypatch.setattr(stored_signatures, "default_cache", lambda: cache)

    def is_loaded():
        jitted = npaccel.jit(wave, compile="now")
        jitted(np.arange(9.0))
        (graph,) = jitted.report().graphs
        return graph.loaded

    for text in ("1", "22", "333"):
        file.write_text(text, encoding="utf-8")
        assert [is_loaded(), is_loaded()] == [False, True]
    assert cache.info().entries == 1


def method_of_a_base():
    class Base:
        def scaled(self, x):
            return x * 2.5

    class Between(Base):
        pass

    class Child(Between):
        def scaled(self, x):
            return super().scaled(x) + 1.0

    return Child()


def test_calls_by_super_are_compiled_once():
    child = method_of_a_base()
    jitted = npaccel.jit(child.scaled, backend="eager", compile="now")
    x = np.arange(3.0)
    for _ in range(4):
        np.testing.assert_array_equal(jitted(x), x * 2.5 + 1.0)
    assert len(jitted.report().graphs) == 1
    type(child).__mro__[1].scaled = lambda self, x: x * 4.5
    np.testing.assert_array_equal(jitted(x), x * 4.5 + 1.0)
