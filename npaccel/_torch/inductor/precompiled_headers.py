"""The header of Inductor's kernels on a CPU, precompiled: in a safe folder, and begun early.

It brings in ATen's vectors, for which the C++ compiler takes some seconds; once for each folder. So
the compiler begins when npaccel does, and works while Python imports Inductor and captures the
function.

Read from torch/_inductor/{codecache,cpp_builder,cpu_vec_isa}.py (_precompile_header,
CppCodeCache.load_async, VecISA.check_build) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import hashlib
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch._inductor.config as inductor_config
from torch._inductor import codecache, cpp_builder, cpu_vec_isa, exc
from torch._inductor.cpu_vec_isa import VecISA, pick_vec_isa
from torch._inductor.runtime.cache_dir_utils import cache_dir

from npaccel._cache.layout import TRASH
from npaccel._cache.room import HEADER, fault
from npaccel._cache.sealed_files import is_whole, sealed_file, temporary_folder
from npaccel._process import fork
from npaccel._torch.inductor import cpp_compilers as compilers
from npaccel._torch.inductor import linking
from npaccel._torch.inductor.builder import Builder, alone
from npaccel._torch.inductor.lean import names
from npaccel._torch.patching import Patch, patched

_HEADER = "torch/csrc/inductor/cpp_prefix.h"
#: Headers that Inductor asks for with each kernel on a CPU.
_USUAL: dict[str, Any] = {
    "device_type": "cpu",
    "extra_flags": (),
    "include_pytorch": False,
    "min_optimize": False,
    "shared": True,
    "use_relative_path": False,
}
#: Lock of the making of a header: a child that is forked meanwhile would wait for it endlessly.
lock = threading.RLock()
fork.hold(lock)


# -- Flags ----------------------------------------------------------------------------------


@contextlib.contextmanager
def flags_of_kernels() -> Iterator[None]:
    """Set up what becomes part of the compiler's command for each kernel."""
    with patched(_OF_COMMANDS):
        yield


@contextlib.contextmanager
def headers_in(scratch: Path) -> Iterator[None]:
    """Keep precompiled headers, which become part of every kernel, in a safe folder."""
    with patched([patch.given(scratch) for patch in _OF_HEADERS]):
        yield


#: Instructions by the flag that the compiler takes to use them. It takes some that the assembler
#: beside it doesn't know.
_INSTRUCTIONS = {
    "-mavx2": "vpaddb %ymm0, %ymm0, %ymm0",
    "-mfma": "vfmadd132ps %ymm0, %ymm0, %ymm0",
    "-mf16c": "vcvtph2ps %xmm0, %ymm0",
    "-mavx512f": "vaddps %zmm0, %zmm0, %zmm0",
    "-mavx512dq": "vandps %zmm0, %zmm0, %zmm0",
    "-mavx512bw": "vpaddb %zmm0, %zmm0, %zmm0",
    "-mavx512bf16": "vcvtne2ps2bf16 %zmm0, %zmm0, %zmm0",
    "-mavx512vnni": "vpdpbusd %zmm0, %zmm0, %zmm0",
    "-mamx-tile": "tilezero %tmm0",
    "-mamx-bf16": "tdpbf16ps %tmm0, %tmm1, %tmm2",
    "-mamx-int8": "tdpbusd %tmm0, %tmm1, %tmm2",
    "-mamx-fp16": "tdpfp16ps %tmm0, %tmm1, %tmm2",
}


def _check_build(original: Any) -> Any:
    """Ask the C++ compiler alone for the instruction sets that torch knows the processor to have.

    Inductor builds ATen's vector headers for each (8 of 18 seconds of the first compilation on a
    machine), in a folder of a known name below /tmp, and has another Python load what is there.
    """

    def is_known(instructions: VecISA, code: str) -> bool:
        return _builds(cpp_builder.get_cpp_compiler(), instructions.build_arch_flags())

    return is_known


def ask_early(scratch: Path) -> None:
    """Ask the C++ compiler for instruction sets in a thread, while Python imports Inductor.

    Parameters
    ----------
    scratch : Path
        The folder for the compiler's files, where kernels' libraries of torch are made as well.
    """
    try:
        compiler = cpp_builder.get_cpp_compiler()
    except exc.InvalidCxxCompiler:  # which is said when something is compiled
        return
    flags = [known.build_arch_flags() for known in cpu_vec_isa.supported_vec_isa_list]

    def ask() -> None:
        with contextlib.suppress(OSError):  # raised where the answer is wanted
            for one in flags:
                if not _INSTRUCTIONS.keys().isdisjoint(one.split()):
                    _builds(compiler, one)
            linking.make_empty(compiler, scratch)

    if sys.platform == "linux":
        with contextlib.suppress(RuntimeError):  # There is no memory for a thread.
            threading.Thread(target=ask, daemon=True).start()


@functools.cache
def _builds(compiler: str, flags: str) -> bool:
    """Whether compiler and assembler know a set of instructions."""
    lines = [f'__asm__("{text}");' for flag in flags.split() if (text := _INSTRUCTIONS.get(flag))]
    code = "\n".join(["void f() {", *lines, "}", ""])
    command = [compiler, *flags.split(), "-x", "c++", "-c", "-o", os.devnull, "-"]
    run = subprocess.run(command, input=code, capture_output=True, text=True, check=False)  # noqa: S603 (the compiler that Inductor runs)
    return run.returncode == 0


def _wrapping(original: Any) -> Any:
    """Have integers that overflow wrap around in kernels.

    C++ leaves it open, and g++ takes it that a square isn't negative: that of 70000 as
    uint32, which is computed on signed bits, became a negative int64.
    """

    def flags(*args: Any, **kwargs: Any) -> tuple[list[str], list[str]]:
        cflags, ldflags = original(*args, **kwargs)
        return [*cflags, *([] if os.name == "nt" else ["fwrapv"])], ldflags

    return flags


def _unloadable(original: Any) -> Any:
    """Keep kernels' libraries unloadable.

    g++ marks variables of headers as the only ones of their name in a process, and the loader never
    unloads a library that has such a one.
    """

    def flags(cpp_compiler: str, *args: Any, **kwargs: Any) -> tuple[list[str], list[str]]:
        cflags, ldflags = original(cpp_compiler, *args, **kwargs)
        is_gcc = cpp_builder._is_gcc(cpp_compiler)
        return [*cflags, *(["fno-gnu-unique"] if is_gcc else [])], ldflags

    return flags


def _quick_standard(original: Any) -> Any:
    """Have kernels compiled as C++17, which they and the headers keep to.

    In C++20 strings are computed with at compile time: their functions take g++ a fifth of its time
    for a small kernel. What includes all of torch's headers is left as it is.
    """

    def flag(*args: Any, **kwargs: Any) -> list[str]:
        is_kernel = not inductor_config.cpp_wrapper
        flags: list[str] = original("c++17") if is_kernel else original(*args, **kwargs)
        return flags

    return flag


def _precompile_header(scratch: Path, original: Any) -> Any:
    return functools.partial(precompiled, scratch)


_TEST = "tests/torch_layer/inductor/test_headers.py"

_OF_COMMANDS = (
    Patch(
        VecISA, "check_build", _check_build,
        "Inductor builds a library for each instruction set, in a folder of a known name", _TEST,
    ),
    Patch(
        cpp_builder, "_get_optimization_cflags", _wrapping,
        "g++ takes it that integers don't overflow", "tests/numpy_layer/test_inductor.py",
    ),
    Patch(
        cpp_builder, "_get_optimization_cflags", _unloadable,
        "the loader never unloads a library of g++'s", "tests/faults/test_unloading.py",
    ),
    Patch(
        cpp_builder, "_get_cpp_std_cflag", _quick_standard,
        "C++20 takes g++ a fifth of its time more", _TEST,
    ),
)  # fmt: skip
_OF_HEADERS = (
    Patch(
        codecache, "_precompile_header", _precompile_header,
        "Inductor has headers below /tmp, and never looks again at one that it made", _TEST,
    ),
)  # fmt: skip

PATCHES = (*_OF_COMMANDS, *_OF_HEADERS)


# -- What it has ----------------------------------------------------------------------------

#: Code with which Inductor writes products of matrices: from here, up to there.
#: Their tables take g++ a tenth of a second for each kernel, used or not.
_PRODUCTS = (
    "inline std::tuple<std::shared_ptr<int64_t[]>, int> _get_factors(",
    "struct amx_tilecfg",
)
_USE_OF_PRODUCTS = "mm_get_"
#: Header without libstdc++'s Bessel functions and their like, of which kernels have their own.
_NO_SPECIAL_FUNCTIONS = """#include <cstddef>
#ifdef _GLIBCXX_USE_STD_SPEC_FUNCS
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#endif
"""
_MARK = "NPACCEL_HEADER"
#: Bytes that are enough for the header and all that it includes.
_PREPROCESSED = 16 << 20


@functools.cache
def _parts(header: str) -> tuple[str, str]:
    """Return a header's text, and what was taken out of it."""
    text = (Path(torch.__file__).parent / "include" / header).read_text(encoding="utf-8")
    text = text.replace("#pragma once", "", 1)
    first, end = (text.find(mark) for mark in _PRODUCTS)
    if not 0 <= first < end:
        first = end = len(text)
    mine = f"#define {_MARK}\n{_NO_SPECIAL_FUNCTIONS}"
    mine += "#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n"
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
    scratch : Path
        The folder for the compiler's files.
    header : str
    command : str
        Of the kernels that include it.
    preprocessing, compiling
        Inductor's options for both steps.
    """

    scratch: Path
    header: str
    command: str
    preprocessing: cpp_builder.BuildOptionsBase
    compiling: cpp_builder.BuildOptionsBase
    #: The header, and what was compiled of it: nothing where that has no room.
    path: str = ""
    compiled: str = ""
    thread: threading.Thread | None = None

    @classmethod
    def of(cls, scratch: Path, header: str, command: str, options: Mapping[str, Any]) -> _Request:
        """Take what Inductor gives its own function for this."""
        options = {name: value for name, value in options.items() if name != "extra_flags"}
        return cls(
            scratch,
            header,
            command,
            cpp_builder.CppTorchDeviceOptions(**options, preprocessing=True),
            cpp_builder.CppTorchDeviceOptions(**options, precompiling=True),
        )

    @property
    def folder(self) -> Path:
        """The precompiled header's."""
        return self.scratch / "precompiled_headers"

    def is_there(self) -> bool:
        """Whether the header was made, and neither removed nor changed since."""
        return is_whole(self.path) and (not self.compiled or is_whole(self.compiled))

    def make(self) -> None:
        """Compile the header, unless it's in the folder for all that it includes."""
        with lock:
            if self.is_there():
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            if fault(self.scratch, _PREPROCESSED) is not None:  # Each kernel takes longer then.
                name = hashlib.sha256(_parts(self.header)[0].encode()).hexdigest()
                path, compiled = self.folder / f"plain-{name}.h", ""
                self._write(path)
            else:
                path = self.folder / f"{self._name()}.h"
                with alone(path.with_suffix(".lock")):
                    compiled = self._compiled(path)
            self.path, self.compiled = str(path), compiled

    def _write(self, path: Path) -> None:
        if not is_whole(str(path)):
            with sealed_file(str(path), str(self.scratch)) as draft:
                Path(draft).write_text(_parts(self.header)[0], encoding="utf-8")

    def _compiled(self, path: Path) -> str:
        """Write a header, and return what is compiled of it: nothing where that has no room."""
        builder = self._builder(str(path), str(path), self.compiling)
        compiled = builder.get_target_file_path()
        if not (is_whole(str(path)) and is_whole(compiled)):
            Path(compiled).unlink(missing_ok=True)
            self._write(path)
            if fault(self.scratch, HEADER) is not None:
                return ""
            for draft in self.scratch.glob(f"{TRASH}/*/{Path(compiled).name}"):
                draft.unlink()  # Of a process that was killed: nobody else has the lock.
            with builder.to_draft():
                _run(builder)
        return compiled

    def _builder(self, name: str, source: str, options: cpp_builder.BuildOptionsBase) -> Builder:
        return Builder(name, source, options, scratch=self.scratch)

    def _name(self) -> str:
        """Return a name that changes with the compiler and with any file that is included."""
        compiler = cpp_builder.get_compiler_version_info(self.compiling.get_compiler())
        found = hashlib.sha256(f"{self.command}\n{compiler}\n".encode())
        with temporary_folder(str(self.scratch)) as folder:
            source = Path(folder) / "header.hpp"
            source.write_text(_parts(self.header)[0], encoding="utf-8")
            builder = self._builder(f"{folder}/header", str(source), self.preprocessing)
            # Files as they are, with what macros are defined as: that takes g++ half the time.
            _run(builder, *(["-fdirectives-only"] if "gcc version" in compiler else []))
            found.update(Path(builder.get_target_file_path()).read_bytes())
        return found.hexdigest()


_requests: dict[tuple[Any, ...], _Request] = {}


def _stop() -> None:
    """Don't leave a compiler behind whose work nobody waits for."""
    compilers.stop(everything=True)
    for request in _requests.values():
        if request.thread is not None:
            request.thread.join(timeout=1)


fork.at_exit(_stop)


def _run(builder: cpp_builder.CppBuilder, *flags: str) -> None:
    compilers.run([*shlex.split(builder.get_command_line()), *flags], awaited=False)


def _request(scratch: Path, header: str, command: str, options: Mapping[str, Any]) -> _Request:
    key = (str(scratch), header, command, *sorted(map(repr, options.items())))
    if key not in _requests:
        _requests[key] = _Request.of(scratch, header, command, options)
    return _requests[key]


def default_folder() -> str:
    """Return the folder that Inductor uses by itself."""
    return cache_dir()


def is_needed() -> bool:
    """Whether kernels need it on this machine; on others there are few that do."""
    try:
        return bool(names.unknown_machine())
    except exc.InvalidCxxCompiler:  # which is said when something is compiled
        return False


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
            command = Builder("o", "i", kernel, scratch=scratch).get_command_line()
            request = _request(scratch, _HEADER, command, options)
    except exc.InvalidCxxCompiler:  # which is said when something is compiled
        return
    if request.thread is None and not request.is_there():
        # Inductor's settings are the context's: those of this thread hold in that one.
        run = contextvars.copy_context().run
        request.thread = threading.Thread(target=run, args=(_made_early, request), daemon=True)
        try:
            request.thread.start()
        except RuntimeError:  # There is no memory for it.
            request.thread = None
            raise


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
