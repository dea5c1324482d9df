"""Arrays whose dtype has another name, or whose elements are one in memory: taken as they are."""

import warnings

import numpy as np
import pytest
from comparing import assert_same, check

import npaccel
from npaccel import errors
from npaccel._runtime import arguments


def alike(function, *args, **options):
    """Compare the results of a call, which are arrays and scalars, but for the names of dtypes."""
    jitted = npaccel.jit(function, default_float="float64", strict=True, **options)
    for _ in range(2):
        for got, wanted in zip(jitted(*args), function(*args), strict=True):
            assert isinstance(got, np.ndarray) == isinstance(wanted, np.ndarray)
            assert got.dtype == wanted.dtype
            np.testing.assert_array_equal(got, wanted)


class TestNamesOfDtypes:
    """C has two types of one size, and NumPy a dtype for each: `long` and `longlong`."""

    @pytest.mark.parametrize(
        ("dynamic", "name"),
        # The narrow ones by turns.
        [(None, name) for name in "bhilLqQ"] + [(True, name) for name in "BHIlLqQ"],
    )
    def test_arrays_and_scalars(self, name, dynamic, backend):
        options = {"backend": backend, "dynamic": dynamic}
        x = np.arange(6, dtype=name)
        frozen = np.arange(6, dtype=name)
        frozen.flags.writeable = False
        for each in (x, x[::2], x[::-1], np.broadcast_to(x, (2, 6)), frozen, x[:0], x[:1]):
            alike(lambda x: (x + 1, x.sum(), x[x > 2], x.max(initial=0)), each, **options)
        alike(lambda x, n: (x * n, n * 2), np.arange(3.0), np.dtype(name).type(3), **options)
        alike(lambda part: (part["x"][0] + 1,), {"x": [x, 1]}, **options)
        alike(lambda x, i: (x[i],), np.arange(6.0), x, **options)

    @pytest.mark.parametrize("name", list("qQ"))
    def test_one_signature_has_both_names(self, name, backend):
        def add(x, n):
            x += n
            return x

        jitted = npaccel.jit(add, backend=backend)
        for each in (name, np.dtype(name).str, name):
            x = np.arange(4, dtype=each)
            assert jitted(x, 1) is x
            np.testing.assert_array_equal(x, np.arange(1, 5))
        assert len(jitted.report().graphs) == 1

    @pytest.mark.parametrize("name", list("qQ"))
    def test_captured_and_made(self, name, backend):
        captured = np.arange(3, dtype=name)

        def function(x):
            made = np.zeros(3, dtype=name) + np.dtype(name).type(2)
            return x + captured, made, x.astype(name), np.add(x, 1, dtype="f8").view(name)

        alike(function, np.arange(3.0), backend=backend)

    @pytest.mark.parametrize("name", list("qQ"))
    @pytest.mark.parametrize("loops", ["auto", "compile"])
    def test_loops(self, name, loops, backend):
        def summed(x):
            total = x[0]
            for i in range(1, len(x)):
                total = total + x[i] * x[i - 1]
            return total, x

        alike(summed, np.arange(6, dtype=name), backend=backend, loops=loops)


STRETCHED = [
    np.broadcast_to(np.arange(3.0), (4, 3)),
    np.broadcast_to(np.arange(3.0)[::-1], (4, 3)),
    np.broadcast_to(np.float64(3.0), (4, 3)),
    np.broadcast_to(np.arange(6.0).reshape(3, 2).T[:, None], (2, 4, 3)),
    np.broadcast_to(np.arange(3).astype(">i4"), (2, 3)),
    np.broadcast_to(np.ones(3, "u1,f8")["f1"], (2, 3)),
    np.lib.stride_tricks.sliding_window_view(np.arange(10.0), 6),
    np.lib.stride_tricks.sliding_window_view(np.arange(10.0)[::-1], 6),
    np.lib.stride_tricks.sliding_window_view(np.arange(20.0)[::2], 6),
    np.lib.stride_tricks.sliding_window_view(np.arange(12.0).reshape(3, 4), (2, 2)),
    np.lib.stride_tricks.sliding_window_view(np.arange(8).astype(">u8"), 3),
]


class TestRepeatedElements:
    """Stretched arrays and windows: more elements than there is memory for."""

    @pytest.mark.parametrize("number", range(len(STRETCHED)))
    def test_they_are_read(self, number, backend):
        x = STRETCHED[number]
        check(lambda x: (x + 1, x.sum(), x[0] * 2), x, backend=backend)

    @pytest.mark.parametrize("number", range(len(STRETCHED)))
    def test_they_are_copied_as_they_are(self, number):
        x = STRETCHED[number]
        made = arguments.copied(x)
        np.testing.assert_array_equal(made.numpy(), x)
        assert made.untyped_storage().nbytes() <= arguments.distinct(x).nbytes
        x = np.lib.stride_tricks.as_strided(x, x.shape, x.strides)
        if x.base is not None and x.flags.writeable:
            copy = arguments.copy_of(x)
            np.testing.assert_array_equal(copy, x)
            assert not np.may_share_memory(copy, x)

    def test_they_stay_as_small_as_they_are(self, backend):
        row = np.arange(3.0)
        huge = np.broadcast_to(row, (2**40, 3))
        windows = np.lib.stride_tricks.sliding_window_view(np.arange(2.0**20), 2**19)
        calls = [
            (lambda x: x[5] + 1, (huge,)),
            (lambda x, i: x[i] * 2, (huge, np.array([1, 2]))),
            (lambda x: huge[5] + x, (row,)),
            (lambda x: x[0][:3] + x[-1][:3], (windows,)),
            (lambda x: np.linalg.inv(x[:3] * 0), (huge,)),
        ]
        for function, args in calls:
            for verify in (False, True):
                jitted = npaccel.jit(function, backend=backend, verify=verify)
                for _ in range(2):
                    try:
                        wanted = function(*args)
                    except np.linalg.LinAlgError:
                        with pytest.raises(np.linalg.LinAlgError):
                            jitted(*args)
                    else:
                        assert_same(jitted(*args), wanted)

    @pytest.mark.parametrize("dynamic", [None, True])
    def test_what_is_written_is_seen_in_all_places(self, dynamic, backend):
        def write(x):
            x += 1
            return x.sum()

        def windows(n):
            view = np.lib.stride_tricks.sliding_window_view
            return view(np.arange(float(n)), 4, writeable=True)

        def rows(n):
            return np.lib.stride_tricks.as_strided(np.arange(4.0), (n, 4), (0, 8))

        def gaps(n):
            return np.zeros((n, 8))[:, ::2]

        jitted = npaccel.jit(write, backend=backend, dynamic=dynamic)
        for n in (8, 9, 10):
            for make in (gaps, windows, rows, gaps):
                wanted, got = make(n), make(n)
                total = write(wanted)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", errors.PerformanceWarning)
                    assert_same(jitted(got), total)
                np.testing.assert_array_equal(got, wanted)
