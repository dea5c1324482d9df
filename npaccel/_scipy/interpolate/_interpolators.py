"""Objects like those of `scipy.interpolate` that compute on the device of their tensors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from npaccel._scipy.dispatch import checks, conversion, log
from npaccel._scipy.dispatch.arguments import as_float, free_for_scipy
from npaccel._scipy.dispatch.checks import readable
from npaccel._scipy.interpolate import _bsplines as bsplines
from npaccel._scipy.interpolate import _piecewise as pieces
from npaccel._scipy.objects.computed import Computed, Tensor, narrowed, scipys

# -- Piecewise polynomials --------------------------------------------------------------------


class Piecewise(Computed):
    """Counterpart of `scipy.interpolate.PPoly`.

    Parameters
    ----------
    c : Tensor, shape (k, m, ...)
    x : Tensor, shape (m + 1,)
    extrapolate : bool or "periodic"
    axis : int
        Where the values' axis is in results.
    """

    _changing = ("c", "x")

    def __init__(self, c: Tensor, x: Tensor, extrapolate: Any, axis: int) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Tensor:
        """Evaluate the polynomial or a derivative."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        at, shape, narrow = self._places(x)
        if nu < 0:
            raise ValueError("Order of derivative cannot be negative")
        found = pieces.evaluated(pieces.derived(self.c, nu), self.x, at, extrapolate)
        return self._given(found, shape, self.axis, narrow)

    def derivative(self, nu: int = 1) -> Any:
        """A derivative, as an object."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = pieces.derived(self.c, nu)
        c = c[:1] * 0 if self.c.shape[0] <= nu else c
        return self._like(Piecewise(c, self.x, self.extrapolate, self.axis))

    def antiderivative(self, nu: int = 1) -> Any:
        """An integral, as an object."""
        if nu <= 0:
            return self.derivative(-nu)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        c = pieces.antiderived(self.c, self.x, nu)
        return self._like(Piecewise(c, self.x, extrapolate, self.axis))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Tensor:
        """The integral between two numbers."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        low, high = (as_float(v, torch.float64, self._device).reshape(()) for v in (a, b))
        c = pieces.antiderived(self.c, self.x, 1)
        if extrapolate == "periodic":
            found = self._integral_of_periods(c, low, high)
        else:
            ends = pieces.evaluated(c, self.x, torch.stack([low, high]), extrapolate)
            found = ends[1] - ends[0]
        log.note(f"{self._name}.integrate", "native")
        return narrowed(found) if self._narrow else found

    def _integral_of_periods(self, c: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Whole periods, and what is left at both ends."""
        first, last = self.x[0], self.x[-1]
        period = last - first
        places = torch.stack([low, high])
        whole = torch.floor((places - first) / period)
        inner = pieces.evaluated(c, self.x, places - whole * period, True)
        total = pieces.evaluated(c, self.x, torch.stack([first, last]), True)
        return inner[1] - inner[0] + (whole[1] - whole[0]) * (total[1] - total[0])

    def on_host(self) -> Any:
        """SciPy's object of arrays."""
        c, x = conversion.to_host(self.c), conversion.to_host(self.x)
        return scipys("PPoly").construct_fast(c, x, self.extrapolate, self.axis)


def _extrapolates(extrapolate: Any, default: Any) -> Any:
    if extrapolate is None:
        return default
    return extrapolate if extrapolate == "periodic" else bool(extrapolate)


def ppoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Piecewise:
    """Counterpart of `scipy.interpolate.PPoly`."""
    c = c if c.is_complex() else c.to(torch.float64)
    x = x.to(torch.float64)
    if c.ndim < 2 or not 0 <= axis < c.ndim - 1 or x.ndim != 1 or x.shape[0] < 2:
        raise ValueError("Coefficients array must be at least 2-dimensional.")
    c = c.movedim((axis, axis + 1), (0, 1))
    if not c.shape[0] or c.shape[1] != x.shape[0] - 1:
        raise ValueError("number of coefficients != len(x)-1")
    checks.holds((torch.diff(x) >= 0).all(), "`x` must be increasing")
    return Piecewise(c, x, _extrapolates(extrapolate, True), axis)


def cubic_hermite(x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> Piecewise:
    """Counterpart of `scipy.interpolate.CubicHermiteSpline`."""
    x, (y, slopes), axis = pieces.points(x, y, axis, dydx)
    return _hermite(x, y, slopes, axis, _extrapolates(extrapolate, True))


def _hermite(x: Tensor, y: Tensor, slopes: Tensor, axis: int, extrapolate: Any) -> Piecewise:
    return Piecewise(pieces.hermite(x, y, slopes), x, extrapolate, axis)


def pchip(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Piecewise:
    """Counterpart of `scipy.interpolate.PchipInterpolator`."""
    x, (y,), axis = pieces.points(x, y, axis)
    if y.is_complex():
        raise ValueError("`PchipInterpolator` only works with real values for `y`.")
    slopes = pieces.pchip_slopes(x, y)
    return _hermite(x, y, slopes, axis, _extrapolates(extrapolate, True))


def akima(
    x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> Piecewise:
    """Counterpart of `scipy.interpolate.Akima1DInterpolator`."""
    if method not in ("akima", "makima"):
        raise NotImplementedError(f"`method`={method} is unsupported.")
    x, (y,), axis = pieces.points(x, y, axis)
    if y.is_complex():
        raise ValueError("`Akima1DInterpolator` only works with real values for `y`.")
    slopes = pieces.akima_slopes(x, y, method == "makima")
    return _hermite(x, y, slopes, axis, _extrapolates(extrapolate, False))


def cubic_spline(
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Piecewise:
    """Counterpart of `scipy.interpolate.CubicSpline`."""
    x, (y,), axis = pieces.points(x, y, axis)
    kinds = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(kinds) != 2 or (kinds[0] == "periodic") is not (kinds[1] == "periodic"):
        raise ValueError("`bc_type` must contain 2 elements")
    periodic = isinstance(kinds[0], str) and kinds[0] == "periodic"
    if periodic:
        apart = (y[0] - y[-1]).abs() <= 1e-15 + 1e-15 * y[-1].abs()
        checks.holds(apart.all(), "The first and last `y` point must be identical")
    given = [_end(kind, y) for kind in kinds]
    slopes = pieces.spline_slopes(x, y, given) if y.numel() else torch.zeros_like(y)
    default = "periodic" if periodic else True
    return _hermite(x, y, slopes, axis, _extrapolates(extrapolate, default))


def _end(kind: Any, y: Tensor) -> Any:
    """A condition at an end: a name, or a derivative's order and value."""
    if isinstance(kind, str):
        known = {"clamped": (1, 0.0), "natural": (2, 0.0)}
        if kind not in ("not-a-knot", "periodic", *known):
            raise ValueError(f"bc_type={kind} is not allowed.")
        return known.get(kind, kind)
    order, value = kind
    if isinstance(value, torch.Tensor) and value.is_complex():
        raise ValueError("SciPy makes the values complex")
    value = as_float(value, torch.float64, y.device)
    if order not in (1, 2) or value.shape != y.shape[1:]:
        raise ValueError("The specified derivative order must be 1 or 2.")
    return order, value


# -- B-splines --------------------------------------------------------------------------------


class Spline(Computed):
    """Counterpart of `scipy.interpolate.BSpline`.

    Parameters
    ----------
    t : Tensor
        Knots.
    c : Tensor, shape (n, ...)
    k : int
    extrapolate : bool or "periodic"
    axis : int
        Where the values' axis is in results.
    """

    _changing = ("t", "c")

    def __init__(self, t: Tensor, c: Tensor, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    @property
    def tck(self) -> tuple[Tensor, Tensor, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Tensor:
        """Evaluate the spline or a derivative."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        at, shape, narrow = self._places(x)
        known = {"t": self.t, "c": self.c, "at": at}
        if readable(at) and free_for_scipy(known):
            found = self._by_scipy(at, nu, extrapolate)
        else:
            found = bsplines.evaluated(*self._derived(nu), at, extrapolate)
        return self._given(found, shape, self.axis, narrow)

    def _derived(self, nu: int) -> tuple[Tensor, Tensor, int]:
        if nu > self.k:
            return self.t, torch.zeros_like(self.c), self.k
        return bsplines.derived(self.t, self.c, self.k, nu)

    def _by_scipy(self, at: Tensor, nu: int, extrapolate: Any) -> Tensor:
        """Values on a CPU, where SciPy's code needs less memory than a table of coefficients."""
        from scipy.interpolate import BSpline

        t, c, places = (one.detach().contiguous().numpy() for one in (self.t, self.c, at))
        return torch.from_numpy(BSpline.construct_fast(t, c, self.k)(places, nu, extrapolate))

    def derivative(self, nu: int = 1) -> Any:
        """A derivative, as an object."""
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = bsplines.derived(self.t, self.c, self.k, nu)
        return self._like(Spline(t, c, k, self.extrapolate, self.axis))

    def antiderivative(self, nu: int = 1) -> Any:
        """An integral, as an object."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = bsplines.antiderived(self.t, self.c, self.k, nu)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self._like(Spline(t, c, k, extrapolate, self.axis))

    def on_host(self) -> Any:
        """SciPy's object of arrays."""
        t, c = conversion.to_host(self.t), conversion.to_host(self.c)
        return scipys("BSpline").construct_fast(t, c, self.k, self.extrapolate, self.axis)


def bspline(t: Any, c: Any, k: Any, extrapolate: Any = True, axis: int = 0) -> Spline:
    """Counterpart of `scipy.interpolate.BSpline`."""
    c = c if c.is_complex() else c.to(torch.float64)
    t = t.to(torch.float64).contiguous()
    axis = range(c.ndim)[axis]
    c = c.movedim(axis, 0)
    n = t.shape[0] - k - 1
    if t.ndim != 1 or k < 0 or n < k + 1 or c.shape[0] < n:
        raise ValueError("Knots, coefficients and degree are inconsistent.")
    checks.finite(t)
    sound = (torch.diff(t) >= 0).all() & (t[k] < t[n])
    checks.holds(sound, "Knots must be in a non-decreasing order.")
    return Spline(t, c, int(k), _extrapolates(extrapolate, True), axis)


def spline_through(x: Any, y: Any, k: int, axis: int) -> Spline:
    """The spline through points, without knots next to the ends."""
    x, (y,), axis = pieces.points(x, y, axis)
    if x.shape[0] <= k:
        raise ValueError("x and y arrays must have more entries")
    t = bsplines.knots(x, k)
    return Spline(t, bsplines.through(x, y, k, t), k, True, axis)


# -- Lines ------------------------------------------------------------------------------------

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_NEIGHBOURS = ("linear", "nearest", "nearest-up", "previous", "next")
#: Maximum number of points for which dense equations are solved.
LARGEST = 2048


class Line(Computed):
    """Counterpart of `scipy.interpolate.interp1d`."""

    def __init__(self, x: Tensor, y: Tensor, kind: str, axis: int, rule: dict[str, Any]) -> None:
        self.x, self.axis, self._rule, self._way = x, axis, rule, kind
        self._values = y
        self.y = y.movedim(0, axis)
        self.bounds_error, self.fill_value = rule["bounds_error"], rule["fill_value"]
        self._spline: Any = None
        if kind not in _NEIGHBOURS:
            self._spline = spline_through(x, y, _ORDERS[kind], 0)

    def __call__(self, x: Any) -> Tensor:
        """Evaluate."""
        at, shape, narrow = self._places(x)
        found = self._found(at)
        if self._rule["ends"] is not None:
            below, above = at < self.x[0], at > self.x[-1]
            if self.bounds_error:
                checks.holds(~(below | above).any(), "A value in x_new is outside the range.")
            wide = (-1,) + (1,) * (found.ndim - 1)
            low, high = self._rule["ends"]
            found = torch.where(below.reshape(wide), low, found)
            found = torch.where(above.reshape(wide), high, found)
        narrow = self._narrow if self._keeps_dtype else narrow
        return self._given(found, shape, self.axis if shape else 0, narrow)

    def _found(self, at: Tensor) -> Tensor:
        if self._spline is not None:
            t, c, k = self._spline.tck
            return bsplines.evaluated(t, c, k, at, True)
        last = self.x.shape[0] - 1
        if self._way == "linear":
            place = torch.clamp(torch.searchsorted(self.x, at), 1, last)
            return self._between(at, place)
        if self._way in ("previous", "next"):
            right = self._way == "previous"
            place = torch.searchsorted(self.x, at, right=right) - int(right)
        else:
            middle = self.x / 2
            middle = middle[1:] + middle[:-1]
            place = torch.searchsorted(middle, at, right=self._way == "nearest-up")
        found = self._values[torch.clamp(place, 0, last)]
        missing = torch.isnan(at).reshape((-1,) + (1,) * (found.ndim - 1))
        # SciPy sorts NaN after the last value.
        return found if self._way != "linear" else torch.where(missing, math.nan, found)

    def _between(self, at: Tensor, place: Tensor) -> Tensor:
        wide = (-1,) + (1,) * (self._values.ndim - 1)
        low, high = self._values[place - 1], self._values[place]
        start = self.x[place - 1]
        slope = (high - low) / (self.x[place] - start).reshape(wide)
        return slope * (at - start).reshape(wide) + low


def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: Any = None,
    fill_value: Any = math.nan,
    assume_sorted: bool = False,
) -> Line:
    """Counterpart of `scipy.interpolate.interp1d`."""
    names = {order: name for name, order in _ORDERS.items()}
    kind = names[kind] if isinstance(kind, int) else kind
    if kind not in (*_NEIGHBOURS, *_ORDERS):
        raise NotImplementedError(f"{kind} is unsupported")
    if kind in ("quadratic", "cubic") and x.shape[0] > LARGEST:
        raise NotImplementedError("SciPy solves large banded equations")
    if x.ndim != 1 or not y.ndim or x.shape[0] != y.shape[axis] or x.is_complex():
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    x = x.to(torch.float64)
    y = y if y.is_complex() else y.to(torch.float64)
    checks.left_to_scipy(torch.isnan(x).any(), "a point is at NaN")
    if not assume_sorted:
        x, order = torch.sort(x, stable=True)
        y = y.index_select(axis, order)
    axis = range(y.ndim)[axis]
    y = y.movedim(axis, 0)
    if x.shape[0] < {"linear": 1, **{n: k + 1 for n, k in _ORDERS.items()}}.get(kind, 1):
        raise ValueError("x and y arrays must have more entries")
    outside, ends = _fills(fill_value, bounds_error, kind, y)
    rule = {"bounds_error": outside, "fill_value": fill_value, "ends": ends}
    return Line(x.contiguous(), y, kind, axis, rule)


def _fills(fill_value: Any, bounds_error: Any, kind: str, y: Tensor) -> tuple[bool, Any]:
    """Whether values outside are an error, and what else stands for them; None: extrapolated."""
    if isinstance(fill_value, str):
        if fill_value != "extrapolate" or bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        nothing = torch.full_like(y[0], math.nan)
        return False, {"previous": (nothing, y[-1]), "next": (y[0], nothing)}.get(kind)
    pair = isinstance(fill_value, tuple) and len(fill_value) == 2
    ends = [as_float(v, y.dtype, y.device) for v in (fill_value if pair else (fill_value,) * 2)]
    ends = [end.expand(y.shape[1:]) if end.ndim <= y.ndim - 1 else end for end in ends]
    if any(end.shape != y.shape[1:] for end in ends):
        raise ValueError("fill_value has another shape")
    return True if bounds_error is None else bool(bounds_error), tuple(ends)


# -- Grids ------------------------------------------------------------------------------------


class Grid(Computed):
    """Counterpart of `scipy.interpolate.RegularGridInterpolator`, linear or nearest."""

    def __init__(
        self, grid: tuple[Tensor, ...], values: Tensor, method: str, rule: tuple[bool, Any]
    ) -> None:
        self.grid, self.values, self.method = grid, values, method
        self.bounds_error, self.fill_value = rule

    def __call__(self, xi: Any, method: Any = None, *, nu: Any = None) -> Tensor:
        """Evaluate at points, the coordinates of which are last."""
        method = self.method if method is None else method
        if method not in ("linear", "nearest") or nu is not None:
            return self._through_host("__call__", xi, method, nu=nu)
        points = _coordinates(conversion.mapped(xi, self._moved), len(self.grid), self._device)
        wide = conversion.Width(list(conversion.tensors(xi)) or [points], torch.float64)
        found = grid_values(
            self.grid, self.values, points, method, self.bounds_error, self.fill_value
        )
        log.note(self._name, "native")
        is_narrow = self._narrow and (self._keeps_dtype or wide.narrow)
        return narrowed(found) if is_narrow else found

    def _moved(self, part: Any) -> Any:
        return conversion.to_device(part, self._device)

    def on_host(self) -> Any:
        """SciPy's object of arrays."""
        grid = tuple(conversion.to_host(g) for g in self.grid)
        return scipys("RegularGridInterpolator")(
            grid, conversion.to_host(self.values), self.method, self.bounds_error, self.fill_value
        )


def _coordinates(xi: Any, ndim: int, device: torch.device) -> Tensor:
    """Points with their coordinates last, from an array or a tuple of arrays of each."""
    if isinstance(xi, tuple) and len(xi) == 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        parts: Any = [as_float(v, torch.float64, device) for v in xi]
        xi = torch.stack(torch.broadcast_tensors(*parts), dim=-1)
    else:
        if isinstance(xi, list) and conversion.tensors(xi):
            xi = torch.stack([as_float(v, torch.float64, device) for v in xi])
        xi = as_float(xi, torch.float64, device)
        if xi.ndim == 1:
            xi = xi.reshape(-1, ndim) if ndim != 1 else xi.reshape(-1, 1)
    if xi.shape[-1] != ndim:
        raise ValueError("The requested sample points xi have another dimension")
    return xi


def grid_of(points: Any, values: Any) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return the lines of a grid, ascending, and values to them.

    Raises
    ------
    ValueError
        If they aren't as many, or not sorted.
    """
    values = values if values.is_complex() else values.to(torch.float64)
    if len(points) > values.ndim:
        raise ValueError("There are too many point arrays")
    lines = []
    for i, line in enumerate(points):
        line = as_float(line, torch.float64, values.device)
        if line.ndim != 1 or line.shape[0] != values.shape[i] or line.shape[0] < 2:
            raise ValueError(f"There are {len(line)} points in dimension {i}")
        steps = torch.diff(line)
        up, down = (steps > 0).all(), (steps < 0).all()
        checks.holds(up | down, "The points must be strictly ascending or descending")
        if not readable(up):
            line, values = (torch.where(up, v, v.flip(d)) for v, d in ((line, 0), (values, i)))
        elif not bool(up):
            line, values = line.flip(0), values.flip(i)
        lines.append(line.contiguous())
    return tuple(lines), values


def grid_values(
    grid: tuple[Tensor, ...],
    values: Tensor,
    points: Tensor,
    method: str,
    bounds_error: bool,
    fill_value: Any,
) -> Tensor:
    """Values between those of a grid.

    Parameters
    ----------
    grid, values
        From `grid_of`.
    points : Tensor, shape (..., ndim)
    method : {"linear", "nearest"}
    bounds_error, fill_value
        As in `scipy.interpolate.interpn`.
    """
    flat = points.reshape(-1, points.shape[-1])
    places, shares = [], []
    outside = torch.zeros_like(flat[:, 0], dtype=torch.bool)
    for line, at in zip(grid, flat.unbind(1), strict=True):
        at = at.contiguous()
        place = torch.clamp(torch.searchsorted(line, at, right=True) - 1, 0, line.shape[0] - 2)
        outside = outside | (at < line[0]) | (at > line[-1])
        places.append(place)
        shares.append((at - line[place]) / (line[place + 1] - line[place]))
    if bounds_error:
        missing = torch.isnan(flat).any()
        checks.holds(~(outside.any() | missing), "One of the requested xi is out of bounds")
    wide = (-1,) + (1,) * (values.ndim - len(grid))
    if method == "nearest":
        nearest = [torch.where(s <= 0.5, p, p + 1) for p, s in zip(places, shares, strict=True)]
        found = values[tuple(nearest)]
    else:
        found = _corners(values, places, shares, wide)
    if not bounds_error and fill_value is not None:
        fill = as_float(fill_value, found.dtype, found.device)
        found = torch.where(outside.reshape(wide), fill, found)
    unknown = torch.isnan(flat).any(-1)
    found = torch.where(unknown.reshape(wide), math.nan, found)
    return found.reshape(tuple(points.shape[:-1]) + tuple(values.shape[len(grid) :]))


def _corners(values: Tensor, places: list[Tensor], shares: list[Tensor], wide: Any) -> Tensor:
    """The weighted sum of the corners of the cells."""
    found: Any = 0
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight: Any = 1
        for up, share in zip(corner, shares, strict=True):
            weight = weight * (share if up else 1 - share)
        place = tuple(p + up for p, up in zip(places, corner, strict=True))
        found = found + values[place] * weight.reshape(wide)
    return found


def regular_grid(
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
    *,
    solver: Any = None,
    solver_args: Any = None,
) -> Grid:
    """Counterpart of `scipy.interpolate.RegularGridInterpolator`."""
    if method not in ("linear", "nearest") or solver is not None or solver_args:
        raise NotImplementedError(f"SciPy has the method {method}")
    if isinstance(fill_value, complex) and not values.is_complex():
        raise ValueError("fill_value must be of a type compatible with values")
    grid, values = grid_of(points, values)
    return Grid(grid, values, method, (bool(bounds_error), fill_value))


#: Makers of objects, by SciPy's name of the class.
BUILT = {
    "PPoly": ppoly,
    "CubicHermiteSpline": cubic_hermite,
    "CubicSpline": cubic_spline,
    "PchipInterpolator": pchip,
    "pchip": pchip,
    "Akima1DInterpolator": akima,
    "BSpline": bspline,
    "interp1d": interp1d,
    "RegularGridInterpolator": regular_grid,
}
