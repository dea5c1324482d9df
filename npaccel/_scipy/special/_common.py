"""Helpers of the modules of `scipy.special`: how its ufuncs are declared, and small numerics."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.dtypes import as_tensor, cast, dtype_of, narrow
from npaccel._numpy.ufuncs import dispatch
from npaccel._numpy.ufuncs.dispatch import Request
from npaccel._scipy.dispatch import listing
from npaccel._scipy.dispatch.arguments import on_a_cpu
from npaccel._scipy.dispatch.table import on_tensors

Kernel = Callable[..., Any]
Tensor = torch.Tensor

#: ln(2 pi) / 2.
HALF_LOG_2PI = 0.9189385332046727
#: Bernoulli's B_2k / (2k (2k - 1)): Stirling's series (Abramowitz and Stegun 6.1.42).
_STIRLING = (
    *(1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156),
    *(-3617 / 122400, 43867 / 244188),
)


# -- Declaring ------------------------------------------------------------------------------


def elementwise(
    name: str,
    *,
    tolerance: float | None = None,
    note: str = "",
    wide: bool = True,
    host_reason: Callable[[dict[str, Any]], str] | None = None,
    complex_too: bool = False,
) -> Callable[[Kernel], Kernel]:
    """Declare a function on real tensors as npaccel's form of a ufunc of `scipy.special`.

    It's called with tensors that broadcast, in the dtypes of the loop that the ufunc itself would
    choose, and what it returns is given that loop's dtypes.

    Parameters
    ----------
    name : str
        The ufunc's name in `scipy.special`.
    tolerance, note, host_reason
        As in the table.
    wide : bool
        Whether it's called with float64, whatever the loop is.
    complex_too : bool
        Whether the kernel takes complex numbers.
    """

    def declare(kernel: Kernel) -> Kernel:
        ufunc = listing.find(f"special.{name}")
        if not isinstance(ufunc, np.ufunc):
            return kernel
        parameters = inspect.signature(kernel).parameters
        on_tensors(
            f"special.{name}",
            arrays=parameters,
            tolerance=tolerance,
            note=note,
            host_reason=host_reason,
        )(_of_ufunc(ufunc, kernel, wide, complex_too))
        return kernel

    return declare


def _widened(x: Tensor) -> Tensor:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def _of_ufunc(ufunc: np.ufunc, kernel: Kernel, wide: bool, complex_too: bool) -> Kernel:
    """Return a function with the kernel's signature and the ufunc's promotion."""

    def compute(*tensors: Tensor) -> Any:
        if any(t.is_complex() for t in tensors) and not complex_too:
            raise NotImplementedError("npaccel has it for real numbers only")
        return kernel(*map(_widened, tensors) if wide else tensors)

    described = dispatch.Kernel(ufunc, compute)

    @functools.wraps(kernel)
    def call(*args: Any) -> Any:
        return dispatch.call(described, args, (None,) * ufunc.nout, True, Request())

    signature = inspect.signature(kernel)
    places = [p.replace(kind=p.POSITIONAL_ONLY) for p in signature.parameters.values()]
    call.__signature__ = signature.replace(parameters=places)  # type: ignore[attr-defined]
    return call


#: Host reason of functions of elements that take many steps for each of them.
on_cpu = on_a_cpu("SciPy's own loop is as fast, on every core")


def with_orders(
    name: str,
    orders: Iterable[str],
    *,
    tolerance: float | None = None,
    note: str = "",
    host_reason: Callable[[dict[str, Any]], str] | None = None,
) -> Callable[[Kernel], Kernel]:
    """Declare a function whose orders are Python numbers as npaccel's form of a ufunc.

    A call with an array of orders goes through the host: they say how long the recurrence is.

    Parameters
    ----------
    name, tolerance, note, host_reason
        As in `elementwise`.
    orders : iterable of str
        The parameters that the kernel gets as Python numbers; others as tensors of float64.
    """
    static = tuple(orders)

    def declare(kernel: Kernel) -> Kernel:
        ufunc = listing.find(f"special.{name}")
        if not isinstance(ufunc, np.ufunc):
            return kernel
        arrays = [p for p in inspect.signature(kernel).parameters if p not in static]
        on_tensors(
            f"special.{name}",
            arrays=arrays,
            tolerance=tolerance,
            note=note,
            host_reason=host_reason,
        )(_of_orders(ufunc, kernel, static))
        return kernel

    return declare


def _of_orders(ufunc: np.ufunc, kernel: Kernel, static: tuple[str, ...]) -> Kernel:
    """Return a function with the kernel's signature and the ufunc's promotion."""
    names = tuple(inspect.signature(kernel).parameters)

    @functools.wraps(kernel)
    def call(*args: Any) -> Any:
        known = dict(zip(names, args, strict=True))
        for name in static:
            number(known[name], name)
        dtypes = [dtype_of(a) for a in known.values()]
        loop = dispatch.loop_dtypes(ufunc, dtypes, (None,) * ufunc.nout, Request())
        if any(dtype.kind == "c" for dtype in loop[: ufunc.nin]):
            raise NotImplementedError("npaccel has it for real numbers only")
        operands = [a if n in static else as_tensor(a) for n, a in known.items()]
        found = kernel(*(a.to(torch.float64) if isinstance(a, Tensor) else a for a in operands))
        if ufunc.nout == 1:
            return cast(found, loop[-1])
        return tuple(cast(a, d) for a, d in zip(found, loop[ufunc.nin :], strict=True))

    return call


def number(value: Any, name: str) -> int | float:
    """Return a Python number.

    Raises
    ------
    NotImplementedError
        For anything else: a tensor's values aren't known when a function is compiled.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or type(value) not in (int, float):
        raise NotImplementedError(f"`{name}` is no Python number, and says how much to compute")
    return value


def integer(value: Any, name: str, largest: int = 100) -> int:
    """Return a Python integer, which may be a float that has no fraction.

    Raises
    ------
    NotImplementedError
        For anything else, and for what is larger.
    """
    found = number(value, name)
    if not math.isfinite(found) or int(found) != found:
        raise NotImplementedError(f"npaccel has it for whole `{name}` only")
    if abs(found) > largest:
        raise NotImplementedError(f"npaccel has it up to `{name}` = {largest}")
    return int(found)


def floats(*args: Any) -> list[Tensor]:
    """Return arguments as tensors of one float dtype, as NumPy would add them and 0.5.

    Raises
    ------
    NotImplementedError
        For complex numbers.
    """
    dtypes = [dtype_of(a) for a in args]
    weak = [{bool: False, int: 0, float: 0.0, complex: 0j}.get(d, d) for d in dtypes]  # type: ignore[arg-type]
    dtype = np.result_type(*weak)
    if dtype.kind == "c":
        raise NotImplementedError("npaccel has it for real numbers only")
    if dtype.kind in "biu":
        dtype = narrow(np.dtype(np.float64), dtypes)
    device = next((a.device for a in args if isinstance(a, Tensor)), None)
    return [as_tensor(a, dtype).to(device) for a in args]


# -- Numerics -------------------------------------------------------------------------------


def constants(values: Sequence[float], like: Tensor) -> Tensor:
    """Return a table as a tensor."""
    if like.is_meta:  # torch makes no fake tensor of a table there (2.13)
        return torch.tensor(values, dtype=like.dtype).to(like.device)
    return torch.tensor(values, dtype=like.dtype, device=like.device)


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Evaluate a polynomial, the constant first, by Horner's rule."""
    found = torch.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        found = found * x + c
    return found


def chebyshev(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Evaluate a sum of Chebyshev polynomials on [-1, 1] (Clenshaw 1955)."""
    after, found = torch.zeros_like(x), torch.full_like(x, coefficients[-1])
    for c in reversed(coefficients[1:-1]):
        after, found = found, 2 * x * found - after + c
    return x * found - after + coefficients[0]


def sin_pi(x: Tensor) -> Tensor:
    """sin(pi x), exactly 0 at integers."""
    nearest = torch.round(x)
    odd = nearest - 2 * torch.floor(nearest / 2)
    return torch.sin(math.pi * (x - nearest)) * (1 - 2 * odd)


def cos_pi(x: Tensor) -> Tensor:
    """cos(pi x), exactly 0 halfway between integers."""
    return sin_pi(0.5 - torch.abs(x - 2 * torch.round(x / 2)))


def stirling_error(x: Tensor) -> Tensor:
    """Return ln Gamma(x) less Stirling's (x - 1/2) ln x - x + ln(2 pi) / 2, for x >= 10."""
    return polynomial(1 / (x * x), _STIRLING) / x


def magnitude(x: Tensor) -> Tensor:
    """|x|, whose derivative at 0 is 1, not 0: of functions that are made odd by `signed`."""
    return torch.where(torch.signbit(x), -x, x)


def signed(size: Tensor, x: Tensor) -> Tensor:
    """Return a function of `magnitude(x)`, with the sign of x."""
    return torch.where(torch.signbit(x), -size, size)


def xlogy(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(y), 0 for x = 0, where y >= 0 or NaN; faster for one x than torch's."""
    return _times_log(x, torch.log(y)) if x.ndim == 0 else torch.special.xlogy(x, y)


def xlog1py(x: Tensor, y: Tensor) -> Tensor:
    """Return x log(1 + y), 0 for x = 0, where y >= -1 or NaN; faster for one x than torch's."""
    return _times_log(x, torch.log1p(y)) if x.ndim == 0 else torch.special.xlog1py(x, y)


def _times_log(x: Tensor, log: Tensor) -> Tensor:
    most = torch.where(x == 0, torch.full_like(x, torch.finfo(x.dtype).max), math.inf)
    return x * torch.clamp(log, -most, most)


def log1p_less(x: Tensor) -> Tensor:
    """log(1 + x) - x without cancellation; for x > -1.

    Near 0 by 2 atanh(s) - x with s = x / (2 + x).
    """
    s = x / (2 + x)
    square = s * s
    series = polynomial(square, [1 / (2 * k + 3) for k in range(16)])
    near = 2 * s * square * series - s * x
    return torch.where(torch.abs(x) < 0.4, near, torch.log1p(x) - x)


def expm1_less(x: Tensor) -> Tensor:
    """exp(x) - 1 - x without cancellation."""
    series = polynomial(x, [1 / math.factorial(k) for k in range(2, 18)])
    return torch.where(torch.abs(x) < 1, x * x * series, torch.expm1(x) - x)


@functools.cache
def gauss_legendre(count: int) -> tuple[list[float], list[float]]:
    """Return nodes in [0, 1] and weights: Newton's method, in more digits than floats have."""
    nodes, weights = [], []
    with localcontext() as context:
        context.prec = 32
        for i in range(count):
            x = Decimal(math.cos(math.pi * (i + 0.75) / (count + 0.5)))
            for _ in range(5):
                before, value = Decimal(1), x
                for k in range(2, count + 1):
                    before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
                slope = count * (before - x * value) / (1 - x * x)
                x -= value / slope
            nodes.append(float((1 - x) / 2))
            weights.append(float(1 / ((1 - x * x) * slope * slope)))
    return nodes, weights


def half_line(spacing: float, first: float, last: float) -> tuple[list[float], list[float]]:
    """Return nodes in (0, inf) and weights for integrands that fall like exp(-t).

    The double exponential rule with t = exp(s - exp(-s)), s from `first` to `last` (Takahasi and
    Mori 1974).
    """
    places = [spacing * k for k in range(math.floor(first / spacing), math.ceil(last / spacing))]
    nodes = [math.exp(s - math.exp(-s)) for s in places]
    return nodes, [spacing * t * (1 + math.exp(-s)) for s, t in zip(places, nodes, strict=True)]
