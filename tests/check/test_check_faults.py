"""`npaccel.check` finds every planted fault, and names its line."""

import importlib.util
import os
import sys
import warnings

import fault_cases
import numpy as np
import pytest
from fault_cases import CASES, HELPERS, line_of

import npaccel
from npaccel._compiler import frame_guards
from npaccel._syntax import library_files

pytestmark = pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")


@pytest.fixture(autouse=True)
def _eager():
    with npaccel.options(backend="eager"):
        yield


#: What is also looked for in compiled code; NPACCEL_TEST_SWEEP=full: all of them.
COMPILED = (
    "wrong_value_in_one_branch",
    "lost_mutation_of_an_argument",
    "scalar_turned_array",
    "wrong_comparison",
    "off_by_one",
)


#: Raises where an implementation is called with tensors: compiled code calls none.
INTERPRETED = "exception_out_of_nothing"
ALL_COMPILED = [name for name in CASES if name != INTERPRETED]


@pytest.mark.inductor
@pytest.mark.parametrize(
    "name", ALL_COMPILED if os.environ.get("NPACCEL_TEST_SWEEP") == "full" else COMPILED
)
def test_fault_is_found_in_compiled_code(name, monkeypatch):
    with npaccel.options(backend="inductor", cache=False):
        test_fault_is_found(name, monkeypatch)


@pytest.mark.parametrize("name", CASES)
def test_fault_is_found(name, monkeypatch):
    function, plant, args, warm_up = CASES[name]
    jitted = npaccel.jit(function)
    assert npaccel.check(jitted, *args).ok, "right before the fault is planted"
    plant(monkeypatch)
    broken = npaccel.jit(function)
    if warm_up is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            broken(*args)
        monkeypatch.setattr(fault_cases, *warm_up)
    before = [np.copy(value) for value in args]
    result = npaccel.check(broken, *args)
    assert not result.ok
    lines = {one.line for one in result.differences}
    assert lines == {line_of(HELPERS.get(name, function))}, str(result)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, args, strict=True))
    with pytest.raises(npaccel.VerificationError, match=function.__name__):
        result.raise_for_difference()


offset = 1.0


def reads_a_global(x):
    y = np.sin(x)
    return y + offset


def test_a_capture_that_is_out_of_date(monkeypatch):
    """The guard on a global is lost, so that later calls see the old value."""
    original = frame_guards.guards.make_guards

    def without_globals(guards, *args, **kwargs):
        kept = [guard for guard in guards if "offset" not in guard.expression]
        return original(kept, *args, **kwargs)

    monkeypatch.setattr(frame_guards.guards, "make_guards", without_globals)
    jitted = npaccel.jit(reads_a_global)
    x = np.ones(3)
    assert npaccel.check(jitted, x).ok
    monkeypatch.setitem(globals(), "offset", 5.0)
    result = npaccel.check(jitted, x)
    (difference,) = result.differences
    assert difference.text.endswith("y + offset")
    assert "out of date" in difference.why


@pytest.mark.parametrize("folder", ["npaccel", "torch", "numpy", "npaccel/_own", "torch/_own"])
def test_programs_in_folders_that_are_called_as_libraries(folder, tmp_path, monkeypatch):
    """A checkout of npaccel lies in one, for one."""
    path = tmp_path / folder / "program.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import numpy as np\n\n\ndef f(x):\n    y = x * 2\n    return np.reshape(y, 5)\n"
    )
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    fault_cases.broken_row("numpy.reshape", lambda right, x, shape: x)(monkeypatch)
    result = npaccel.check(npaccel.jit(program.f), np.ones(4))
    assert [(one.file, one.line) for one in result.differences] == [(str(path), 6)]


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_lines_of_libraries_in_other_environments(folder, tmp_path, monkeypatch):
    """A user's own packages, or the system's below a virtual environment."""
    path = tmp_path / folder / "a_library.py"
    path.parent.mkdir()
    path.write_text("import numpy as np\n\n\ndef f(x):\n    return np.reshape(x, 5)\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(path.parent)])
    library_files.library_folders.cache_clear()
    try:
        library = importlib.import_module("a_library")
        namespace = {"library": library, "__name__": "a_program"}
        file = tmp_path / "a_program.py"
        file.write_text("def f(x):\n    y = x * 2\n    return library.f(y)\n")
        exec(compile(file.read_text(), file, "exec"), namespace)
        fault_cases.broken_row("numpy.reshape", lambda right, x, shape: x)(monkeypatch)
        result = npaccel.check(npaccel.jit(namespace["f"]), np.ones(4))
        assert [(one.file, one.line) for one in result.differences] == [(str(file), 3)]
    finally:
        sys.modules.pop("a_library", None)
        library_files.library_folders.cache_clear()
