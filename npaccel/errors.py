"""The exceptions and warnings that npaccel raises.

What NumPy itself would raise for a call (`ValueError` for shapes that don't
broadcast, `IndexError`, `numpy.linalg.LinAlgError`) keeps NumPy's class.
"""

from __future__ import annotations

__all__ = [
    "CacheError",
    "CacheWarning",
    "CollectiveError",
    "CompilerNotFoundError",
    "DeviceNotFoundError",
    "MixedDevicesError",
    "NotCompiledError",
    "NotOnDeviceError",
    "NpaccelError",
    "OptionError",
    "PerformanceWarning",
    "RankMismatchError",
    "StaticArgumentError",
    "TransferError",
    "UnsupportedArrayError",
    "UnsupportedDtypeError",
    "UnsupportedTorchError",
    "UntestedTorchWarning",
    "VerificationError",
    "VerificationWarning",
]


class NpaccelError(Exception):
    """Base of the exceptions that npaccel raises itself."""


class CacheError(NpaccelError):
    """A cache folder or a cache entry can't be trusted or used."""


class CollectiveError(NpaccelError, RuntimeError):
    """A rank of a mesh has waited for the others in vain, or a connection between them is lost."""


class CompilerNotFoundError(NpaccelError, RuntimeError):
    """Error where there is no C++ compiler to build kernels with."""


class DeviceNotFoundError(NpaccelError, ValueError):
    """A device was asked for that torch doesn't see."""


class MixedDevicesError(NpaccelError, ValueError):
    """The tensors of one call lie on different devices."""


class NotCompiledError(NpaccelError):
    """Error with ``strict=True``: part of the function would run uncompiled."""


class NotOnDeviceError(NpaccelError, NotImplementedError):
    """Error with ``rng="device"``: random numbers that only NumPy itself can draw.

    With `npaccel.sklearn.accelerate(..., on_unsupported="raise") <npaccel.sklearn.accelerate>`: a
    step that only the host can compute.
    """


class OptionError(NpaccelError, ValueError):
    """An option of `npaccel.jit` has a value that it can't have."""


class RankMismatchError(NpaccelError, RuntimeError):
    """Ranks of a mesh are about to compute different things with DTensors."""


class StaticArgumentError(NpaccelError, TypeError):
    """An argument named in ``static_argnames`` can't be hashed."""


class TransferError(NpaccelError, RuntimeError):
    """A copy between host and device that `npaccel.transfers` doesn't allow."""


class UnsupportedArrayError(NotCompiledError, TypeError):
    """An ndarray subclass whose operations differ from ndarray's, with ``strict=True``.

    Without it NumPy runs the call. A sparse tensor, or a subclass of tensors, which NumPy can't
    compute with, raises in any case.
    """


class UnsupportedDtypeError(NotCompiledError, TypeError):
    """Error with ``strict=True``: an array has a dtype that torch has no counterpart for."""


class UnsupportedTorchError(NpaccelError, RuntimeError):
    """The installed torch isn't one that npaccel was checked with."""


class VerificationError(NpaccelError, AssertionError):
    """A compiled function's outcome isn't NumPy's."""


class CacheWarning(UserWarning):
    """Compiled artifacts can't be kept on disk, or a damaged one was dropped."""


class PerformanceWarning(UserWarning):
    """Part of a function runs, but slower than compiled code would."""


class UntestedTorchWarning(UserWarning):
    """Warning with ``NPACCEL_UNTESTED_TORCH=1``: npaccel was tested with older torch only."""


class VerificationWarning(UserWarning):
    """Warning with ``verify="warn"``: a compiled function's outcome isn't NumPy's."""
