"""Run a task of `children.py` in a new process, with caches of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHILDREN = Path(__file__).with_name("children.py")
#: Where npaccel, Inductor and Triton keep what they compiled.
CACHES = ("NPACCEL_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


@contextlib.contextmanager
def empty_caches() -> Iterator[dict[str, str]]:
    """Yield the environment variables of caches that start empty and go afterwards."""
    with tempfile.TemporaryDirectory(prefix="npaccel-bench-", ignore_cleanup_errors=True) as folder:
        # Inductor keeps precompiled headers in the system's temporary folder.
        names = (*CACHES, "TMPDIR")
        os.mkdir(os.path.join(folder, "tmpdir"))  # noqa: PTH102, PTH118
        yield {name: os.path.join(folder, name.lower()) for name in names}  # noqa: PTH118


def run_child(task: str, *arguments: str, caches: dict[str, str] | None = None) -> dict[str, Any]:
    """Run one task in a new process and return its answer.

    Parameters
    ----------
    task : str
        One of the tasks of `children.py`.
    *arguments : str
        Its arguments.
    caches : dict, optional
        From `empty_caches`; by default the caches that are in use here.

    Returns
    -------
    dict

    Raises
    ------
    subprocess.CalledProcessError
        If the child fails; its error output is on this process's stderr.
    """
    child = subprocess.run(
        [sys.executable, str(CHILDREN), task, *arguments],
        env={**os.environ, **(caches or {})},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    answer: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return answer


def run_limited(
    task: str, *arguments: str, caches: dict[str, str], seconds: float
) -> tuple[dict[str, Any], str]:
    """Run a task that prints what it has found so far, and end it where that takes too long.

    Parameters
    ----------
    task : str
        One of the tasks of `children.py`.
    *arguments : str
        Its arguments.
    caches : dict
        From `empty_caches`.
    seconds : float
        After which it's ended, with the processes that it started.

    Returns
    -------
    dict
        What it has found.
    str
        Why there's no more; empty if it has done all.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            [sys.executable, str(CHILDREN), task, *arguments],
            env={**os.environ, **caches},
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        why = ""
        try:
            if child.wait(seconds):
                why = "it failed"
        except subprocess.TimeoutExpired:
            why = f"it was ended after {seconds:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        output.seek(0)
        errors.seek(0)
        lines = [line for line in output if line.startswith("{") and line.endswith("}\n")]
        told = errors.read().strip().splitlines()
    if why == "it failed":
        why = told[-1] if told else f"it ended with status {child.returncode}"
    return json.loads(lines[-1]) if lines else {}, why
