"""Derivatives, integrals, matrices and fits of the series in numpy.polynomial."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import axis_of, call
from npaccel._numpy.core.context import settings
from npaccel._numpy.core.dtypes import (
    COMPLEX128,
    FLOAT64,
    as_tensor,
    cast,
    default_float,
    narrow,
    to_numpy,
)
from npaccel._numpy.core.table import implements
from npaccel._numpy.host import polynomials as host_series
from npaccel._numpy.linalg.decompositions import prepared
from npaccel._numpy.linalg.linalg import least_squares, lstsq
from npaccel._numpy.polynomial.algebra import coefficients
from npaccel._numpy.polynomial.polynomials import check_fit, weights_of
from npaccel._numpy.polynomial.series import MODULES, VALUES, many, name_of
from npaccel._numpy.ufuncs.dispatch import named
from npaccel._runtime.torch.symbolic_sizes import assume, surely

OnSeries = Callable[[torch.Tensor], torch.Tensor]


def _count(number: Any, what: str) -> int:
    if isinstance(number, torch.Tensor):
        raise NotImplementedError(f"{what} must be a Python number; pass it as one")
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{what} must be an integer, received {number}") from None


def _degrees(c: torch.Tensor, start: int = 0) -> torch.Tensor:
    """Return the degrees of coefficients, in a shape that broadcasts."""
    found = torch.arange(start, c.shape[0] + start, device=c.device)
    return found.reshape([-1, *([1] * (c.ndim - 1))])


# -- derivatives: coefficients along the first axis, at least two


def _from_above(c: torch.Tensor) -> torch.Tensor:
    """Add to each coefficient all later ones."""
    return torch.flip(torch.cumsum(torch.flip(c, (0,)), 0), (0,))


def _every_other(c: torch.Tensor) -> torch.Tensor:
    """Add to each coefficient the second one after it, the fourth, ..."""
    odd = c.shape[0] % 2
    even = torch.cat([c, torch.zeros_like(c[:1])]) if odd else c
    pairs = even.reshape([even.shape[0] // 2, 2, *even.shape[1:]])
    return _from_above(pairs).reshape(even.shape)[: c.shape[0]]


def _d_power(c: torch.Tensor) -> torch.Tensor:
    return c[1:] * _degrees(c[1:], 1)


def _d_chebyshev(c: torch.Tensor) -> torch.Tensor:
    found = _every_other(c * (2 * _degrees(c)))[1:]
    return torch.cat([found[:1] / 2, found[1:]])


def _d_legendre(c: torch.Tensor) -> torch.Tensor:
    found = _every_other(c)[1:]
    return found * (2 * _degrees(found) + 1)


DERIVATIVES: dict[str, OnSeries] = {
    "poly": _d_power,
    "cheb": _d_chebyshev,
    "leg": _d_legendre,
    "herm": lambda c: c[1:] * (2 * _degrees(c[1:], 1)),
    "herme": _d_power,
    "lag": lambda c: -_from_above(c)[1:],
}


def _along(c: Any, axis: Any) -> tuple[torch.Tensor, int]:
    """Return coefficients as floats along the first axis, and the axis they were along."""
    found = as_tensor(c)
    found = found.reshape(1) if found.ndim == 0 else found
    if not (found.dtype.is_floating_point or found.is_complex()):
        found = cast(found, narrow(FLOAT64, [to_numpy(found.dtype)]))
    place = axis_of(_count(axis, "the axis"), found.ndim)
    return torch.movedim(found, place, 0), place


def _scaled(c: torch.Tensor, scl: Any) -> torch.Tensor:
    """Return ``c *= scl`` as a new tensor."""
    return call(np.multiply, c, scl, out=torch.empty_like(c))  # type: ignore[no-any-return]


def _derivative(prefix: str) -> Callable[..., Any]:
    def derivative(c: Any, m: Any = 1, scl: Any = 1, axis: Any = 0) -> torch.Tensor:
        times = _count(m, "the order of derivation")
        if times < 0:
            raise ValueError("The order of derivation must be non-negative")
        found, place = _along(c, axis)
        if times >= found.shape[0]:
            nothing = found[:1] * 0
            return nothing if _forgets(prefix) else torch.movedim(nothing, 0, place)
        for _ in range(times):
            found = DERIVATIVES[prefix](_scaled(found, scl))
        return torch.movedim(found if times else found.clone(), 0, place)

    return derivative


def _forgets(prefix: str) -> bool:
    """Whether the installed NumPy doesn't move the axis of a derivative of nothing back."""
    theirs = getattr(MODULES[prefix], f"{prefix}der")
    return bool(theirs(np.ones((2, 1)), axis=1).shape == (1, 2))


# -- integrals: coefficients along the first axis


def _i_power(c: torch.Tensor) -> torch.Tensor:
    return torch.cat([c[:1] * 0, c / _degrees(c, 1)])


def _i_chebyshev(c: torch.Tensor) -> torch.Tensor:
    j = _degrees(c)
    up = torch.cat([c[:1], (c / (2 * (j + 1)))[1:]])
    return _lowered(up, (c / (2 * torch.clamp(j - 1, min=1)))[2:])


def _i_legendre(c: torch.Tensor) -> torch.Tensor:
    up = c / (2 * _degrees(c) + 1)
    return _lowered(up, up[2:])


def _lowered(up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
    """Subtract, from terms of the next degree, those of the degree before."""
    zero = up[:1] * 0
    nothing = torch.zeros_like(up[:1])
    ends = [nothing] * (3 if surely(up.shape[0] > 1) else 2)
    lower = torch.cat([nothing, down, *ends[1:]])
    return torch.cat([zero, up]) - lower[: up.shape[0] + 1]


def _i_laguerre(c: torch.Tensor) -> torch.Tensor:
    nothing = torch.zeros_like(c[:1])
    return torch.cat([c, nothing]) - torch.cat([nothing, c])


INTEGRALS: dict[str, OnSeries] = {
    "poly": _i_power,
    "cheb": _i_chebyshev,
    "leg": _i_legendre,
    "herm": lambda c: torch.cat([c[:1] * 0, c / (2 * _degrees(c, 1))]),
    "herme": _i_power,
    "lag": _i_laguerre,
}


def _integral(prefix: str) -> Callable[..., Any]:
    def integral(
        c: Any, m: Any = 1, k: Any = [], lbnd: Any = 0, scl: Any = 1, axis: Any = 0  # noqa: B006
    ) -> torch.Tensor:  # fmt: skip
        constants = _constants(k)
        times = _count(m, "the order of integration")
        _check_integral(times, constants, lbnd, scl)
        found, place = _along(c, axis)
        if surely(found.shape[0] == 1) and times:
            raise NotImplementedError(
                "the integral of a single coefficient has one coefficient or two, depending on "
                "whether it's zero"
            )
        constants += [0] * (times - len(constants))
        for constant in constants:
            found = INTEGRALS[prefix](_scaled(found, scl))
            at_bound = call(np.subtract, constant, VALUES[prefix](lbnd, found))
            if at_bound.is_complex() and not found.is_complex():
                raise NotImplementedError("a complex constant in an integral of real numbers")
            first = found[0] + cast(at_bound, to_numpy(found.dtype))
            found = torch.cat([first.unsqueeze(0), found[1:]])
        return torch.movedim(found if times else found.clone(), 0, place)

    return integral


def _constants(k: Any) -> list[Any]:
    if isinstance(k, torch.Tensor):
        return list(k.unbind(0)) if k.ndim else [k]
    return list(k) if isinstance(k, list | tuple) else [k]


def _check_integral(times: int, constants: list[Any], lbnd: Any, scl: Any) -> None:
    if times < 0:
        raise ValueError("The order of integration must be non-negative")
    if len(constants) > times:
        raise ValueError("Too many integration constants")
    for value, what in ((lbnd, "lbnd"), (scl, "scl")):
        if as_tensor(value).ndim:
            raise ValueError(f"{what} must be a scalar.")


# -- matrices

#: (x, value before, value before that, degree) -> value of a basis function.
Next = Callable[[Any, Any, Any, int], Any]
#: Functions of degree 1, and those of higher degrees, by prefix.
_BASES: dict[str, tuple[Callable[[Any], Any], Next]] = {
    "poly": (lambda x: x, lambda x, v, _, i: v * x),
    "cheb": (lambda x: x, lambda x, v, u, i: v * (2 * x) - u),
    "leg": (lambda x: x, lambda x, v, u, i: (v * x * (2 * i - 1) - u * (i - 1)) / i),
    "herm": (lambda x: x * 2, lambda x, v, u, i: v * (x * 2) - u * (2 * (i - 1))),
    "herme": (lambda x: x, lambda x, v, u, i: v * x - u * (i - 1)),
    "lag": (lambda x: 1 - x, lambda x, v, u, i: (v * (2 * i - 1 - x) - u * (i - 1)) / i),
}


def _matrix(prefix: str) -> Callable[..., Any]:
    first, following = _BASES[prefix]

    def matrix(x: Any, deg: Any) -> torch.Tensor:
        degree = _count(deg, "deg")
        if degree < 0:
            raise ValueError("deg must be non-negative")
        at = call(np.add, as_tensor(x), 0.0)
        at = at.reshape(1) if at.ndim == 0 else at
        if many(degree, at):
            rows = host_series.vander(name_of(prefix, "{p}vander"), at, degree)
            return torch.movedim(rows, 0, -1)
        columns = [at * 0 + 1]
        if degree:
            columns.append(first(at))
        for i in range(2, degree + 1):
            columns.append(following(at, columns[-1], columns[-2], i))
        return torch.movedim(torch.stack(columns), 0, -1)  # as NumPy's lies in memory

    return matrix


def _grid_matrix(prefix: str, dimensions: int) -> Callable[..., Any]:
    matrix = _matrix(prefix)

    def of_points(points: tuple[Any, ...], degrees: Any) -> torch.Tensor:
        sizes = list(degrees)
        if len(sizes) != dimensions:
            raise ValueError(f"Expected {dimensions} dimensions of degrees, got {len(sizes)}")
        at = call(np.add, as_tensor(list(points)), 0.0)
        found = None
        for i, degree in enumerate(sizes):
            one = matrix(at[i], degree)
            shape = [*one.shape[:-1], *(one.shape[-1] if i == k else 1 for k in range(dimensions))]
            factor = one.reshape(shape)
            found = factor if found is None else found * factor
        assert found is not None
        return torch.flatten(found, -dimensions)

    if dimensions == 2:
        return lambda x, y, deg: of_points((x, y), deg)
    return lambda x, y, z, deg: of_points((x, y, z), deg)


def _companion(prefix: str) -> Callable[..., Any]:
    theirs = getattr(MODULES[prefix], f"{prefix}companion")

    def companion(c: Any) -> torch.Tensor:
        (given,) = coefficients(c)
        n = len(given) - 1
        if n < 1:
            raise ValueError("Series must have maximum degree of at least 1.")
        # NumPy's matrices for the highest degree alone, and for coefficients of one.
        bare = theirs([0.0] * n + [1.0])
        weights = _constant((theirs([1.0] * (n + 1)) - bare)[:, -1], given)
        own = _constant(bare, given)
        column = own[:, -1] + given[:-1] / given[-1] * weights
        full = torch.cat([own[:, :-1], column.unsqueeze(-1)], 1)
        found = full[(given[-1] != 0).expand(n)]
        assume(found.shape[0] == n, "the coefficients end with a zero")
        return found

    return companion


def _constant(values: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values.tolist(), dtype=like.dtype, device=like.device)


def _computed_before(theirs: Any, number: Any, what: str) -> Any:
    """Have NumPy compute what depends on a number only, while the function is traced."""
    if isinstance(number, torch.Tensor | torch.SymInt):
        raise NotImplementedError(f"{what} must be a Python number; pass it as one")
    found = theirs(number)
    if isinstance(found, tuple):
        return tuple(_invented(part) for part in found)
    return _invented(found)


def _gauss(theirs: Any) -> Callable[..., Any]:
    return lambda deg: _computed_before(theirs, deg, "deg")


def _points(theirs: Any) -> Callable[..., Any]:
    return lambda npts: _computed_before(theirs, npts, "npts")


def _invented(values: Any) -> torch.Tensor:
    made = torch.tensor(values.tolist(), dtype=torch.float64, device=settings().device)
    return cast(made, default_float())


# -- fits


def _fit(prefix: str) -> Callable[..., Any]:
    matrix = _matrix(prefix)

    def fit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
        degrees = _degrees_of(deg)
        at, values = (call(np.add, as_tensor(v), 0.0) for v in (x, y))
        check_fit(at, values, min(degrees))
        left = matrix(at, max(degrees))
        if isinstance(deg, list | tuple):
            left = torch.stack([left[:, i] for i in degrees], 1)
        if w is not None:
            by_point = weights_of(w, values)
            left = left * by_point.unsqueeze(-1)
            values = values * (by_point.unsqueeze(-1) if values.ndim == 2 else by_point)
        bound = at.shape[0] * torch.finfo(at.dtype).eps if rcond is None else rcond
        size = torch.sqrt(torch.sum(torch.abs(left) ** 2, 0))
        size = torch.where(size == 0, 1, size)
        if full:
            found, *rest = lstsq(left / size, values, bound)
        else:  # no size depends on the data
            a, b = prepared(left / size, values)
            found = least_squares(a, b, bound)[0]
        found = found / (size.unsqueeze(-1) if found.ndim == 2 else size)
        if isinstance(deg, list | tuple):
            found = _spread(found, degrees)
        if full:
            return found, [*rest, as_tensor(bound, to_numpy(at.dtype)) if rcond is None else rcond]
        return found

    return fit


def _degrees_of(deg: Any) -> list[int]:
    """Return the degrees of a fit in ascending order; a number stands for all up to it."""
    if isinstance(deg, torch.Tensor):
        raise NotImplementedError("deg must be a Python number or a list of them")
    asked = np.asarray(deg)
    if asked.ndim > 1 or asked.dtype.kind not in "iu" or asked.size == 0:
        raise TypeError("deg must be an int or non-empty 1-D array of int")
    return [int(asked)] if asked.ndim == 0 else sorted(int(i) for i in asked)


def _spread(found: torch.Tensor, degrees: list[int]) -> torch.Tensor:
    rows = [torch.zeros_like(found[0])] * (max(degrees) + 1)
    for place, degree in enumerate(degrees):
        rows[degree] = found[place]
    return torch.stack(rows)


@implements(np.polynomial.polynomial.polyvalfromroots, zero_d="scalar")
def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> torch.Tensor:
    """`numpy.polynomial.polynomial.polyvalfromroots`.

    Raises
    ------
    ValueError
        If ``tensor=False`` and x has as many dimensions as r.
    """
    roots = as_tensor(r)
    roots = roots.reshape(1) if roots.ndim == 0 else roots
    if not (roots.dtype.is_floating_point or roots.is_complex()):
        roots = cast(roots, narrow(FLOAT64, [to_numpy(roots.dtype)]))
    at = as_tensor(x) if isinstance(x, list | tuple) else x
    if isinstance(at, torch.Tensor):
        if tensor:
            roots = roots.reshape([*roots.shape, *([1] * at.ndim)])
        elif at.ndim >= roots.ndim:
            raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return call(np.prod, call(np.subtract, at, roots), axis=0)  # type: ignore[no-any-return]


@implements(np.polynomial.polyutils.getdomain)
def getdomain(x: Any) -> torch.Tensor:
    """`numpy.polynomial.polyutils.getdomain`: the least and the largest value."""
    (given,) = coefficients(x)
    if not given.is_complex():
        return torch.stack([call(np.min, given), call(np.max, given)])
    parts = [(call(np.min, part), call(np.max, part)) for part in (given.real, given.imag)]
    found = torch.stack([torch.complex(*pair) for pair in zip(*parts, strict=True)])
    return cast(found, narrow(COMPLEX128, [to_numpy(given.dtype)]))


_SINGLE = "an integral of one coefficient is refused: its length depends on the value"
_FIT = "a poor fit doesn't warn; sums of squared errors lose digits"


def _enter(module: Any, name: str, function: Any, **fields: Any) -> None:
    globals()[name] = implements(getattr(module, name), **fields)(named(function, name, __name__))


def _declare() -> None:
    for prefix, module in MODULES.items():
        _enter(module, f"{prefix}der", _derivative(prefix))
        _enter(module, f"{prefix}int", _integral(prefix), note=_SINGLE)
        _enter(module, f"{prefix}vander", _matrix(prefix))
        for n in (2, 3):
            _enter(module, f"{prefix}vander{n}d", _grid_matrix(prefix, n))
        _enter(module, f"{prefix}companion", _companion(prefix))
        fields = {"zero_d": "scalar", "data_dependent": True, "tolerance": 100, "note": _FIT}
        _enter(module, f"{prefix}fit", _fit(prefix), **fields)
        if prefix != "poly":
            name = f"{prefix}gauss"
            _enter(module, name, _gauss(getattr(module, name)))
    for name in ("chebpts1", "chebpts2"):
        module = MODULES["cheb"]
        _enter(module, name, _points(getattr(module, name)))


_declare()
