"""The header of Inductor's kernels on a CPU, precompiled: in a safe folder, and begun early.

It brings in ATen's vectors, for which the C++ compiler takes some seconds; once for each folder. So
the compiler begins when npaccel does, and works while Python imports Inductor and captures the
function.

Read from torch/_inductor/{codecache,cpp_builder}.py (_precompile_header, CppCodeCache.load_async)
of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import fcntl
import functools
import hashlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._inductor import cpp_builder, exc
from torch._inductor.cpu_vec_isa import VecAVX2, VecAVX512, pick_vec_isa
from torch._inductor.runtime.cache_dir_utils import cache_dir

from npaccel import _fork

_HEADER = "torch/csrc/inductor/cpp_prefix.h"
#: What Inductor asks for with each kernel on a CPU.
_USUAL: dict[str, Any] = {
    "device_type": "cpu",
    "extra_flags": (),
    "include_pytorch": False,
    "min_optimize": False,
    "shared": True,
    "use_relative_path": False,
}
#: Held while a header is made: a child that is forked then would wait for it for ever.
lock = threading.RLock()
_fork.hold(lock)


# -- Flags ----------------------------------------------------------------------------------


@contextlib.contextmanager
def flags_of_kernels() -> Iterator[None]:
    """Set up what becomes part of the compiler's command for each kernel."""
    with _instruction_sets_known(), _integers_wrap():
        yield


@contextlib.contextmanager
def _instruction_sets_known() -> Iterator[None]:
    """Spare Inductor a build of ATen's vector headers for each instruction set of the processor.

    They take 8 of 18 seconds of the first compilation on a machine. Which sets the processor has,
    torch knows; that the compiler knows them, a line shows.
    """
    known = inductor_config.cpp.vec_isa_ok
    if known is None and _compiler_has_vectors(cpp_builder.get_cpp_compiler()):
        known = True
    with inductor_config.patch({"cpp.vec_isa_ok": known}):
        yield


@functools.cache
def _compiler_has_vectors(compiler: str) -> bool:
    """Whether a compiler builds code for the widest vectors that an x86 processor has."""
    wide = torch.cpu._is_avx512_supported()
    if not torch.cpu._is_avx2_supported():
        return False
    flags = VecAVX512._arch_flags if wide else VecAVX2._arch_flags
    number, add = ("__m512", "_mm512_add_ps") if wide else ("__m256", "_mm256_add_ps")
    code = f"#include <immintrin.h>\n{number} f({number} a) {{ return {add}(a, a); }}\n"
    command = [compiler, *flags.split(), "-x", "c++", "-c", "-o", os.devnull, "-"]
    run = subprocess.run(command, input=code, capture_output=True, text=True, check=False)  # noqa: S603 (the compiler that Inductor runs)
    return run.returncode == 0


@contextlib.contextmanager
def _integers_wrap() -> Iterator[None]:
    """Have integers that overflow wrap around in kernels: cpp_builder.py.

    C++ leaves it open, and g++ takes it that a square isn't negative: that of 70000 as
    uint32, which is computed on signed bits, became a negative int64.
    """
    original = cpp_builder._get_optimization_cflags

    def flags(*args: Any, **kwargs: Any) -> tuple[list[str], list[str]]:
        cflags, ldflags = original(*args, **kwargs)
        return [*cflags, *([] if os.name == "nt" else ["fwrapv"])], ldflags

    cpp_builder._get_optimization_cflags = flags
    try:
        yield
    finally:
        cpp_builder._get_optimization_cflags = original


# -- What it has ----------------------------------------------------------------------------

#: What products of matrices are written with, where Inductor writes them: from here, up to there.
#: Their tables take g++ a tenth of a second for each kernel, used or not.
_PRODUCTS = (
    "inline std::tuple<std::shared_ptr<int64_t[]>, int> _get_factors(",
    "struct amx_tilecfg",
)
_USE_OF_PRODUCTS = "mm_get_"
_MARK = "NPACCEL_HEADER"


@functools.cache
def _parts(header: str) -> tuple[str, str]:
    """Return a header's text, and what was taken out of it."""
    text = (Path(torch.__file__).parent / "include" / header).read_text()
    text = text.replace("#pragma once", "", 1)
    first, end = (text.find(mark) for mark in _PRODUCTS)
    if not 0 <= first < end:
        first = end = len(text)
    mine = f"#define {_MARK}\n#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n"
    mine += f'#line 1 "{header}"\n'  # What it's called: what it has mustn't change with its place.
    return mine + text[:first] + text[end:], text[first:end]


def including(lines: Iterable[str], source: str) -> str:
    """Return how a file begins: with the precompiled header or Inductor's, and other headers.

    Parameters
    ----------
    lines : iterable of str
        The `#include` lines of its kernels.
    source : str
        What the file has besides. It may need more of Inductor's header than is precompiled.
    """
    own = f"#include <{_HEADER}>"
    others = [line for line in lines if line.strip() != own]
    rest = _parts(_HEADER)[1] if _USE_OF_PRODUCTS in source else ""
    return "\n".join([f"#ifndef {_MARK}", own, "#else", rest, "#endif", *others])


# -- The header -----------------------------------------------------------------------------


@dataclasses.dataclass
class _Request:
    """A header and how it's compiled.

    Parameters
    ----------
    folder : Path
        The precompiled header's.
    header : str
    command : str
        Of the kernels that include it.
    preprocessing, compiling
        Inductor's options for both steps.
    """

    folder: Path
    header: str
    command: str
    preprocessing: cpp_builder.BuildOptionsBase
    compiling: cpp_builder.BuildOptionsBase
    path: str = ""
    compiled: str = ""
    thread: threading.Thread | None = None

    @classmethod
    def of(cls, folder: Path, header: str, command: str, options: Mapping[str, Any]) -> _Request:
        """Take what Inductor gives its own function for this."""
        options = {name: value for name, value in options.items() if name != "extra_flags"}
        return cls(
            folder,
            header,
            command,
            cpp_builder.CppTorchDeviceOptions(**options, preprocessing=True),
            cpp_builder.CppTorchDeviceOptions(**options, precompiling=True),
        )

    def is_there(self) -> bool:
        """Whether the header was made, and not removed since."""
        return os.path.exists(self.path) and os.path.exists(self.compiled)

    def make(self) -> None:
        """Compile the header, unless it's in the folder for all that it includes."""
        with lock:
            if self.is_there():
                return
            name = self._name()
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{name}.h"
            with _alone(self.folder / f"{name}.lock"):
                if not path.exists():
                    with whole_file(str(path)) as draft:
                        Path(draft).write_text(_parts(self.header)[0])
                builder = cpp_builder.CppBuilder(str(path), str(path), self.compiling)
                if not os.path.exists(builder.get_target_file_path()):
                    for draft in self.folder.glob(f"{name}.*.*.*"):
                        draft.unlink()  # Of a process that was killed: nobody else has the lock.
                    with whole_output(builder):
                        _run(builder)
            self.path, self.compiled = str(path), builder.get_target_file_path()

    def _name(self) -> str:
        """Return a name that changes with the compiler and with any file that is included."""
        compiler = cpp_builder.get_compiler_version_info(self.compiling.get_compiler())
        found = hashlib.sha256(f"{self.command}\n{compiler}\n".encode())
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "header.hpp"
            source.write_text(_parts(self.header)[0])
            builder = cpp_builder.CppBuilder(f"{folder}/header", str(source), self.preprocessing)
            _run(builder)
            found.update(Path(builder.get_target_file_path()).read_bytes())
        return found.hexdigest()


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until no other process is at it.

    A lock of the filelock package is no good in a thread: its own hook holds forks up, which wait
    for this module's `lock`.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def whole_file(target: str) -> Iterator[str]:
    """Let a file appear whole or not at all: yield the name of its draft."""
    draft = f"{target}.{os.getpid()}.{threading.get_ident()}"
    try:
        yield draft
        os.replace(draft, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)


@contextlib.contextmanager
def whole_output(builder: cpp_builder.CppBuilder) -> Iterator[None]:
    """Have a compiler write to a draft, which gets its name when it's whole."""
    target, output = builder._target_file, builder._output
    with whole_file(target) as draft:
        builder._output = output.removesuffix(target) + draft
        try:
            yield
        finally:
            builder._output = output


_running: set[subprocess.Popen[str]] = set()
_requests: dict[tuple[Any, ...], _Request] = {}


def _stop() -> None:
    """Don't leave a compiler behind whose work nobody waits for."""
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # The compiler is a child of what is called so.
    for request in _requests.values():
        if request.thread is not None:
            request.thread.join(timeout=1)


_fork.at_exit(_stop)


def _run(builder: cpp_builder.CppBuilder) -> None:
    command = shlex.split(builder.get_command_line())
    with subprocess.Popen(  # noqa: S603 (the compiler that Inductor runs)
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
    ) as process:
        _running.add(process)
        try:
            told, _ = process.communicate()
        finally:
            _running.discard(process)
    if process.returncode:
        raise exc.CppCompileError(command, told)


def _request(scratch: Path, header: str, command: str, options: Mapping[str, Any]) -> _Request:
    key = (str(scratch), header, command, *sorted(map(repr, options.items())))
    if key not in _requests:
        folder = scratch / "precompiled_headers"
        _requests[key] = _Request.of(folder, header, command, options)
    return _requests[key]


def default_folder() -> str:
    """Return the folder that Inductor uses by itself."""
    return cache_dir()


def begin(scratch: Path) -> None:
    """Begin to make the header of the kernels to come, unless it was begun before.

    Parameters
    ----------
    scratch : Path
        The folder for the compiler's files.
    """
    try:
        with flags_of_kernels():
            options = {**_USUAL, "vec_isa": pick_vec_isa()}
            kernel = cpp_builder.CppTorchDeviceOptions(compile_only=False, **options)
            command = cpp_builder.CppBuilder("o", "i", kernel).get_command_line()
            request = _request(scratch, _HEADER, command, options)
    except exc.InvalidCxxCompiler:  # which is said when something is compiled
        return
    if request.thread is None and not request.is_there():
        # Inductor's settings are the context's: those of this thread hold in that one.
        run = contextvars.copy_context().run
        request.thread = threading.Thread(target=run, args=(_made_early, request), daemon=True)
        request.thread.start()


def _made_early(request: _Request) -> None:
    with contextlib.suppress(exc.CppCompileError, OSError):  # raised where the header is wanted
        request.make()


def precompiled(scratch: Path, header: str, command: str, **options: Any) -> str:
    """Return the path of a precompiled header; it's made if it isn't there.

    Parameters
    ----------
    scratch : Path
        The folder for the compiler's files; it may have been cleaned.
    header, command, **options
        As Inductor's own function takes them.
    """
    request = _request(scratch, header, command, options)
    if request.thread is not None:
        request.thread.join()
        request.thread = None
    request.make()
    return request.path
