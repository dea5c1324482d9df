"""Text of `npaccel info` on an installation and its machine, for reports of bugs.

Everything is read: nothing is compiled, and no setting changes.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from npaccel._cache.admin import CacheInfo
from npaccel._cache.store import default_cache
from npaccel._process import environment
from npaccel._report.text import count
from npaccel._runtime.torch import malloc
from npaccel._torch.importing import quietly_imported
from npaccel._version import __version__

_LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "numba", "triton")
#: Variables of others that change what npaccel does.
_OTHERS = ("CXX", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "TMPDIR", "GLIBC_TUNABLES")
_PREFIXES = ("TORCH", "INDUCTOR", "TRITON", "NUMBA", "MALLOC_", "OMP_", "MKL_", "GOMP_", "THP_")

Section = Mapping[str, Any]


def collect() -> dict[str, Section]:
    """Return all sections by name, as JSON can hold them."""
    of_user = variables()  # Importing Inductor sets some.
    sections: dict[str, Callable[[], Section]] = {
        "versions": versions,
        "C++ compiler": compiler,
        "processor": processor,
        "GPU": gpus,
        "threads": threads,
        "cache": lambda: cache_rows(default_cache().info()),
        "environment": lambda: of_user,
        "allocator": malloc.settings,
        "replaced in torch": patches,
    }
    return {name: section() for name, section in sections.items()}


def text(sections: Mapping[str, Section]) -> str:
    """Return sections as lines."""
    lines = []
    for name, section in sections.items():
        lines.append(name)
        width = max(map(len, section), default=0)
        lines += [f"  {key:<{width}}  {_shown(value)}" for key, value in section.items()]
        if not section:
            lines.append("  none")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return count(len(value), "replacement") if isinstance(value, list) else str(value)


def versions() -> dict[str, str]:
    """Return versions of npaccel, Python, the system and libraries."""
    found = {
        "npaccel": __version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": platform.platform(),
        "C library": " ".join(platform.libc_ver()) or "unknown",
    }
    return found | {name: _version(name) for name in _LIBRARIES}


def _version(name: str) -> str:
    if name == "torch":  # With what it was built for, which its metadata may lack.
        return torch.__version__
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def compiler() -> dict[str, str]:
    """Return what is known of the C++ compiler."""
    command = quietly_imported("npaccel._torch.inductor.compiler_command")
    found: dict[str, str] = command.described()
    path = shutil.which(found["program"])
    return {"path": path, **found} if path else found


def processor() -> dict[str, str]:
    """Return the processor's model, its cores and its vector instructions."""
    return {
        "model": _model(),
        "machine": platform.machine(),
        "cores": f"{os.cpu_count()}, of which this process may use {_usable()}",
        "vectors": torch.backends.cpu.get_cpu_capability(),
    }


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or "unknown")


def _usable() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def gpus() -> dict[str, str]:
    """Return the CUDA devices that torch sees."""
    found = {"CUDA of torch": str(torch.version.cuda or "none")}
    for index in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(index)
        memory = f"{device.total_memory / 2**30:.1f} GiB"
        found[f"cuda:{index}"] = f"{device.name}, {memory}, {device.major}.{device.minor}"
    return found


def threads() -> dict[str, int]:
    """Return how many threads compute."""
    return {"torch": torch.get_num_threads(), "torch, between": torch.get_num_interop_threads()}


def cache_rows(info: CacheInfo) -> dict[str, str]:
    """Return where the cache is and what it holds."""
    state = "on" if info.enabled else "off (NPACCEL_CACHE)"
    return {
        "folder": str(info.path or "none"),
        "state": f"not used: {info.problem}" if info.problem else state,
        "entries": f"{info.entries} of {count(info.groups, 'function')}",
        "size": f"{size(info.bytes)} of at most {size(info.max_bytes)}",
        "scratch": f"{size(info.scratch_bytes)} of the compiler's own files",
    }


def size(number: float) -> str:
    """Return a number of bytes in a unit that suits it."""
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"


def variables() -> dict[str, str]:
    """Return the environment variables that are set: npaccel's, and those that matter to it."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name in environment.VARIABLES or name in _OTHERS or name.startswith(_PREFIXES)
    }


def patches() -> dict[str, list[str]]:
    """Return what npaccel replaces in torch, by how long that lasts."""
    table = quietly_imported("npaccel._torch.patches")
    return {
        lasts: [f"{one.target}: {one.why}" for one in several if one.is_applied]
        for lasts, several in table.GROUPS.items()
    }
