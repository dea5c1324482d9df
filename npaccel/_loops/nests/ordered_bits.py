"""Floats as integers of the same order, of which compilers take the greatest by vectors.

Comparisons of floats aren't vectorized where something may be no number: compilers keep their
order. The bits of floats, as integers, are ordered as the numbers are, once those of negative ones
are turned round; -0.0 comes before 0.0. Numba compiles both functions as they stand.
"""

from __future__ import annotations

import numpy as np

#: All bits but the sign.
_MOST = np.int64(2**63 - 1)
#: Bits of an infinity. NaN has greater bits, or least ones where its sign is set.
INFINITE = 0x7FF0000000000000


def ordered_bits(x: np.float64) -> np.int64:
    """Return an integer for a float64."""
    bits = np.float64(x).view(np.int64)
    return np.int64(bits ^ ((bits >> 63) & _MOST))


def of_ordered_bits(bits: np.int64) -> np.float64:
    """Return the float64 that an integer was made for."""
    return np.int64(bits ^ ((bits >> 63) & _MOST)).view(np.float64)


__all__ = ["INFINITE", "of_ordered_bits", "ordered_bits"]
