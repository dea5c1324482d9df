"""What kernels throw in threads reaches the caller as NumPy's error; it used to end the process."""

import numpy as np
import pytest

import npaccel
from npaccel._torch.inductor.cpp.bounds_checks import throwing_outside_of_threads

SIZE = 50_000
INDEX = np.arange(SIZE)[::-1].copy()
OUTSIDE = INDEX.copy()
OUTSIDE[SIZE // 3] = SIZE


def written(x, i):
    x[i] = i * 2.0
    return x.sum()


def summed(x, i):
    return np.sum(x[i] * 2)


def folded(x, i):
    return np.max(x[i].reshape(100, -1), axis=1), x[:5] + 1


def several(x, i):
    first = x[i] + 1
    return first, np.take(first, i) * 2, np.cumsum(x)


FUNCTIONS = [
    lambda x, i: x[i] * 2,
    lambda x, i: np.take(x.reshape(2, -1), i // 2, axis=1) + 1,
    lambda x, i: x[i[i > 5]] - 1,
    lambda x, i: np.compress(np.append(i[:9] > 0, i > 0), x),
    lambda x, i: (x * 2, int(x[i[-1]] * np.inf)),
    written,
    summed,
    folded,
    several,
]


def outcome(function, x, i):
    try:
        return None, function(x, i), x
    except Exception as error:  # noqa: BLE001 (its class is compared)
        return type(error), None, x


@pytest.mark.sampled
@pytest.mark.inductor
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_errors_in_threads_are_numpys(number):
    function = FUNCTIONS[number]
    dynamic = True if number % 2 else None
    jitted = npaccel.jit(function, default_float="float64", dynamic=dynamic)
    x = np.random.default_rng(0).normal(size=SIZE)
    raised = set()
    for i in (INDEX, OUTSIDE, -1 - OUTSIDE, INDEX):
        mine, got, after = outcome(jitted, x.copy(), i)
        theirs, wanted, expected = outcome(function, x.copy(), i)
        assert mine is theirs
        np.testing.assert_array_equal(after, expected)
        if theirs is None:
            wanted, got = ((one if isinstance(one, tuple) else (one,)) for one in (wanted, got))
            for a, b in zip(got, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)
        raised.add(theirs)
    assert len(raised - {None}) == 1


CODE = """
static void kernel(const long* in_ptr0)
{
    #pragma omp parallel num_threads(2)
    {
        int tid = omp_get_thread_num();
        #pragma omp for collapse(2)
        for(long x0=0; x0<f(9); x0+=1)
        {
            for(long x1=0; x1<9; x1+=1)
            {
                // an end of a block: }
                TORCH_CHECK(in_ptr0[x1] < 5, "}");
            }
        }
        #pragma omp single
        {
            other();
        }
    }
    done();
}
"""


def test_only_turns_that_throw_are_wrapped():
    found = throwing_outside_of_threads(CODE)
    lines = [line.strip() for line in found.splitlines()]
    assert lines.count("{ try {") == 1
    assert lines.index("{ try {") > lines.index("for(long x1=0; x1<9; x1+=1)")
    assert found.index("rethrow") < found.index("done")
    assert found.count("{") - found.count("}") == CODE.count("{") - CODE.count("}")
    quiet = CODE.replace("TORCH_CHECK", "check")
    assert throwing_outside_of_threads(quiet) == quiet


@pytest.mark.inductor
@pytest.mark.parametrize("index", [np.array([0, 1]), np.arange(2)], ids=["array", "range"])
def test_indices_are_checked_before_they_are_read_at(index):
    """The second of two checks of one index stood behind its load."""
    count = len(index)

    def f(x, k, m):
        return np.outer(x[k], x[m])[np.arange(count), index], np.arange(count) + index

    jitted = npaccel.jit(f, default_float="float64")
    x = np.arange(7.0)
    for first, second in ((3, 3), (0, 3), (3, 0), (3, 1), (1, 3), (2, 2)):
        args = x, np.arange(7) < first, np.arange(7) < second
        mine, got, _ = outcome(lambda x, i: jitted(*i), x, args)
        theirs, wanted, _ = outcome(lambda x, i: f(*i), x, args)
        assert mine is theirs
        if theirs is None:
            np.testing.assert_array_equal(got[0], wanted[0])
