"""What is left to SciPy for tensors on a CPU is right where npaccel computes it."""

import dataclasses

import pytest
from scipy_running import both, differences, tolerance
from sweep import FULL
from test_scipy_calls import written

import npaccel
from npaccel._scipy.dispatch import routes, table

#: What is called so; the others are compared on a CPU only where they are native there.
CHAPTERS = (
    "cluster.",
    "linalg.",
    "ndimage.",
    "optimize.curve_fit",
    "signal.check_COLA",
    "signal.convolve",
    "signal.deconvolve",
    "signal.decimate",
    "signal.filtfilt",
    "signal.find_peaks",
    "signal.lfilter",
    "signal.medfilt",
    "signal.sosfilt",
)
#: Why a call goes through the host on a CPU, and only there.
ON_A_CPU = "on a CPU"


def cases():
    for name, texts in written("CALLS").items():
        if not name.startswith(CHAPTERS):
            continue
        row = table.row(f"scipy.{name}")
        if row is not None and row.route == "native" and row.host_reason is not None:
            for arguments in texts if FULL else texts[:2]:
                yield pytest.param(name, arguments, id=f"{name}({arguments})")


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch):
    original = routes._not_native

    def not_native(row, bound):
        reason = original(row, bound)
        if not reason.startswith(ON_A_CPU):
            return reason
        return original(dataclasses.replace(row, host_reason=None), bound)

    monkeypatch.setattr(routes, "_not_native", not_native)
    with npaccel.options(backend="eager"):
        yield


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "arguments"), list(cases()))
def test_results(name, arguments, dtype):
    expected, actual = both(name, arguments, dtype, block=npaccel.options(default_float=dtype))
    assert expected.error is None
    if actual.error is not None:
        raise actual.error
    found = differences(expected.value, actual.value, dtype == "float32", tolerance(name))
    assert not found, "\n".join(found)
