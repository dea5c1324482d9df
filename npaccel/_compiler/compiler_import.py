"""The import of what captures and compiles: it takes seconds, when a call needs it or ahead."""

from __future__ import annotations

from collections.abc import Iterable

from npaccel._process import background, logs, signals
from npaccel._process.imports import load, loaded, uncut
from npaccel._runtime.error_translation import UncompiledForMemoryError, before_a_call

_COMPILER = "npaccel._compiler.compile"


def import_compiler(backend: str, device_type: str) -> str:
    """Import what captures and compiles; return why that can't be."""
    try:
        with before_a_call():
            importing = load("npaccel._torch.importing")
            if backend == "inductor" and device_type == "cpu":
                uncut(importing.quietly_imported("npaccel._compiler.scratch").begin_header)
            importing.quietly_imported(_COMPILER)
    except (MemoryError, UncompiledForMemoryError):  # The next call tries again.
        raise
    except Exception as error:
        if signals.from_handler(error):
            raise
        return f"{type(error).__name__}: {error}"
    return ""


def begin_import(backend: str, packages: Iterable[str] = ()) -> None:
    """Have the helper thread import the compiler for a CPU, and packages, where they're missing.

    What fails is told when a call needs it.
    """
    missing = [package for package in packages if loaded(package) is None]
    if not missing and loaded(_COMPILER) is not None:
        return

    def work() -> None:
        import_compiler(backend, "cpu")
        for package in missing:
            load(package)

    try:
        background.begin(work)
    except RuntimeError:  # There can be no more threads.
        logs.compile.debug("the compiler isn't imported ahead", exc_info=True)


__all__ = ["begin_import", "import_compiler"]
