"""`npaccel.audit_precision`."""

import numpy as np
import pytest

import npaccel


@pytest.fixture(autouse=True)
def _eager():
    with npaccel.options(backend="eager", cache=False):
        yield


def cancels(n):
    t = np.linspace(0, 1, n)
    u = t + 1e4
    return u - 1e4, t * 2


def test_cancellation():
    audit = npaccel.audit_precision(cancels, 50)
    first = cancels.__code__.co_firstlineno
    assert [(one.line - first, one.cause) for one in audit.losses] == [(3, "cancellation")]
    by_name = {one.where: one for one in audit.outputs}
    assert by_name["result[0]"].relative > 1e-4
    assert by_name["result[0]"].ulps > 100
    assert by_name["result[1]"].relative < 1e-6
    assert by_name["result[1]"].dtype == "float32"
    assert "np.linspace(0, 1, n, dtype=np.float64)" in audit.advice[0]
    assert "cancellation" in str(audit)


def accumulates(n):
    x = np.full(n, 0.1)
    return np.cumsum(x)[-1]


def test_long_accumulation():
    audit = npaccel.audit_precision(accumulates, 200_000)
    (loss,) = audit.losses
    assert loss.cause == "long accumulation"
    assert loss.text == "np.cumsum(x)"
    assert loss.relative > 1e-5
    assert audit.outputs[0].dtype == "float32"


def amplifies(i):
    return np.exp(i / 3 * 20)


def test_amplification():
    audit = npaccel.audit_precision(amplifies, np.arange(1, 8))
    (loss,) = audit.losses
    assert (loss.text, loss.cause) == ("np.exp(i / 3 * 20)", "amplification")
    assert "i.astype(np.float64)" in audit.advice[0]


def decides(i):
    return (i / 3 * 3 == i).sum()


def test_decision():
    wanted, narrow = decides(np.arange(200)), decides(np.arange(200, dtype=np.float32))
    audit = npaccel.audit_precision(decides, np.arange(200))
    assert (wanted != narrow) == any(one.cause == "decision" for one in audit.losses)


def exact(x):
    return x * 2 + x.sum()


def test_nothing_is_lost_in_64_bit():
    x = np.random.default_rng(0).normal(size=100)
    before = x.copy()
    audit = npaccel.audit_precision(exact, x)
    assert audit.worst < 1e-12
    assert not audit.losses
    assert not audit.advice
    assert np.array_equal(x, before)


def test_advice_works():
    """With the advice taken nothing is narrowed."""

    def mended(n):
        t = np.linspace(0, 1, n, dtype=np.float64)
        u = t + 1e4
        return u - 1e4, t * 2

    audit = npaccel.audit_precision(cancels, 50)
    assert "np.linspace(0, 1, n, dtype=np.float64)" in audit.advice[0]
    assert npaccel.audit_precision(mended, 50).worst < 1e-15


def test_errors_pass():
    def wrong(x):
        return x.reshape(7)

    with pytest.raises(ValueError, match="reshape"):
        npaccel.audit_precision(wrong, np.ones(3))
    space = {}
    exec("def f(x):\n    return x", space)
    with pytest.raises(ValueError, match="source"):
        npaccel.audit_precision(space["f"], np.ones(2))
