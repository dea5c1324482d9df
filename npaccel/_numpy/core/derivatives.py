"""Rows of the table that have no derivative, and why: `npaccel.grad` of the others is right.

A row without an entry here is differentiable wherever NumPy's function is. The tests compare its
derivative with differences; of a row with an entry they ask that the derivative is zero as it
should be, or refused. Order of the derivatives: any, as torch's formulas have derivatives again.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
from typing import Literal


@dataclasses.dataclass(frozen=True)
class NoDerivative:
    """Reason why some rows have no derivative.

    Parameters
    ----------
    kind : {"none", "refused"}
        "none": no floats go from the arguments into the results, so that the derivative is zero.
        "refused": a transform raises `npaccel.NotCompiledError`, with the line.
    reason : str
        Without a full stop.
    rows : str
        Names of rows without ``numpy.``, separated by blanks; ``*`` stands for anything.
    """

    kind: Literal["none", "refused"]
    reason: str
    rows: str

    def holds(self, name: str) -> bool:
        """Whether the row with this name has no derivative."""
        short = name.removeprefix("numpy.")
        return any(fnmatch.fnmatchcase(short, pattern) for pattern in self.rows.split())


NO_DERIVATIVES: tuple[NoDerivative, ...] = (
    NoDerivative(
        "none",
        "it computes with integers or truth values alone",
        "bitwise_* invert* left_shift* right_shift* gcd* lcm* packbits unpackbits isnat "
        "ndarray.__*lshift__ ndarray.__*rshift__ ndarray.__*and__ ndarray.__*or__ ndarray.__*xor__ "
        "ndarray.__invert__ logical_xor.at unravel_index ravel_multi_index mask_indices",
    ),
    NoDerivative(
        "none",
        "it takes shapes, dtypes or constants, and no floats",
        "zeros ones empty empty_like full eye identity tri indices ix_ tril_indices triu_indices "
        "diag_indices arange geomspace broadcast_shapes can_cast promote_types issubdtype isdtype "
        "min_scalar_type dtype finfo iinfo ScalarType typecodes sctypeDict inf nan random.* "
        "blackman hamming hanning bartlett ogrid mgrid polynomial.*gauss "
        "polynomial.chebyshev.chebpts1 polynomial.chebyshev.chebpts2",
    ),
    NoDerivative(
        "refused",
        "the result's dtype depends on the values",
        "linalg.eig linalg.eigvals",
    ),
    NoDerivative(
        "refused",
        "repeated indices would need a loop over the elements; write a[i] = f(a[i])",
        "*.at",
    ),
    NoDerivative(
        "refused",
        "the bits of floats are read as other numbers",
        "ndarray.byteswap",
    ),
    NoDerivative(
        "refused",
        "compiled code may have the array with other strides",
        "ndarray.strides",
    ),
)


@functools.cache
def without_derivative(name: str) -> NoDerivative | None:
    """Return why the row with this name has no derivative; None if it has one."""
    return next((one for one in NO_DERIVATIVES if one.holds(name)), None)
