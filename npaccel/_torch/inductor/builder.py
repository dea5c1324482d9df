"""Run the C++ compiler as Inductor does: in any folder, for files that appear whole.

Inductor writes its commands as lines for a shell without quoting paths, lets the compiler write to
a file's final name, and leaves the compiler's own temporary files to the system's folder.

Read from torch/_inductor/cpp_builder.py (CppBuilder) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch._inductor import cpp_builder

from npaccel._cache.sealed_files import sealed_file


class Builder(cpp_builder.CppBuilder):
    """A command of the C++ compiler, with paths quoted, whose output is sealed.

    Parameters
    ----------
    name, sources, BuildOption, output_dir
        As in Inductor's own class.
    scratch : Path
        The folder for the compiler's files.
    """

    def __init__(
        self,
        name: str,
        sources: str | list[str],
        BuildOption: Any,  # noqa: N803 (Inductor's name)
        output_dir: str = "",
        *,
        scratch: Path,
    ) -> None:
        super().__init__(name, sources, BuildOption, output_dir)
        self._scratch = str(scratch)
        self._rewrites = not self._use_relative_path and os.name != "nt"
        if not self._rewrites:  # builds elsewhere, Windows
            return
        names = [sources] if isinstance(sources, str) else sources
        quoted = " ".join(map(shlex.quote, names))
        self._sources_args = self._sources_args.replace(" ".join(names), quoted)
        header = BuildOption.precompiled_header
        if header:
            including = f"-include {shlex.quote(header)} "
            self._include_dirs_args = self._include_dirs_args.replace(
                f"-include {header} ", including
            )
        folders = BuildOption.get_libraries_dirs()
        self._libraries_dirs_args = "".join(f"-L{shlex.quote(folder)} " for folder in folders)
        self._flags_of_output = self._output.removesuffix(self._target_file)
        self._set_output(self._target_file)

    def _set_output(self, path: str) -> None:
        self._output = self._flags_of_output + shlex.quote(path)

    @contextlib.contextmanager
    def to_draft(self) -> Iterator[None]:
        """Have the command write to a draft, named when it's whole, and other files beside it."""
        before = self._output, self._output_dir, self._compiler
        with sealed_file(self._target_file, self._scratch) as draft:
            self._output_dir = os.path.dirname(draft)
            self._compiler = f"env TMPDIR={shlex.quote(self._output_dir)} {self._compiler}"
            self._set_output(draft)
            try:
                yield
            finally:
                self._output, self._output_dir, self._compiler = before

    def build(self) -> None:
        """Run the compiler."""
        if not self._rewrites:
            super().build()
            return
        with self.to_draft():
            super().build()


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is at it.

    A lock of the filelock package is no good in a thread: its own hook holds forks up, which wait
    for locks of npaccel's.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


__all__ = ["Builder", "alone"]
