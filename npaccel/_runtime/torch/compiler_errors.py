"""Read errors of torch's compilers, also where none of them is imported."""

from __future__ import annotations

import subprocess
from typing import Any

from npaccel._process.imports import loaded


def inner_of(error: BaseException) -> BaseException:
    """Return the error of a backend that Dynamo has put into its own, or the error itself."""
    dynamo: Any = loaded("torch._dynamo.exc")
    if dynamo and isinstance(error, dynamo.BackendCompilerFailed):
        inner: BaseException = error.inner_exception
        return inner
    return error


def output_of(error: BaseException) -> str:
    """Return what a program that has failed has printed, which is no part of its error's text."""
    if isinstance(error, subprocess.CalledProcessError):
        return str(error.output)
    inductor: Any = loaded("torch._inductor.exc")
    if inductor and isinstance(error, inductor.CppCompileError):
        return str(error.output)
    return ""


__all__ = ["inner_of", "output_of"]
