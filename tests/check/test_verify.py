"""`jit(verify=True)` and `verify="warn"`."""

import numpy as np
import pytest
from fault_cases import X, broken_operator, broken_row, line_of

import npaccel


@pytest.fixture(autouse=True)
def _eager():
    with npaccel.options(backend="eager", cache=False):
        yield


def mean_of_both(x, y):
    x[0] = 9.0
    total = x + y
    return np.mean(total)  # here


def plant(monkeypatch):
    broken_row("numpy.mean", lambda right, x: right(x) + 1)(monkeypatch)


def test_right_functions_just_run():
    verified = npaccel.jit(mean_of_both, verify=True)
    x, y = X.copy(), X.copy()
    assert verified(x, y) == pytest.approx(mean_of_both(X.copy(), X.copy()))
    assert x[0] == 9.0
    assert len(verified.report().graphs) == 1


def test_a_difference_raises_at_every_call_and_changes_nothing(monkeypatch):
    plant(monkeypatch)
    verified = npaccel.jit(mean_of_both, verify=True)
    x = X.copy()
    for _ in range(2):
        with pytest.raises(npaccel.VerificationError, match=f":{line_of(mean_of_both)}: "):
            verified(x, X)
    assert np.array_equal(x, X)


def test_warn_gives_numpys_answer(monkeypatch):
    plant(monkeypatch)
    verified = npaccel.jit(mean_of_both, verify="warn")
    expected = mean_of_both(X.copy(), X)
    x = X.copy()
    with pytest.warns(npaccel.errors.VerificationWarning, match="NumPy answers"):
        assert verified(x, X) == expected
    assert x[0] == 9.0
    assert verified(X.copy(), X) == expected  # Warned once.


def test_every_signature_is_verified(monkeypatch):
    """A fault that shows for one dtype only."""

    def wrong_for_float32(right, x):
        return right(x) + int(str(x.dtype) == "torch.float32")

    broken_row("numpy.mean", wrong_for_float32)(monkeypatch)
    verified = npaccel.jit(mean_of_both, verify=True)
    verified(X.copy(), X)
    with pytest.raises(npaccel.VerificationError):
        verified(X.astype(np.float32), X.astype(np.float32))
    verified(X.copy(), X)


def draws(generator, x):
    return generator.normal(size=3) + x.sum(), np.random.rand()  # noqa: NPY002


@pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")
def test_random_numbers_are_drawn_once():
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    np.random.seed(7)  # noqa: NPY002
    expected = draws(one, X)
    np.random.seed(7)  # noqa: NPY002
    got = npaccel.jit(draws, verify=True)(other, X)
    assert np.allclose(got[0], expected[0])
    assert got[1] == expected[1]
    assert one.bit_generator.state == other.bit_generator.state


def test_methods_partials_and_lambdas(monkeypatch):
    import operator

    broken_operator(operator.mul, lambda right, a, b: a + b)(monkeypatch)
    result = npaccel.check(lambda a: a * 3, X)
    assert [d.text for d in result.differences] == ["result = npaccel.check(lambda a: a * 3, X)"]


def test_without_source(monkeypatch):
    space = {"np": np}
    exec("def f(x):\n    return np.mean(x)", space)
    assert npaccel.check(space["f"], X).ok
    plant(monkeypatch)
    (difference,) = npaccel.check(space["f"], X).differences
    assert difference.kind == "value"
    assert "source" in difference.why


def test_switched_off():
    with npaccel.disabled(), pytest.raises(npaccel.VerificationError, match="switched off"):
        npaccel.check(mean_of_both, X.copy(), X)


def test_arguments_that_share_memory():
    def shifted(x, y):
        x[1:] = y[:-1]
        return x + y

    base = np.arange(6.0)
    result = npaccel.check(shifted, base[:5], base[1:])
    assert result.ok
    assert np.array_equal(base, np.arange(6.0))


def test_tensors():
    import torch

    assert npaccel.check(mean_of_both, torch.ones(4), torch.ones(4)).ok
