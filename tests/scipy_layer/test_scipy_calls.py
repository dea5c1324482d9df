"""Every function of SciPy with tensors gives what SciPy gives with arrays."""

import functools
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
import scipy
import torch
from scipy_arrays import arrays
from scipy_running import both, differences, outcome, tolerance
from sweep import FULL

import npaccel
from npaccel._scipy.dispatch import routes, table
from npaccel._scipy.special import _inverse
from npaccel._scipy.stats import _tails

HERE = Path(__file__).parent


@functools.cache
def written(kind):
    """The lists `CALLS` or `ERRORS` of all modules ``calls_*``, by name."""
    found = {}
    for module in pkgutil.iter_modules([str(HERE)]):
        if module.name.startswith("calls_"):
            found.update(getattr(importlib.import_module(module.name), kind, {}))
    return found


def cases(kind, routes=("native", "delegated", "host"), most=None):
    """Parameters: name and arguments of each call, or of so many calls of each function."""
    return [
        pytest.param(name, arguments, id=f"{name}({arguments})")
        for name, texts in written(kind).items()
        for arguments in texts[: None if FULL else most]
        if (row := table.row(f"scipy.{name}")) is None or row.route in routes
    ]


@pytest.fixture(autouse=True)
def eager():
    with npaccel.options(backend="eager"):
        yield


@pytest.mark.parametrize(("name", "arguments"), cases("CALLS", most=2))
def test_results(name, arguments):
    compare(name, arguments, "float64")


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "arguments"), cases("CALLS", most=1))
def test_results_of_32_bits(name, arguments):
    compare(name, arguments, "float32")


def is_narrow(arguments):
    """Whether 32-bit data give 32-bit results: where no dtype is asked for."""
    return not re.search(r"output=np\.(float64|complex128)", arguments)


def compare(name, arguments, dtype):
    block = npaccel.options(default_float=dtype)  # of what integers give
    expected, actual = both(name, arguments, dtype, block=block)
    assert expected.error is None, f"SciPy raises {expected.error!r}: put it into ERRORS"
    if actual.error is not None:
        raise actual.error
    narrow = dtype == "float32" and is_narrow(arguments)
    found = differences(expected.value, actual.value, narrow, tolerance(name))
    assert not found, "\n".join(found)


@pytest.mark.inductor
@pytest.mark.parametrize(
    ("name", "arguments"), cases("CALLS", routes=("native",), most=1)[: None if FULL else 1]
)
def test_results_on_inductor(name, arguments):
    with npaccel.options(backend="inductor"):
        compare(name, arguments, "float64")


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "arguments"), cases("CALLS", most=1))
def test_scipys_own_names_take_the_same_way(name, arguments):
    """In the block: npaccel's own code doesn't find itself under SciPy's names there."""
    npaccel.scipy.clear_report()
    expected, actual = both(name, arguments, "float64")
    routes = {calls.route for calls in npaccel.scipy.report()}
    npaccel.scipy.clear_report()
    given = {key: torch.from_numpy(value) for key, value in arrays("float64").items()}
    with npaccel.options(default_float="float64"), npaccel.array_api():
        actual = outcome(scipy, name, arguments, {**given, "xp": torch})
    if actual.error is not None:
        raise actual.error
    assert not differences(expected.value, actual.value, False, tolerance(name))
    assert routes <= {calls.route for calls in npaccel.scipy.report()}


@pytest.mark.parametrize(("name", "arguments"), cases("ERRORS", most=1))
def test_errors(name, arguments):
    expected, actual = both(name, arguments, "float64")
    assert expected.error is not None, "SciPy doesn't raise"
    assert type(actual.error) is type(expected.error), f"{actual.error!r}, {actual.value!r}"


def skip_what_is_scipys(row, args, kwargs, device, width, why, attempt=None):
    pytest.skip(f"SciPy computes it, and the report says why: {why}")


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "arguments"), cases("CALLS", routes=("native",), most=1))
def test_native_functions_copy_nothing(name, arguments, monkeypatch):
    monkeypatch.setattr(_tails, "_HALVINGS", 2)  # There is no value to find.
    monkeypatch.setattr(_inverse, "_GAMMA_STEPS", 2)
    monkeypatch.setattr(_inverse, "_BETA_STEPS", 2)
    if arguments in written("READS").get(name, ()):
        pytest.skip("this call's result has a shape that depends on the data")
    is_first = arguments == written("CALLS")[name][0]  # Of each function one has to be native.
    if not is_first:
        monkeypatch.setattr(routes, "through_host", skip_what_is_scipys)
    seen = npaccel.transfers("allow")
    expected, actual = both(name, arguments, "float32", "meta", seen)
    assert not [copy for copy in seen.copies if copy.target == "cpu"]
    if isinstance(actual.error, NotImplementedError) and not is_first:
        pytest.skip(f"SciPy computes it, and the report says why: {actual.error}")
    if actual.error is not None:
        raise actual.error
    found = differences(expected.value, actual.value, is_narrow(arguments), tolerance(name))
    assert not found, "\n".join(found)


#: Submodules most of whose functions nobody has written a call for.
WITHOUT_CALLS = ()


def test_every_function_that_takes_arrays_is_called():
    rows = [row for row in table.rows().values() if row.takes_arrays]
    names = {row.name.removeprefix("scipy.") for row in rows}
    missing = [n for n in names - set(written("CALLS")) if not n.startswith(WITHOUT_CALLS)]
    assert len(missing) == 0, f"{len(missing)} without a call: {', '.join(sorted(missing)[:20])}"


def test_names_are_scipys():
    for kind in ("CALLS", "ERRORS", "READS"):
        unknown = [name for name in written(kind) if table.row(f"scipy.{name}") is None]
        assert not unknown
