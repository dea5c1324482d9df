"""Arrays that are copied to a device and back share memory as NumPy's do.

Without a GPU the copies are made on the host: compiled code then works on them as on a device.
"""

import numpy as np
import pytest
import torch

import npaccel
from npaccel._runtime import device_transfer


@pytest.fixture
def copying(monkeypatch):
    """Let calls copy their arrays as for a device."""
    monkeypatch.setattr(device_transfer, "is_host", lambda device: False)


def rows_and_more(a):
    return a[1:], a.T, a * 2


def written(a):
    a[0] = 1
    return a[:, ::2]


def parts_of_new(a):
    new = a + 1
    return new, new[0], new[::2, ::3], new.view(np.int64)[1]


def repeated_row(a):
    return np.broadcast_to(a[0], (3, a.shape[1])), a


def windows(a):
    return np.lib.stride_tricks.sliding_window_view(a[0], 3)


def selected(a):
    return (a + 1).T[::2], a[a > 3], a.sum()


def flat(a):
    first = a.ravel()
    first[3] = 7
    return first


def reversed_views(a):
    return a[::-1], a[:, ::-2]


def parts_of_complex(a):
    z = a + 1j
    return z.real, z.imag, z.conj(), a.view(np.int64)


LAYOUTS = {
    "whole": lambda: np.arange(24.0).reshape(4, 6),
    "strided": lambda: np.arange(96.0).reshape(8, 12)[::2, ::2],
    "transposed": lambda: np.arange(24.0).reshape(6, 4).T,
    "reversed": lambda: np.arange(24.0).reshape(4, 6)[::-1],
    "none": lambda: np.empty((1, 6))[:, :0].reshape(6, 0).T.reshape(0, 6),
    "one": lambda: np.arange(1.0).reshape(1, 1),
}
FUNCTIONS = [
    rows_and_more,
    written,
    parts_of_new,
    repeated_row,
    windows,
    selected,
    flat,
    reversed_views,
    parts_of_complex,
]
#: Interpreted graphs get copies of reversed arrays.
CASES = [
    (function, layout)
    for function in FUNCTIONS
    for layout in LAYOUTS
    if layout != "reversed" or function not in (windows, parts_of_complex)
]


def sharing(result, argument):
    arrays = [part for part in result if isinstance(part, np.ndarray)]
    return [np.shares_memory(a, b) for a in arrays for b in (*arrays, argument)]


def outcome(function, argument):
    try:
        result = function(argument)
    except (IndexError, ValueError) as error:
        return type(error)
    return result if isinstance(result, tuple) else (result,)


def check(function, layout, backend):
    compiled = npaccel.jit(function, backend=backend, default_float="float64")
    for _ in range(3):
        expected_input, given = LAYOUTS[layout](), LAYOUTS[layout]()
        expected, found = outcome(function, expected_input), outcome(compiled, given)
        np.testing.assert_array_equal(given, expected_input)
        if isinstance(expected, type):
            assert found is expected
            continue
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(b, a)
            assert type(b) is type(a)
            if isinstance(a, np.ndarray):
                assert (b.dtype, b.flags.writeable) == (a.dtype, a.flags.writeable)
            if layout in ("whole", "strided", "transposed") and np.ndim(a):
                assert b.strides == a.strides
        assert sharing(found, given) == sharing(expected, expected_input)


@pytest.mark.parametrize(("function", "layout"), CASES)
def test_results_share_memory_as_numpys(copying, function, layout):
    check(function, layout, "eager")


@pytest.mark.parametrize("function", [written, parts_of_new])
def test_compiled_results_share_memory_as_numpys(copying, function):
    check(function, "strided", "inductor")


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
@pytest.mark.parametrize(("function", "layout"), CASES)
def test_results_of_a_gpu_share_memory_as_numpys(function, layout):
    compiled = npaccel.jit(function, device="cuda", default_float="float64")
    given, argument = LAYOUTS[layout](), LAYOUTS[layout]()
    expected, found = outcome(function, argument), outcome(compiled, given)
    np.testing.assert_array_equal(given, argument)
    if isinstance(expected, tuple):
        assert sharing(found, given) == sharing(expected, argument)
    else:
        assert found is expected


def test_writes_between_compiled_loops_reach_the_caller(copying):
    def turns(a):
        view = a[1:]
        for _ in range(3):
            view = view * 1.0
            part = view[::2]
            part += 1
        a[...] = view.sum()
        return part, view

    compiled = npaccel.jit(turns, backend="eager", default_float="float64")
    for _ in range(2):
        a, b = np.arange(9.0), np.arange(9.0)
        expected, found = turns(a), compiled(b)
        np.testing.assert_array_equal(b, a)
        assert sharing(found, b) == sharing(expected, a)
        np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).reshape(3, 4),
        torch.arange(12.0).reshape(3, 4).T,
        torch.arange(24.0).reshape(4, 6)[::2, 1::2],
        torch.arange(4.0).expand(3, 4),
        torch.arange(8.0)[::2].expand(3, 4),
        torch.arange(9.0).unfold(0, 3, 1),
        torch.arange(9.0).unfold(0, 3, 2),
        torch.arange(9.0)[3:3],
        torch.tensor(2.0),
        torch.arange(3.0).to(torch.complex64).conj(),
    ],
)
def test_copies_lie_in_memory_as_what_they_are_of(tensor):
    copy = device_transfer.moved(tensor, torch.device("cpu"))
    assert copy.stride() == tensor.stride()
    assert torch.equal(copy, tensor.resolve_conj())
    assert copy.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()
