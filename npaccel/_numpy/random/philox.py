"""Philox 4x32-10: random bits from a counter, in integer operations of torch.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3"
(2011). Every element of a draw has a counter of its own, so that the numbers
don't depend on how the work is split, nor on the device. 32-bit words are held
in int64; no product or sum leaves its range.
"""

from __future__ import annotations

from typing import Any

import torch

from npaccel._numpy.host.elementwise import element_function

_MASK = 0xFFFFFFFF
#: The multipliers, less 2**32, so that a product with a word fits into int64.
_M0, _M1 = 0xD2511F53 - (1 << 32), 0xCD9E8D57 - (1 << 32)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85

#: Four words of 32 bits each.
Words = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


@element_function(torch.int64, torch.int64, torch.int64, torch.int64)
def philox(
    c0: torch.Tensor,
    c1: torch.Tensor,
    c2: torch.Tensor,
    c3: torch.Tensor,
    k0: torch.Tensor,
    k1: torch.Tensor,
) -> Words:
    """Return four random words for every counter.

    Parameters
    ----------
    c0, c1, c2, c3 : torch.Tensor
        The counters' words, int64.
    k0, k1 : torch.Tensor
        The key's words, of shapes that broadcast.
    """
    for _ in range(10):
        high0, low0 = _product(_M0, c0)
        high1, low1 = _product(_M1, c2)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _W0) & _MASK, (k1 + _W1) & _MASK
    return c0, c1, c2, c3


def _product(multiplier: int, word: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The upper and lower word of ``(multiplier + 2**32) * word``."""
    product = word * multiplier
    return word + (product >> 32), product & _MASK


# -- functions of IEEE operations only, the same on every device ------------------


def _rounded(x: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Return float64 products as they are, for a sum that isn't fused with them.

    Compilers for GPUs make one operation of a product and a sum, which rounds once instead of
    twice. Adding a zero that they don't know to the bits keeps them from it.
    """
    return (x.view(torch.int64) + zero).view(torch.float64)


@element_function(torch.float64)
def log_of_positive(x: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of positive normal float64, within two units of the last place."""
    bits = x.view(torch.int64)
    exponent = (bits >> 52) - 1023
    f = ((bits & ((1 << 52) - 1)) | (1023 << 52)).view(torch.float64)
    is_large = f > 1.4142135623730951
    f = torch.where(is_large, f * 0.5, f)
    e = torch.where(is_large, exponent + 1, exponent).to(torch.float64)
    s = (f - 1.0) / (f + 1.0)
    square = _rounded(s * s, zero)
    series = _polynomial(square, [1.0 / n for n in range(3, 23, 2)], zero)
    # ln 2 in two parts: the product with the first is exact.
    both = _rounded(_rounded(square * series, zero) * s, zero)
    tail = _rounded(e * _LN2_LOW, zero) + both * 2.0
    return _rounded(e * _LN2_HIGH, zero) + (2.0 * s + tail)


@element_function(torch.float64)
def root(x: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """Return the square root of float64, rounded to the nearest: torch's kernels needn't.

    What the root's square lacks is exact by Dekker's product.
    """
    found = torch.sqrt(x)
    scaled = _rounded(found * 134217729.0, zero)
    high = scaled - (scaled - found)
    low = found - high
    product = _rounded(found * found, zero)
    cross = _rounded(high * low, zero) * 2.0
    error = ((_rounded(high * high, zero) - product) + cross) + _rounded(low * low, zero)
    better = found + ((x - product) - error) / (2.0 * found)
    return torch.where(x > 0, better, found)


@element_function(torch.float64, torch.float64)
def circle(k: torch.Tensor, zero: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cosine and sine of the angle of k 2**-53 turns."""
    quarter = (k + (1 << 50)) >> 51
    t = (k - (quarter << 51)).to(torch.float64) * 2.0**-51
    a = _rounded(t * 1.5707963267948966, zero)
    square = _rounded(a * a, zero)
    cosine = 1.0 + _rounded(square * _polynomial(square, _COSINE, zero), zero)
    sine = a + _rounded(_rounded(a * square, zero) * _polynomial(square, _SINE, zero), zero)
    is_odd = (quarter & 1) == 1
    x, y = torch.where(is_odd, sine, cosine), torch.where(is_odd, cosine, sine)
    return (
        torch.where(((quarter + 1) & 2) == 2, -x, x),
        torch.where((quarter & 2) == 2, -y, y),
    )


def _polynomial(x: torch.Tensor, coefficients: list[float], zero: torch.Tensor) -> torch.Tensor:
    found = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        found = _rounded(found * x, zero) + coefficient
    return found


class Stream:
    """The random bits of one draw.

    Parameters
    ----------
    words : torch.Tensor
        Five int64: the key, the upper half of the counter, and 0.
    shape : tuple of int or torch.SymInt
        Of the draw. Element i in C order has the counter i.
    """

    def __init__(self, words: torch.Tensor, shape: tuple[Any, ...]) -> None:
        count: Any = 1
        for n in shape:
            count = count * n
        i = torch.arange(count, device=words.device).reshape(shape)
        key = (words[0], words[1])
        self._zero = words[4]
        self.words: Words = philox(i & _MASK, i >> 32, words[2], words[3], *key)

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        """Return float64 products as they are, for a sum that isn't fused with them."""
        return _rounded(x, self._zero)

    def bits53(self, which: int = 0) -> torch.Tensor:
        """Return integers below 2**53, of the words' first or second half."""
        a, b = self.words[2 * which], self.words[2 * which + 1]
        return (a >> 5) * (1 << 26) + (b >> 6)

    def bits63(self) -> torch.Tensor:
        """Return integers below 2**63."""
        return ((self.words[1] & 0x7FFFFFFF) << 32) | self.words[0]

    def signed(self) -> torch.Tensor:
        """Return integers of 64 random bits."""
        high = (self.words[1] ^ 0x80000000) - 0x80000000
        return high * (1 << 32) + self.words[0]

    def below(self, bound: Any) -> torch.Tensor:
        """Return integers below a bound of at most 2**31.

        Parameters
        ----------
        bound : int or torch.SymInt
        """
        low, high = self.words[:2]
        found: torch.Tensor = (high * bound + ((low * bound) >> 32)) >> 32
        return found

    def float32(self) -> torch.Tensor:
        """Return float32 in [0, 1), multiples of 2**-24."""
        return (self.words[0] >> 8).to(torch.float32) * 2.0**-24

    def float64(self, which: int = 0) -> torch.Tensor:
        """Return float64 in [0, 1), multiples of 2**-53."""
        return self.bits53(which).to(torch.float64) * 2.0**-53

    def positive(self, which: int = 0) -> torch.Tensor:
        """Return float64 in (0, 1], multiples of 2**-53."""
        return (self.bits53(which) + 1).to(torch.float64) * 2.0**-53

    def between(self) -> torch.Tensor:
        """Return float64 in (0, 1), odd multiples of 2**-53, of which 1 less is exact too."""
        return ((self.bits53() >> 1) * 2 + 1).to(torch.float64) * 2.0**-53

    def log(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of positive normal float64."""
        found: torch.Tensor = log_of_positive(x, self._zero)
        return found

    def sqrt(self, x: torch.Tensor) -> torch.Tensor:
        """Return the square root of float64."""
        found: torch.Tensor = root(x, self._zero)
        return found

    def circle(self, which: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cosine and sine of a random angle."""
        found: tuple[torch.Tensor, torch.Tensor] = circle(self.bits53(which), self._zero)
        return found


_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


def _inverse_factorials(first: int) -> list[float]:
    found, factorial, sign = [], 1, -1.0
    for n in range(2, 20):
        factorial *= n
        if n >= first and (n - first) % 2 == 0:
            found.append(sign / factorial)
            sign = -sign
    return found


_COSINE, _SINE = _inverse_factorials(2), _inverse_factorials(3)
