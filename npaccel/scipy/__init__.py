"""SciPy's functions on tensors, under SciPy's names.

``npaccel.scipy.ndimage.zoom`` is called as ``scipy.ndimage.zoom``. With NumPy's arrays it's the
same function; with tensors it gives tensors on their device. A function is *delegated* (SciPy
computes on the tensors itself), *native* (npaccel's own), *host* (the data goes through NumPy and
back, which is counted) or *refused* with a reason.
"""

from npaccel._scipy.dispatch.log import Calls, Report, clear_report, report

from npaccel.scipy import (  # isort: skip
    cluster as cluster,
    fft as fft,
    integrate as integrate,
    interpolate as interpolate,
    linalg as linalg,
    ndimage as ndimage,
    optimize as optimize,
    signal as signal,
    sparse as sparse,
    spatial as spatial,
    special as special,
    stats as stats,
)

__all__ = [
    "Calls",
    "Report",
    "clear_report",
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "report",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]
