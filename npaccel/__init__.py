"""NumPy code, compiled: OpenMP C++ on every core, Triton kernels on a GPU."""

from npaccel import errors
from npaccel._jit import Jitted, jit
from npaccel._options import config, disabled, options
from npaccel._report import Report
from npaccel._torch_internals import check_supported
from npaccel._version import __version__
from npaccel.errors import NotCompiledError as NotCompiledError

__all__ = [
    "Jitted",
    "Report",
    "__version__",
    "config",
    "disabled",
    "errors",
    "jit",
    "options",
]

check_supported()
