"""Differences from NumPy: the reasons, and the rows of the table that they hold for.

The tests excuse a call that differs only if a reason stands here for its row,
and the support page tells the reason.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools

#: Note of the rows that look at values.
UNCHECKED = (
    "on a GPU what depends on values isn't checked: it gives NaN or some number, not an error"
)


@dataclasses.dataclass(frozen=True)
class Difference:
    """One way in which results differ.

    Parameters
    ----------
    kind : str
        What the tests know it by.
    reason : str
        What differs and why, without a full stop.
    rows : str
        Names of rows without ``numpy.``, separated by blanks; ``*`` stands for anything.
    """

    kind: str
    reason: str
    rows: str

    def holds(self, name: str) -> bool:
        """Whether it is a difference of the row with this name."""
        short = name.removeprefix("numpy.")
        return any(fnmatch.fnmatchcase(short, pattern) for pattern in self.rows.split())


_MEANS = "mean var std nanmean nanvar nanstd ndarray.mean ndarray.var ndarray.std"
_SUMS = "cumsum cumprod cumulative_sum cumulative_prod nancumsum nancumprod"

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "complex-infinity",
        "which part of a complex result that isn't finite is infinite and which is NaN is left "
        "open by C, and so is whether a power of it is finite",
        "*",
    ),
    Difference(
        "complex-power",
        "powers of complex numbers lose digits with the size of their logarithm, and are 0, "
        "infinite or NaN beyond the dtype's range",
        "power power.outer float_power float_power.outer ndarray.__*pow__",
    ),
    Difference(
        "large-logarithm",
        "the logarithm of a complex number whose size is beyond the dtype's range is finite, not "
        "infinite",
        "log1p",
    ),
    Difference(
        "cancellation",
        "near zero the last digits that are lost to cancellation are others",
        "log1p logaddexp logaddexp2 logaddexp.* logaddexp2.*",
    ),
    Difference(
        "half",
        "float16 is scaled in float32, where NumPy rounds the scale to float16",
        "fft.*",
    ),
    Difference(
        "own-precision",
        "with a wider `dtype`, squares are rounded to the data's dtype first, whose last digit "
        "may differ",
        "nanvar nanstd",
    ),
    Difference(
        "no-data",
        "transforms and bits of arrays without elements to some length are zeros, where NumPy "
        "returns what was in memory",
        "fft.* unpackbits",
    ),
    Difference(
        "spread",
        "how far numbers that aren't finite spread in a transform or a fit depends on the order of "
        "its sums",
        "fft.*fft fft.*fft2 fft.*fftn polyfit",
    ),
    Difference(
        "empty-border",
        'with mode="empty" the border is zeros, where NumPy returns what was in memory',
        "pad",
    ),
    Difference(
        "used-out",
        "`out` takes the result alone, where NumPy uses it on the way and may get another result",
        "fft.*n fft.*2",
    ),
    Difference(
        "condition",
        "an ill-conditioned matrix loses as many digits as in NumPy, but others; for one without "
        "full rank NumPy's cutoff of 1e-15 lets rounding decide in float32",
        "linalg.pinv linalg.tensorsolve linalg.lstsq",
    ),
    Difference(
        "masked-scalar",
        "a NumPy scalar that `where` leaves out gives `initial`, as an array does, not NaN",
        "nanmax nanmin",
    ),
    Difference(
        "phase",
        "vectors may differ from NumPy's by a sign (complex: by a phase), as between BLAS builds",
        "linalg.eig linalg.eigh linalg.svd linalg.qr",
    ),
    Difference(
        "refused",
        "an integer dtype, which NumPy rounds to in between, runs in NumPy, with a warning",
        _MEANS,
    ),
    Difference(
        "refused",
        "real matrices are refused: NumPy's dtype depends on the values",
        "linalg.eig linalg.eigvals poly",
    ),
    Difference(
        "refused",
        "of a list NumPy returns a part of it: it runs in NumPy, with a warning",
        "trim_zeros",
    ),
    Difference(
        "refused", "a complex position without dimensions runs in NumPy, with a warning", "interp"
    ),
    Difference(
        "refused",
        "positions in an array run in NumPy, with a warning: the result's shape depends on them",
        "delete insert",
    ),
    Difference(
        "refused",
        "complex data and bins that are chosen by a rule run in NumPy, with a warning",
        "histogram histogram_bin_edges histogramdd histogram2d",
    ),
    Difference(
        "refused",
        "what NumPy cuts at every step to the array's dtype (floats into an array of integers), "
        "and complex extrema, run in NumPy, with a warning",
        "*.at",
    ),
    Difference(
        "refused",
        "an integral of a single coefficient runs in NumPy, with a warning: its length depends on "
        "the value",
        "polynomial.*int",
    ),
    Difference(
        "refused",
        "bools, complex numbers and uint64 are read in NumPy, with a warning",
        "ndarray.item",
    ),
    Difference(
        "refused",
        "with `include_initial` an `out` of another shape runs in NumPy, with a warning",
        "cumulative_sum cumulative_prod",
    ),
    Difference(
        "scalar-copy", "with `copy=False` a NumPy scalar isn't refused, nor changed", "nan_to_num"
    ),
    Difference(
        "equal-elements",
        "equal elements, and those between the places that a partition sets right, may come in "
        "another order, as no stable one was asked for",
        "argsort ndarray.argsort argpartition ndarray.argpartition",
    ),
    Difference("refused", "complex rows (`axis=`) run in NumPy, with a warning", "unique"),
    Difference(
        "rounded-out",
        "an `out` whose dtype the result can't be cast to by the rule same_kind runs in NumPy, "
        "with a warning",
        f"{_MEANS} {_SUMS} ndarray.cumsum ndarray.cumprod *.reduce *.accumulate *.reduceat "
        "nansum nanprod trace ndarray.trace linalg.trace median nanmedian quantile percentile "
        "nanquantile nanpercentile nanmax nanmin sum prod max min amax amin ndarray.sum "
        "ndarray.prod "
        "ndarray.max ndarray.min any all ndarray.any ndarray.all einsum fft.* concatenate stack "
        "ptp",
    ),
    Difference(
        "spoilt-input",
        "`overwrite_input=True` leaves the input as it was",
        "median nanmedian quantile percentile nanquantile nanpercentile",
    ),
    Difference(
        "order-of-unique",
        "sorted, where NumPy since 2.3 leaves the order open",
        "unique unique_values",
    ),
    Difference(
        "strong-item",
        "a NumPy scalar of the array's dtype, not a Python number, and so not weak",
        "ndarray.item",
    ),
    Difference(
        "reversed",
        "a reversed or stretched array is copied first, so that its bytes can be read as another "
        "dtype",
        "ndarray.view",
    ),
    Difference(
        "overflow",
        "integers that overflow on the way may wrap to others, as the order isn't NumPy's",
        "lcm.* gcd.*",
    ),
    Difference(
        "whole-digits",
        "whole numbers made of rounded floats may differ by the last digit",
        "logspace geomspace linspace",
    ),
    Difference(
        "undefined-cast",
        "what NaN and numbers out of range become as integers is left open by C",
        "put ndarray.put putmask place copyto ndarray.fill ndarray.__setitem__ "
        "ndarray.flat.__set__ put_along_axis uint32",
    ),
    Difference(
        "leading-zeros",
        "zeros in front of the coefficients times infinity give NaN, as they are left out last",
        "polymul",
    ),
)


@functools.cache
def differences_of(name: str) -> tuple[Difference, ...]:
    """Return what differs for the row with this name."""
    return tuple(d for d in DIFFERENCES if d.holds(name))


def named_differences(name: str) -> tuple[Difference, ...]:
    """Return what differs for the row with this name, but for what holds everywhere."""
    return tuple(d for d in differences_of(name) if d.rows != "*")
