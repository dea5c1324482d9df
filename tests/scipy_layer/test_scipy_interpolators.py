"""Interpolating objects of npaccel.scipy: they compute on tensors as SciPy's do on arrays."""

import pickle

import numpy as np
import pytest
import scipy.interpolate
import torch

import npaccel.scipy as nsp
from npaccel._scipy.linalg import _tridiagonal
from npaccel.errors import NotCompiledError

RNG = np.random.default_rng(5)
X = np.cumsum(RNG.uniform(0.1, 1, 9))
Y = RNG.normal(size=9)
TABLE = RNG.normal(size=(3, 9, 2))
AT = np.concatenate([RNG.uniform(X[0] - 1, X[-1] + 1, 20), X, [np.nan]])

MADE = [
    ("CubicSpline", {}),
    ("CubicSpline", {"bc_type": "natural"}),
    ("CubicSpline", {"bc_type": "clamped"}),
    ("CubicSpline", {"bc_type": ((1, 0.5), (2, -0.25))}),
    ("CubicSpline", {"bc_type": ("not-a-knot", "natural"), "extrapolate": False}),
    ("CubicSpline", {"bc_type": ((2, 1.5), "not-a-knot"), "extrapolate": "periodic"}),
    ("PchipInterpolator", {}),
    ("Akima1DInterpolator", {}),
    ("Akima1DInterpolator", {"method": "makima", "extrapolate": True}),
]


@pytest.fixture(autouse=True)
def cleared():
    nsp.clear_report()


def routes():
    return {calls.route for calls in nsp.report()}


def tensors(*arrays):
    return [torch.from_numpy(a) for a in arrays]


def close(found, wanted, rtol=1e-10):
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=rtol, atol=1e-11)
    assert found.numpy().dtype == np.asarray(wanted).dtype


@pytest.mark.parametrize(("name", "named"), MADE)
def test_piecewise_cubics(name, named):
    ours = getattr(nsp.interpolate, name)(*tensors(X, Y), **named)
    theirs = getattr(scipy.interpolate, name)(X, Y, **named)
    for nu in range(5):
        close(ours(torch.from_numpy(AT), nu), theirs(AT, nu))
    close(ours(torch.from_numpy(AT).reshape(5, 6)), theirs(AT.reshape(5, 6)))
    close(ours(X[2] + 0.1), theirs(X[2] + 0.1))
    close(ours.derivative(2)(torch.from_numpy(AT)), theirs.derivative(2)(AT))
    close(ours.antiderivative(2)(torch.from_numpy(AT)), theirs.antiderivative(2)(AT))
    close(ours.c, theirs.c)
    ends = (X[1] + 0.05, X[-2] - 0.1)
    close(ours.integrate(*ends), theirs.integrate(*ends))
    assert isinstance(ours, getattr(scipy.interpolate, name))
    assert isinstance(ours, getattr(nsp.interpolate, name))
    assert routes() == {"native"}


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("bc_type", ["not-a-knot", "natural", "clamped", "periodic"])
def test_few_points(n, bc_type):
    y = Y[:n].copy()
    if bc_type == "periodic":
        y[-1] = y[0]
    ours = nsp.interpolate.CubicSpline(*tensors(X[:n], y), bc_type=bc_type)
    theirs = scipy.interpolate.CubicSpline(X[:n], y, bc_type=bc_type)
    close(ours(torch.from_numpy(AT)), theirs(AT), rtol=1e-8)
    for name in ("PchipInterpolator", "Akima1DInterpolator"):
        ours = getattr(nsp.interpolate, name)(*tensors(X[:n], y))
        close(ours(torch.from_numpy(AT)), getattr(scipy.interpolate, name)(X[:n], y)(AT))


@pytest.mark.parametrize("axis", [1, -2])
@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_axes(name, axis):
    ours = getattr(nsp.interpolate, name)(*tensors(X, TABLE), axis=axis)
    theirs = getattr(scipy.interpolate, name)(X, TABLE, axis=axis)
    close(ours(torch.from_numpy(AT)), theirs(AT))
    close(ours(torch.from_numpy(AT).reshape(2, 15)), theirs(AT.reshape(2, 15)))
    assert ours.axis == theirs.axis


def test_periodic_splines():
    y = Y.copy()
    y[-1] = y[0]
    ours = nsp.interpolate.CubicSpline(*tensors(X, y), bc_type="periodic")
    theirs = scipy.interpolate.CubicSpline(X, y, bc_type="periodic")
    close(ours(torch.from_numpy(AT)), theirs(AT))
    for ends in ((X[0] - 3, X[-1] + 7), (X[2], X[4]), (X[4], X[2]), (X[-1] + 1, X[-1] + 2)):
        close(ours.integrate(*ends), theirs.integrate(*ends), rtol=1e-9)


def test_widths():
    x, y = (torch.tensor(v, dtype=torch.float32) for v in (X, Y))
    spline = nsp.interpolate.CubicSpline(x, y)
    assert spline(x).dtype is torch.float32
    assert spline(x.double()).dtype is torch.float64
    assert spline(1.5).dtype is torch.float32
    assert nsp.interpolate.CubicSpline(x, y.double())(x).dtype is torch.float64


def test_complex_values():
    values = Y + 1j * Y[::-1]
    ours = nsp.interpolate.CubicSpline(*tensors(X, values))
    close(ours(torch.from_numpy(AT)), scipy.interpolate.CubicSpline(X, values)(AT))


def test_arrays_give_scipys_objects():
    assert type(nsp.interpolate.CubicSpline(X, Y)) is scipy.interpolate.CubicSpline
    assert type(nsp.interpolate.PPoly.from_spline((X, Y[:5], 3))) is scipy.interpolate.PPoly
    assert nsp.interpolate.CubicSpline.__doc__ == scipy.interpolate.CubicSpline.__doc__
    assert issubclass(scipy.interpolate.CubicSpline, nsp.interpolate.PPoly)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((X[::-1].copy(), Y), "strictly increasing"),
        ((X, np.where(Y > 0, np.nan, Y)), "finite"),
        ((X, Y[:4]), "match the length"),
        ((X, Y, 0, "some"), "not allowed"),
    ],
)
def test_errors_are_scipys(arguments, text):
    given = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with pytest.raises(ValueError, match=text):
        nsp.interpolate.CubicSpline(*given)


def test_gradients():
    y = torch.from_numpy(Y).requires_grad_()
    nsp.interpolate.CubicSpline(torch.from_numpy(X), y)(torch.from_numpy(AT[:5])).sum().backward()
    step = 1e-6
    for i in range(9):
        moved = Y.copy()
        moved[i] += step
        rise = (
            scipy.interpolate.CubicSpline(X, moved)(AT[:5]).sum()
            - scipy.interpolate.CubicSpline(X, Y)(AT[:5]).sum()
        ) / step
        assert y.grad[i].item() == pytest.approx(rise, abs=1e-5)


def test_methods_that_search_go_through_the_host():
    ours = nsp.interpolate.CubicSpline(*tensors(X, Y))
    close(ours.roots(), scipy.interpolate.CubicSpline(X, Y).roots())
    close(ours.solve(0.3), scipy.interpolate.CubicSpline(X, Y).solve(0.3))
    assert {c.name.rpartition(".")[2] for c in nsp.report() if c.route == "host"} == {
        "roots",
        "solve",
    }


def test_pickles():
    ours = pickle.loads(pickle.dumps(nsp.interpolate.CubicSpline(*tensors(X, Y))))
    close(ours(torch.from_numpy(AT)), scipy.interpolate.CubicSpline(X, Y)(AT))
    assert pickle.loads(pickle.dumps(nsp.interpolate.CubicSpline)) is nsp.interpolate.CubicSpline


KINDS = ["linear", "nearest", "nearest-up", "previous", "next"]
KINDS += ["zero", "slinear", "quadratic", "cubic"]


# -- Other objects --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 100])
def test_reduction_is_elimination(n):
    lower, upper = torch.rand(n, dtype=torch.float64), torch.rand(n, dtype=torch.float64)
    lower[0] = upper[-1] = 0
    diagonal = 2.5 + torch.rand(n, dtype=torch.float64)
    matrix = torch.diag(diagonal)
    matrix += torch.diag(lower[1:], -1) + torch.diag(upper[:-1], 1)
    right = torch.rand(n, 3, dtype=torch.float64)
    wanted = torch.linalg.solve(matrix, right)
    for solve in (_tridiagonal.by_reduction, _tridiagonal.solved):
        assert torch.allclose(solve(lower, diagonal, upper, right), wanted)


@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("differentiable", [True, False])  # SciPy evaluates those that aren't
def test_bsplines(k, extrapolate, differentiable):
    t = np.sort(RNG.normal(size=14))
    t[:2], t[6:8] = t[1], t[7]
    c = RNG.normal(size=(14 - k - 1, 2))
    ours = nsp.interpolate.BSpline(*tensors(t, c), k, extrapolate)
    theirs = scipy.interpolate.BSpline(t, c, k, extrapolate)
    at = np.concatenate([RNG.uniform(t[0] - 1, t[-1] + 1, 40), t[k : 14 - k]])
    places = torch.from_numpy(at).requires_grad_(differentiable)
    close(ours(places).detach(), theirs(at), rtol=1e-8)
    if k > 2:
        close(ours(places, 1).detach(), theirs(at, 1), rtol=1e-8)
        inner = at[(at > t[k]) & (at < t[13 - k])]
        integral = ours.antiderivative()(torch.from_numpy(inner))
        close(integral, theirs.antiderivative()(inner), rtol=1e-8)
    close(ours.integrate(t[k], t[k + 1]), theirs.integrate(t[k], t[k + 1]))
    assert isinstance(ours, scipy.interpolate.BSpline)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill_value", ["extrapolate", 7.0, (-1.0, 5.0)])
def test_lines(kind, fill_value):
    named = {"kind": kind, "fill_value": fill_value, "bounds_error": False}
    at = np.concatenate([AT[1:-1], (X[1:] + X[:-1]) / 2])
    ours = nsp.interpolate.interp1d(*tensors(X, Y), **named)
    theirs = scipy.interpolate.interp1d(X, Y, **named)
    close(ours(torch.from_numpy(at)), theirs(at), rtol=1e-8)
    ours = nsp.interpolate.interp1d(*tensors(X[::-1].copy(), TABLE), axis=1, **named)
    theirs = scipy.interpolate.interp1d(X[::-1], TABLE, axis=1, **named)
    close(ours(torch.from_numpy(at).reshape(2, -1)), theirs(at.reshape(2, -1)), rtol=1e-8)
    assert routes() == {"native"}


def test_lines_end_where_they_are_told():
    ours = nsp.interpolate.interp1d(*tensors(X, Y))
    with pytest.raises(ValueError, match="outside the range"):
        ours(torch.from_numpy(AT))
    with pytest.raises(ValueError, match="Cannot extrapolate"):
        nsp.interpolate.interp1d(*tensors(X, Y), fill_value="extrapolate", bounds_error=True)
    with pytest.raises(NotImplementedError):
        nsp.interpolate.interp1d(*tensors(X, Y), kind="some")


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill_value", [None, np.nan, -3.0])
def test_grids(method, fill_value):
    lines = [np.cumsum(RNG.uniform(0.2, 1, n)) for n in (4, 5, 3)]
    lines[1] = lines[1][::-1].copy()
    values = RNG.normal(size=(4, 5, 3, 2))
    at = RNG.uniform(0, 4, (6, 7, 3))
    at[0, 0, 0] = np.nan
    named = {"method": method, "bounds_error": False, "fill_value": fill_value}
    ours = nsp.interpolate.RegularGridInterpolator(
        tuple(tensors(*lines)), torch.from_numpy(values), **named
    )
    theirs = scipy.interpolate.RegularGridInterpolator(lines, values, **named)
    close(ours(torch.from_numpy(at)), theirs(at))
    other = "nearest" if method == "linear" else "linear"
    close(ours(torch.from_numpy(at), method=other), theirs(at, method=other))
    assert routes() == {"native"}
    close(ours(torch.from_numpy(at[1]), method="slinear"), theirs(at[1], method="slinear"))


def test_grids_end_where_they_are_told():
    lines = tensors(X, X)
    values = torch.from_numpy(Y)[:, None] * torch.from_numpy(Y)
    ours = nsp.interpolate.RegularGridInterpolator(lines, values)
    with pytest.raises(ValueError, match="out of bounds"):
        ours(torch.zeros(3, 2))


@pytest.mark.parametrize("method", ["cubic", "pchip", "quintic"])
def test_grids_of_splines_are_scipys(method):
    values = Y[:, None] * Y
    ours = nsp.interpolate.RegularGridInterpolator(
        tensors(X, X), torch.from_numpy(values), method=method
    )
    theirs = scipy.interpolate.RegularGridInterpolator((X, X), values, method=method)
    at = RNG.uniform(X[0], X[-1], (5, 2))
    close(ours(torch.from_numpy(at)), theirs(at))
    assert routes() == {"host"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("BarycentricInterpolator", (X, Y)),
        ("KroghInterpolator", (X, Y)),
        ("UnivariateSpline", (X, Y)),
        ("RBFInterpolator", (X[:, None], Y)),
        ("LinearNDInterpolator", (RNG.normal(size=(9, 2)), Y)),
        ("NearestNDInterpolator", (RNG.normal(size=(9, 2)), Y)),
    ],
)
def test_all_other_classes(name, arguments):
    ours = getattr(nsp.interpolate, name)(*tensors(*arguments))
    theirs = getattr(scipy.interpolate, name)(*arguments)
    at = np.linspace(X[0], X[-1], 5)
    at = at[:, None] if name == "RBFInterpolator" else at
    at = RNG.normal(size=(5, 2)) if name.endswith("NDInterpolator") else at
    close(ours(torch.from_numpy(at)), theirs(at))
    assert isinstance(ours, getattr(scipy.interpolate, name))
    if name == "UnivariateSpline":
        close(ours.get_knots(), theirs.get_knots())
        close(ours.derivative()(torch.from_numpy(at)), theirs.derivative()(at))


def test_gradients_are_not_asked_of_the_host():
    with pytest.raises(NotCompiledError, match="requires gradients"):
        nsp.interpolate.KroghInterpolator(torch.from_numpy(X), torch.from_numpy(Y).requires_grad_())


def test_splines_that_scipy_makes_compute_on_tensors():
    spline = nsp.interpolate.make_splrep(*tensors(X, Y), s=1)
    nsp.clear_report()
    close(spline(torch.from_numpy(AT)), scipy.interpolate.make_splrep(X, Y, s=1)(AT))
    assert routes() == {"native"}
    wanted = scipy.interpolate.splder(scipy.interpolate.make_splrep(X, Y, s=1))(AT)
    close(nsp.interpolate.splder(spline)(torch.from_numpy(AT)), wanted)


def test_what_only_scipys_object_has_is_asked_of_it():
    x = np.sort(AT[:10])
    ours = nsp.interpolate.PPoly(*tensors(TABLE, x))
    theirs = scipy.interpolate.PPoly(TABLE, x)
    more = np.array([x[-1] + 1, x[-1] + 2])
    ours.extend(*tensors(TABLE[:, :2], more))
    theirs.extend(TABLE[:, :2], more)
    close(ours.x, theirs.x)
    close(ours(torch.from_numpy(AT)), theirs(AT))
    close(ours.roots()[1], theirs.roots()[1], rtol=1e-8)

    spline = nsp.interpolate.make_interp_spline(*tensors(X, Y), k=3)
    wanted = scipy.interpolate.make_interp_spline(X, Y, k=3)
    for found, part in zip(spline.tck[:2], wanted.tck[:2], strict=True):
        close(found, part)
    close(spline.insert_knot(X[3] + 0.1)(torch.from_numpy(X)), Y)
    close(nsp.interpolate.splev(torch.from_numpy(X), spline), Y)
    close(nsp.interpolate.splev(X, spline), Y)
    with pytest.raises(AttributeError):
        _ = spline.nothing
