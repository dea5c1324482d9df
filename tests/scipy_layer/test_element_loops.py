"""SciPy's own loops in threads: the same bits, the same errors, as without."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

import npaccel.scipy
from npaccel._process import thread_pool
from npaccel._scipy.dispatch import element_loops, table


@pytest.fixture
def parts(monkeypatch, two_threads):
    """Let torch have two threads, and return of how many parts each call consisted."""
    seen = []

    def counted(work, slices):
        seen.append(len(slices))
        return original(work, slices)

    original = thread_pool.in_threads
    monkeypatch.setattr(thread_pool, "in_threads", counted)
    return seen


def _numbers(*shape, dtype="float64"):
    random = np.random.default_rng(0)
    return (20 * random.random(shape)).astype(dtype)


def _same(found, wanted):
    found = found if isinstance(found, tuple) else (found,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.flags.c_contiguous == other.flags.c_contiguous
        np.testing.assert_array_equal(one, other)


MANY = _numbers(100_003)
UNUSUAL = np.where(MANY < 1, np.nan, np.where(MANY > 19, np.inf, MANY))
TABLE = _numbers(300, 400)
CALLS = {
    "flat": (scipy.special.jv, (1.5, MANY)),
    "two axes": (scipy.special.j0, (TABLE,)),
    "two results": (scipy.special.sici, (TABLE,)),
    "float32": (scipy.special.gammainc, (np.float32(2), MANY.astype("float32"))),
    "weak number": (scipy.special.gammainc, (2.0, MANY.astype("float32"))),
    "strong number": (scipy.special.gammainc, (np.float64(2), MANY.astype("float32"))),
    "no dimension": (scipy.special.gammainc, (np.array(2.0), MANY.astype("float32"))),
    "integers": (scipy.special.digamma, (np.arange(100_000),)),
    "complex": (scipy.special.wofz, (MANY + 1j,)),
    "columns and rows": (scipy.special.jv, (_numbers(300, 1), _numbers(400))),
    "a row for all": (scipy.special.gammainc, (TABLE, _numbers(1, 400))),
    "NaN and infinity": (scipy.special.k1, (UNUSUAL,)),
    "density": (scipy.stats.gamma.logsf, (MANY, 2.5)),
    "quantile": (scipy.stats.beta.ppf, (TABLE / 20, 2.0, 3.0)),
    "shapes for each row": (scipy.stats.gamma.cdf, (TABLE, _numbers(300, 1))),
    "discrete": (scipy.stats.binom.sf, (np.floor(MANY), 20, 0.3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_bits(parts, name):
    function, args = CALLS[name]
    found = element_loops.in_scipy(function, args, {})
    assert parts
    assert parts[0] > 1
    _same(found, function(*args))


#: Functions in Python around ufuncs, with an argument or two before the many.
AROUND_UFUNCS = {
    "jvp": (lambda f, x: f(1.5, x, 2)),
    "spherical_jn": (lambda f, x: f(2, x)),
    "lambertw": (lambda f, x: f(x, 1)),
    "assoc_laguerre": (lambda f, x: f(x, 3, 1.0)),
    "zeta": (lambda f, x: f(x + 1.5)),
}


@pytest.mark.parametrize("name", AROUND_UFUNCS)
def test_functions_around_ufuncs(parts, name):
    call = AROUND_UFUNCS[name]
    found = call(getattr(npaccel.scipy.special, name), torch.from_numpy(MANY))
    assert parts.pop() > 1
    np.testing.assert_array_equal(found.numpy(), call(getattr(scipy.special, name), MANY))


def test_each_row_by_element_is_tried():
    rows = [row.name for row in table.rows().values() if row.by_element]
    special = {name.removeprefix("scipy.special.") for name in rows if ".special." in name}
    plain = {name for name in special if not isinstance(getattr(scipy.special, name), np.ufunc)}
    assert plain == set(AROUND_UFUNCS)


def test_keywords_of_a_distribution(parts):
    given = {"loc": TABLE / 10, "scale": 2.0}
    found = element_loops.in_scipy(scipy.stats.norm.sf, (TABLE,), given)
    assert parts
    _same(found, scipy.stats.norm.sf(TABLE, **given))


NOT_DIVIDED = {
    "few": (scipy.special.j0, (_numbers(100),)),
    "none": (scipy.special.j0, (np.empty(0),)),
    "no dimension": (scipy.special.j0, (np.array(2.0),)),
    "a number": (scipy.special.j0, (2.0,)),
    "every second": (scipy.special.j0, (MANY[::2],)),
    "backwards": (scipy.special.j0, (MANY[::-1],)),
    "turned": (scipy.special.j0, (TABLE.T,)),
    "one long row": (scipy.special.jv, (np.ones((1, 1)), _numbers(1, 100_000))),
    "a list": (scipy.special.jv, ([1.0], MANY)),
}


@pytest.mark.parametrize("name", NOT_DIVIDED)
def test_not_divided(parts, name):
    function, args = NOT_DIVIDED[name]
    found = element_loops.in_scipy(function, args, {})
    assert not parts
    np.testing.assert_array_equal(found, function(*args))


def test_which_are_by_element():
    for name in ("special.jv", "special.jvp", "stats.gamma.ppf"):
        assert element_loops.is_by_element(table.row(f"scipy.{name}"))
    for name in ("special.logsumexp", "special.legendre_p_all", "stats.norm.fit", "fft.fft"):
        assert not element_loops.is_by_element(table.row(f"scipy.{name}"))


def test_one_core_divides_nothing(parts):
    torch.set_num_threads(1)
    element_loops.in_scipy(scipy.special.j0, (MANY,), {})
    assert not parts


def test_errors_are_handled_as_outside(parts):
    with (
        scipy.special.errstate(all="raise"),
        pytest.raises(scipy.special.SpecialFunctionError, match="singularity"),
    ):
        element_loops.in_scipy(scipy.special.psi, (np.floor(-MANY),), {})
    assert parts
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        element_loops.in_scipy(scipy.stats.norm.logpdf, (MANY * 1e300,), {})
    with pytest.raises(ValueError, match="broadcast"):
        element_loops.in_scipy(scipy.special.jv, (MANY, MANY[:-1]), {})
    with pytest.raises(TypeError):
        element_loops.in_scipy(scipy.special.ellipe, (MANY + 1j,), {})


def test_a_failure_ends_after_all_parts(parts):
    ended = []

    def work(n):
        ended.append(n)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        thread_pool.in_threads(work, range(8))
    assert sorted(ended) == list(range(8))


def test_public_functions_are_divided(parts):
    x = torch.from_numpy(MANY)
    for name in ("jv", "gammainc"):
        found = getattr(npaccel.scipy.special, name)(2.5, x)
        np.testing.assert_array_equal(found.numpy(), getattr(scipy.special, name)(2.5, MANY))
        assert parts.pop() > 1
    found = npaccel.scipy.stats.gamma.sf(x, 2.5)
    np.testing.assert_array_equal(found.numpy(), scipy.stats.gamma.sf(MANY, 2.5))
    assert parts.pop() > 1
    found = npaccel.scipy.special.jvp(1.5, x)
    np.testing.assert_array_equal(found.numpy(), scipy.special.jvp(1.5, MANY))
    assert parts.pop() > 1
