"""What the tests of the disk cache share."""

import json
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

import npaccel
from npaccel._cache import cache_warnings
from npaccel._cache.store import DiskCache, cache_key

KEY, OTHER, GROUP = cache_key("key"), cache_key("other"), cache_key("group")
FILES = {"kernel.so": b"\x7fELF" + bytes(range(256)), "extra.bin": b"x"}
POSIX = pytest.mark.skipif(os.name == "nt", reason="owner and mode are POSIX's")
ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away"
)
NOBODY = 65534


@pytest.fixture(autouse=True)
def fresh_warnings():
    """Let each test hear the warnings that a process hears once."""
    cache_warnings._said.clear()


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def cache(root):
    return DiskCache(root)


def folder_of(cache, key=KEY, group=None):
    group = group or key
    return Path(cache.root, "v1", group[:2], group, key)


def drafts(cache):
    return list(Path(cache.root, "v1", "tmp").iterdir())


def silently(call, *args, **kwargs):
    """Call something that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call(*args, **kwargs)


# The cache needs nothing else of the package, whose __init__ would import torch in each child.
PRELUDE = """
import hashlib, json, os, pathlib, random, resource, shutil, signal, sys, threading, time, warnings
import grp, pwd, types
package = types.ModuleType("npaccel")
package.__path__ = [os.environ["NPACCEL_SOURCE"]]
sys.modules["npaccel"] = package
from npaccel._cache.store import DiskCache, cache_key, default_cache
KEYS = [cache_key(str(i)) for i in range(1000)]

def content(key):
    return (key * 500).encode()

def fork(work, *args):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(*args)
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid

def wait(pids):
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
"""


def in_child(code, *args, env=None):
    """Run code in a fresh interpreter, warnings being errors there too; return what it prints.

    The children of a test are forked by that interpreter, which has no threads yet.
    """
    source = str(Path(npaccel.__file__).parent)
    environment = os.environ | {"NPACCEL_SOURCE": source} | (env or {})
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + textwrap.dedent(code), *map(str, args)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def truncate(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-1])


def flip(folder, name):
    path = folder / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def extend(folder, name):
    with (folder / name).open("ab") as file:
        file.write(b"\n")


def link(folder, name):
    target = folder.parent / "target"
    (folder / name).rename(target)
    (folder / name).symlink_to(target)


def pipe(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)


def make_dir(folder, name):
    (folder / name).unlink()
    (folder / name).mkdir()


def open_to_all(folder, name):
    (folder / name).chmod(0o606)


def open_to_group(folder, name):
    (folder / name).chmod(0o620)


def remove(folder, name):
    (folder / name).unlink()


def numbered(count):
    return [cache_key("number", str(i)) for i in range(count)]
