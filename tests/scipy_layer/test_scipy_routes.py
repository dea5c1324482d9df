"""Containers, devices, widths and counts of `npaccel.scipy`, and SciPy's own names."""

import functools
import pickle
import textwrap
import threading
import warnings

import children
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.spatial.distance
import scipy.special
import scipy.stats
import torch
from click.testing import CliRunner
from scipy_running import differences

import npaccel
import npaccel.scipy as nsp
from npaccel._scipy.dispatch import listing, support_page, table
from npaccel._tools import cli
from npaccel.errors import MixedDevicesError, NotCompiledError, PerformanceWarning

HOST = "linalg.ldl"


@pytest.fixture(autouse=True)
def eager():
    with npaccel.options(backend="eager"):
        nsp.clear_report()
        yield


def test_arrays_are_scipys_business():
    a = np.eye(3)
    result = nsp.linalg.inv(a)
    assert type(result) is np.ndarray
    assert nsp.special.entr(0.5) == scipy.special.entr(0.5)
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    nsp.stats.zscore(torch.rand(4))
    assert isinstance(scipy.stats.zscore(masked), np.ma.MaskedArray)
    assert not nsp.report() or all(calls.name != "scipy.linalg.inv" for calls in nsp.report())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_width_and_container_stay(dtype):
    x = torch.rand(4, 3, dtype=dtype)
    for found in (
        nsp.spatial.distance.cdist(x, x),
        nsp.linalg.pinv(x),
        nsp.stats.norm.cdf(x),
        nsp.stats.zscore(x),
        nsp.linalg.ldl(x @ x.T)[0] if x.shape[0] == x.shape[1] else nsp.linalg.ldl(x.T @ x)[0],
    ):
        assert isinstance(found, torch.Tensor)
        assert found.dtype == dtype


def test_integers_give_the_default_float():
    x = torch.arange(1, 5)
    assert nsp.special.gammaln(x).dtype == torch.float32
    with npaccel.options(default_float="float64", backend="eager"):
        assert nsp.special.gammaln(x).dtype == torch.float64


def test_integers_give_torchs_default_where_that_is_wider():
    program = """
        import torch, npaccel, npaccel.scipy as nsp
        torch.set_default_dtype(torch.float64)
        with npaccel.options(backend="eager"):
            x = torch.arange(1, 5)
            found = [nsp.special.gammaln(x), nsp.stats.zscore(x), nsp.linalg.ldl(x.outer(x))[0]]
        answer(dtypes=[str(one.dtype) for one in found])
    """
    found = children.run_prepared(textwrap.dedent(program))
    assert found == {"dtypes": ["torch.float64"] * 3}


MIXED = {
    "signal.convolve": lambda f, a, b: f(a, b[:5]),
    "signal.upfirdn": lambda f, a, b: f(a[:5], b, 2),
    "signal.lfilter": lambda f, a, b: f(a[:2] + 1, b[:1], b),
    "special.betaln": lambda f, a, b: f(a, b),
    "special.bdtr": lambda f, a, b: f(b * 3, a, b),
    "stats.percentileofscore": lambda f, a, b: f(a, b),
    "stats.binned_statistic_2d": lambda f, a, b: f(a, b, b, "mean", 3),
    "stats.pearsonr": lambda f, a, b: f(a, b),
    "linalg.leslie": lambda f, a, b: f(a, b[:-1]),
    "linalg.solve": lambda f, a, b: f(a[:4].reshape(2, 2) + 1, b[:2]),
    "spatial.distance.euclidean": lambda f, a, b: f(a, b),
}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("name", MIXED)
def test_integers_and_narrow_floats_together(name, swapped):
    """They have 64 bits in NumPy: so have results, unless `default_float` is float32."""
    rng = np.random.default_rng(8)
    arrays = [rng.integers(1, 9, 12), rng.uniform(0.2, 0.9, 12).astype(np.float32)]
    arrays = arrays[::-1] if swapped and name != "special.bdtr" else arrays
    call, function = MIXED[name], listing.find(name)
    wanted = call(function, *arrays)
    ours = functools.reduce(getattr, name.split("."), nsp)
    for default in ("float64", "float32"):
        with npaccel.options(backend="eager", default_float=default):
            found = call(ours, *map(torch.from_numpy, arrays))
        assert not differences(wanted, found, default == "float32", 1e3)


def test_results_keep_their_class():
    x, y = torch.rand(20), torch.rand(20)
    expected = scipy.stats.pearsonr(x.double().numpy(), y.double().numpy())
    found = nsp.stats.pearsonr(x, y)
    assert type(found) is type(expected)
    assert isinstance(found.statistic, torch.Tensor)
    assert float(found.statistic) == pytest.approx(expected.statistic, rel=1e-4)


def test_a_users_function_gets_tensors():
    kinds = set()

    def objective(v):
        kinds.add(type(v))
        return (v**2).sum()

    found = nsp.optimize.minimize(objective, torch.ones(2, dtype=torch.float64), method="COBYLA")
    assert isinstance(found, scipy.optimize.OptimizeResult)
    assert kinds == {torch.Tensor}
    assert isinstance(found.x, torch.Tensor)
    assert float(found.x.abs().max()) < 1e-3


def test_the_host_is_counted_and_told_once_on_another_device(monkeypatch):
    from npaccel._scipy.dispatch import conversion

    monkeypatch.setattr(conversion, "device_of", lambda name, found: torch.device("meta"))
    a = torch.eye(3)
    with pytest.warns(PerformanceWarning, match=r"scipy.linalg.ldl: .*through the host"):
        nsp.linalg.ldl(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nsp.linalg.ldl(a)
    (calls,) = (one for one in nsp.report() if one.name == "scipy.linalg.ldl")
    assert calls.route == "host"
    assert calls.count == 2
    assert calls.bytes == 2 * (36 + 36 + 36 + 24)
    with npaccel.options(strict=True), pytest.raises(NotCompiledError, match="through the host"):
        nsp.linalg.ldl(a)


def test_gradients_are_refused_on_the_hosts_way():
    a = torch.eye(3, requires_grad=True)
    with pytest.raises(NotCompiledError, match="detach"):
        nsp.linalg.ldl(a)
    with torch.no_grad():
        nsp.linalg.ldl(a)


def test_the_off_switch_leaves_all_to_scipy():
    x = torch.rand(4, dtype=torch.float64)
    with npaccel.disabled():
        found = nsp.special.exprel(x)
    np.testing.assert_array_equal(found, scipy.special.exprel(x.numpy()))
    assert [(calls.route, calls.reason) for calls in nsp.report()] == [
        ("host", "npaccel is switched off")
    ]


def test_two_devices_are_an_error():
    with pytest.raises(MixedDevicesError, match="cpu and meta"):
        nsp.spatial.distance.cdist(torch.rand(3, 2), torch.rand(3, 2, device="meta"))


def test_scipys_names_take_tensors_in_the_block_only():
    x = torch.rand(3)
    before = scipy.special.entr, scipy.linalg.inv, scipy.stats.norm, scipy.stats.zscore
    with npaccel.array_api():
        assert isinstance(scipy.special.gamma(x), torch.Tensor)
        assert isinstance(scipy.stats.norm.cdf(x), torch.Tensor)
        assert isinstance(scipy.linalg.inv(torch.eye(2)), torch.Tensor)
        assert isinstance(scipy.linalg.inv(np.eye(2)), np.ndarray)
        assert scipy.special.gamma.nin == 1
        with npaccel.array_api():
            pass
        assert isinstance(scipy.special.gamma(x), torch.Tensor)
    after = scipy.special.entr, scipy.linalg.inv, scipy.stats.norm, scipy.stats.zscore
    assert all(a is b for a, b in zip(before, after, strict=True))


def test_the_block_ends_with_an_exception():
    before = scipy.linalg.inv
    with pytest.raises(ZeroDivisionError), npaccel.array_api():
        raise ZeroDivisionError
    assert scipy.linalg.inv is before


def test_other_threads_have_scipys_functions():
    found = []
    with npaccel.array_api():
        thread = threading.Thread(target=lambda: found.append(scipy.linalg.inv(torch.eye(2))))
        thread.start()
        thread.join()
    assert not isinstance(found[0], torch.Tensor)


def test_installed_for_all_threads():
    found = []
    npaccel.array_api.install()
    try:
        thread = threading.Thread(target=lambda: found.append(scipy.linalg.inv(torch.eye(2))))
        thread.start()
        thread.join()
    finally:
        npaccel.array_api.uninstall()
    assert isinstance(found[0], torch.Tensor)
    assert isinstance(scipy.special.gamma, np.ufunc)
    assert isinstance(scipy.linalg.inv(torch.eye(2)), np.ndarray)


def test_many_threads_enter_and_leave():
    before = scipy.linalg.inv
    errors = []

    def work():
        try:
            for _ in range(20):
                with npaccel.array_api():
                    assert isinstance(scipy.linalg.inv(torch.eye(2)), torch.Tensor)
        except BaseException as error:  # noqa: BLE001 (told to the main thread)
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert scipy.linalg.inv is before


def test_functions_and_distributions_are_pickled_by_name():
    for value in (nsp.linalg.inv, nsp.stats.norm):
        again = pickle.loads(pickle.dumps(value))
        assert again is value or repr(again) == repr(value)
    with npaccel.array_api():
        data = pickle.dumps(scipy.linalg.inv)
    assert pickle.loads(data) is scipy.linalg.inv


def test_it_works_whichever_is_imported_first():
    program = """
        import {0}
        import {1}
        import torch, npaccel.scipy
        x = torch.rand(5)
        with npaccel.options(backend="eager"):
            found = [npaccel.scipy.stats.entropy(x), npaccel.scipy.special.entr(x)]
        answer(tensors=[isinstance(one, torch.Tensor) for one in found])
    """
    for order in (("scipy.stats", "npaccel.scipy"), ("npaccel.scipy", "scipy.stats")):
        found = children.run_prepared(textwrap.dedent(program).format(*order))
        assert found == {"tensors": [True, True]}


def test_a_jitted_function_runs_scipy_in_scipy():
    def f(a):
        return scipy.stats.norm.cdf(a) + scipy.linalg.ldl(np.outer(a, a) + np.eye(a.size))[1][0]

    a = np.linspace(-1, 1, 6)
    with pytest.warns(PerformanceWarning):
        np.testing.assert_array_equal(npaccel.jit(f)(a), f(a))


def test_scipys_own_code_keeps_its_dtypes():
    """SciPy makes float64 arrays of its own, which `default_float` isn't about."""

    def f(a):
        return scipy.linalg.ldl(a)[0], scipy.stats.boxcox(a[0] ** 2 + 1)[0]

    a = np.random.default_rng(0).normal(size=(5, 5))
    a = a + a.T
    with pytest.warns(PerformanceWarning):
        found = npaccel.jit(f)(a)
    for ours, theirs in zip(found, f(a), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_every_function_has_a_route():
    rows = table.rows()
    assert {row.route for row in rows.values()} <= {"delegated", "native", "host", "refused"}
    for name in listing.names():
        assert f"scipy.{name}" in rows


def test_declared_names_are_scipys():
    for name, row in table.rows().items():
        found = listing.find(name.removeprefix("scipy."))
        assert found is row.scipy or found == row.scipy  # a method is a new object each time


def run(*args):
    return CliRunner().invoke(cli.main, ("support", *args))


def test_support_on_the_command_line():
    assert run("scipy.stats.zscore").output.startswith("scipy.stats.zscore: ")
    totals = dict(line.split() for line in run("scipy").output.splitlines())
    assert {k: int(v) for k, v in totals.items()} == support_page.totals(
        support_page.functions(support_page.table())
    )
    wrong = run("scipy.stats.zscor")
    assert wrong.exit_code == 1
    assert "scipy.stats.zscore" in wrong.output
