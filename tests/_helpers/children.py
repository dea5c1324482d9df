"""Run Python in child processes, for tests of what more than one process does."""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
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
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(source), *map(str, args)],
        env=_environment(paths, env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment(paths, env):
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, _ROOT]),
        # Python takes a module that was rewritten within a second for the old one.
        "PYTHONDONTWRITEBYTECODE": "1",
        **env,
    }


def finish(child, timeout=250):
    """Wait for a child; return its answers as a list."""
    try:
        out, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, errors = child.communicate()
        raise AssertionError(f"a child hangs: {out}\n{errors}") from None
    return _answers(child.returncode, out, errors)


def _answers(status, out, errors):
    assert status == 0, f"a child ended with {status}: {out}\n{errors}"
    lines = [line.removeprefix("ANSWER ") for line in out.splitlines() if line.startswith("ANSWER")]
    return [json.loads(line) for line in lines]


def run(source, *args, path=None, **env):
    """Run a script in a child; return the last of its answers.

    It ends without looking for garbage among torch's objects, which takes a second. How processes
    end is tested with `start`.
    """
    source = "import atexit, gc\natexit.register(gc.freeze)\n" + textwrap.dedent(source)
    return finish(start(source, *args, path=path, **env))[-1]


def run_prepared(source, *args, **options):
    """Do the same in a child that needn't import torch and its compiler; it has two threads.

    It isn't for what concerns imports, or a new process that finds what another one has left.
    """
    return answers_of_prepared(source, *args, **options)[-1]


def answers_of_prepared(source, *args, path=None, timeout=250, **env):
    """Run a script in a child that needn't import the compiler; return its answers as a list."""
    paths = [str(path)] if path is not None else []
    message = {
        "source": PRELUDE + textwrap.dedent(source),
        "arguments": [str(arg) for arg in args],
        "environment": _environment(paths, {"OMP_NUM_THREADS": "2", **env}),
        "paths": paths,
    }
    channel = _prepared()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        files = [out.fileno(), errors.fileno()]
        socket.send_fds(channel, [json.dumps(message).encode()], files)
        channel.settimeout(None)  # The imports may take their time.
        child = int(channel.recv(20))
        channel.settimeout(timeout)
        try:
            status = int(channel.recv(20))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            channel.settimeout(None)
            status = f"{channel.recv(20).decode()}, as it hung"
        out.seek(0)
        errors.seek(0)
        return _answers(status, out.read(), errors.read())


@functools.cache
def _prepared():
    """Return a socket to the process that is forked; it ends when the socket is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = os.path.join(os.path.dirname(__file__), "prepared.py")  # noqa: PTH118, PTH120
    with theirs:
        _prepared.process = subprocess.Popen(
            [sys.executable, script, str(theirs.fileno())],
            env=_environment([], {"OMP_NUM_THREADS": "2"}),
            pass_fds=[theirs.fileno()],
        )
    return ours
