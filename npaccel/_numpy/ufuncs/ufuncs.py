"""Every ufunc of `numpy`: one list, a row per ufunc."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.known_differences import UNCHECKED
from npaccel._numpy.core.table import implements
from npaccel._numpy.ufuncs import comparisons as ordering
from npaccel._numpy.ufuncs import float_parts, integers, kernels
from npaccel._numpy.ufuncs.dispatch import Kernel, elementwise
from npaccel._numpy.ufuncs.gufuncs import gufunc, matmul, matvec, vecdot, vecmat
from npaccel._numpy.ufuncs.integers import Compute
from npaccel._numpy.ufuncs.kernel_selection import complex_or, in_float32, integers_or

_COMPLEX_NOTE = "complex results may differ in the last bits, and near infinities"

KERNELS: tuple[Kernel, ...] = (
    # arithmetic
    Kernel(np.add, kernels.add, "both"),
    Kernel(np.subtract, kernels.subtract, "both"),
    Kernel(np.multiply, integers.by_bits(operator.mul), "both", 4, _COMPLEX_NOTE),
    Kernel(np.divide, kernels.divide, "right", 4, _COMPLEX_NOTE),
    Kernel(np.floor_divide, kernels.floor_divide, "right"),
    Kernel(np.remainder, kernels.remainder, "right"),
    Kernel(np.fmod, kernels.fmod, "right"),
    Kernel(np.divmod, kernels.divmod_, "right"),
    Kernel(
        np.power,
        kernels.power,
        "right",
        16,
        UNCHECKED,
        kernels.masked_power,
    ),
    Kernel(np.float_power, kernels.power, "right", 16),
    Kernel(np.negative, kernels.negative),
    Kernel(np.positive, kernels.copy),
    Kernel(np.absolute, kernels.absolute, tolerance=4),
    Kernel(np.fabs, torch.abs),
    Kernel(np.square, kernels.square, tolerance=4),
    Kernel(
        np.reciprocal,
        integers_or(integers.reciprocal, complex_or(kernels.complex_reciprocal, torch.reciprocal)),
        tolerance=4,
    ),
    Kernel(np.sign, kernels.sign, tolerance=4),
    Kernel(np.conjugate, kernels.conjugate),
    Kernel(np.heaviside, kernels.heaviside),
    Kernel(np.hypot, in_float32(kernels.hypot), tolerance=4),
    Kernel(np.gcd, integers.gcd),
    Kernel(np.lcm, integers.lcm),
    # exponents, logarithms, roots
    Kernel(np.exp, torch.exp, tolerance=16),
    Kernel(np.exp2, torch.exp2, tolerance=16),
    Kernel(np.expm1, kernels.expm1, tolerance=16),
    Kernel(np.log, torch.log, tolerance=16),
    Kernel(np.log2, torch.log2, tolerance=16),
    Kernel(np.log10, torch.log10, tolerance=16),
    Kernel(np.log1p, kernels.log1p, tolerance=16),
    Kernel(np.logaddexp, kernels.logaddexp, tolerance=16),
    Kernel(np.logaddexp2, kernels.logaddexp2, tolerance=16),
    Kernel(np.sqrt, torch.sqrt, tolerance=4),
    Kernel(np.cbrt, kernels.cbrt, tolerance=16),
    # trigonometry
    Kernel(np.sin, torch.sin, tolerance=16),
    Kernel(np.cos, torch.cos, tolerance=16),
    Kernel(np.tan, torch.tan, tolerance=16),
    Kernel(np.arcsin, torch.asin, tolerance=16),
    Kernel(np.arccos, torch.acos, tolerance=16),
    Kernel(np.arctan, kernels.arctan, tolerance=16),
    Kernel(np.arctan2, in_float32(torch.atan2), tolerance=16),
    Kernel(np.sinh, kernels.sinh, tolerance=16),
    Kernel(np.cosh, kernels.cosh, tolerance=16),
    Kernel(np.tanh, kernels.tanh, tolerance=16),
    Kernel(np.arcsinh, kernels.arcsinh, tolerance=16),
    Kernel(np.arccosh, kernels.arccosh, tolerance=16),
    Kernel(np.arctanh, kernels.arctanh, tolerance=16),
    Kernel(np.degrees, torch.rad2deg, tolerance=4),
    Kernel(np.rad2deg, torch.rad2deg, tolerance=4),
    Kernel(np.radians, torch.deg2rad, tolerance=4),
    Kernel(np.deg2rad, torch.deg2rad, tolerance=4),
    # bits
    Kernel(np.bitwise_and, integers.by_bits(operator.and_), "both"),
    Kernel(np.bitwise_or, integers.by_bits(operator.or_), "both"),
    Kernel(np.bitwise_xor, integers.by_bits(operator.xor), "both"),
    Kernel(np.invert, integers.by_bits(torch.bitwise_not)),
    Kernel(np.left_shift, integers.left_shift, "right"),
    Kernel(np.right_shift, integers.right_shift, "right"),
    Kernel(np.bitwise_count, integers.bitwise_count),
    # comparison and logic
    Kernel(np.equal, ordering.comparison(operator.eq), "both"),
    Kernel(np.not_equal, ordering.comparison(operator.ne), "both"),
    Kernel(np.less, ordering.comparison(operator.lt), "both"),
    Kernel(np.less_equal, ordering.comparison(operator.le), "both"),
    Kernel(np.greater, ordering.comparison(operator.gt), "both"),
    Kernel(np.greater_equal, ordering.comparison(operator.ge), "both"),
    Kernel(np.logical_and, ordering.logical(torch.logical_and)),
    Kernel(np.logical_or, ordering.logical(torch.logical_or)),
    Kernel(np.logical_xor, ordering.logical(torch.logical_xor)),
    Kernel(np.logical_not, ordering.logical(torch.logical_not)),
    Kernel(np.maximum, ordering.maximum),
    Kernel(np.minimum, ordering.minimum),
    Kernel(np.fmax, ordering.fmax),
    Kernel(np.fmin, ordering.fmin),
    Kernel(np.isfinite, ordering.isfinite),
    Kernel(np.isinf, torch.isinf),
    Kernel(np.isnan, torch.isnan),
    # NumPy has loops for dates only, which are refused before a kernel runs
    Kernel(np.isnat, torch.isnan, note="refused: torch has no dates"),
    # parts of floats
    Kernel(np.signbit, torch.signbit),
    Kernel(np.copysign, torch.copysign),
    Kernel(np.nextafter, float_parts.nextafter),
    Kernel(np.spacing, float_parts.spacing),
    Kernel(np.modf, float_parts.modf),
    Kernel(np.ldexp, float_parts.ldexp),
    Kernel(np.frexp, float_parts.frexp),
    Kernel(np.floor, integers_or(kernels.copy, torch.floor)),
    Kernel(np.ceil, integers_or(kernels.copy, torch.ceil)),
    Kernel(np.trunc, integers_or(kernels.copy, torch.trunc)),
    Kernel(np.rint, kernels.rint),
)

#: Generalised ufuncs by name: NumPy 2.0 and 2.1 lack the last two.
_PRODUCTS: dict[str, Compute] = {
    "matmul": matmul,
    "vecdot": vecdot,
    "matvec": matvec,
    "vecmat": vecmat,
}

PRODUCT_KERNELS: tuple[Kernel, ...] = tuple(
    Kernel(getattr(np, name), compute, tolerance=64)
    for name, compute in _PRODUCTS.items()
    if hasattr(np, name)
)

BY_UFUNC: dict[np.ufunc, Kernel] = {kernel.ufunc: kernel for kernel in (*KERNELS, *PRODUCT_KERNELS)}
IMPLEMENTATIONS: dict[np.ufunc, Compute] = {}


def _declare(kernel: Kernel, implementation: Compute, unsupported: tuple[str, ...] = ()) -> None:
    ufunc = kernel.ufunc
    implements(
        ufunc,
        name=f"numpy.{ufunc.__name__}",
        zero_d="scalar",
        unsupported=unsupported,
        mutates=tuple(range(ufunc.nin, ufunc.nin + ufunc.nout)),
        tolerance=kernel.tolerance,
        note=kernel.note,
        elementwise=ufunc.signature is None and ufunc.nout == 1,
    )(implementation)
    IMPLEMENTATIONS[ufunc] = implementation
    globals()[ufunc.__name__] = implementation  # so that a printed graph can be imported


for _kernel in KERNELS:
    _declare(_kernel, elementwise(_kernel))
for _kernel in PRODUCT_KERNELS:
    _declare(_kernel, gufunc(_kernel), ("axes",))


@implements(np.fix, zero_d="scalar", mutates=(1,), elementwise=True)
def fix(x: Any, out: Any = None) -> Any:
    """Round to whole numbers towards zero; bools and integers stay as they are."""
    return IMPLEMENTATIONS[np.trunc](x, out=out)
