"""Run Python in child processes, for tests of what more than one process does."""

import json
import os
import subprocess
import sys
import textwrap

import npaccel

_ROOT = os.path.dirname(os.path.dirname(npaccel.__file__))  # noqa: PTH120

PRELUDE = """
import json, os, signal, sys, threading, time, warnings
import numpy as np
signal.alarm(200)

def answer(**values):
    print("ANSWER", json.dumps(values), flush=True)
"""


def start(source, *args, path=None, **env):
    """Start a child on a script that may call `answer`; `path` is a folder of modules."""
    paths = [str(path)] if path is not None else []
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, _ROOT]),
        # Python takes a module that was rewritten within a second for the old one.
        "PYTHONDONTWRITEBYTECODE": "1",
        **env,
    }
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(source), *map(str, args)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(child, timeout=250):
    """Wait for a child; return its answers as a list."""
    try:
        out, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, errors = child.communicate()
        raise AssertionError(f"a child hangs: {out}\n{errors}") from None
    assert child.returncode == 0, f"a child ended with {child.returncode}: {out}\n{errors}"
    lines = [line.removeprefix("ANSWER ") for line in out.splitlines() if line.startswith("ANSWER")]
    return [json.loads(line) for line in lines]


def run(source, *args, path=None, **env):
    """Run a script in a child; return the last of its answers."""
    return finish(start(source, *args, path=path, **env))[-1]
