"""Disks without room, cold and warm: compiled elsewhere or in NumPy, and told of; no error."""

import os
import subprocess
import sys

import children
import pytest
from sweep import FULL

import npaccel

pytestmark = pytest.mark.inductor

SCRIPT = """
import resource, subprocess, ctypes
import numpy as np

def limited(nbytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))

def mounted(size, *folders):
    assert ctypes.CDLL(None).unshare(0x00020000) == 0  # CLONE_NEWNS
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in folders:
        options = f"size={size},mode=1777"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)

def filled(*folders):
    for folder in folders:
        with open(f"{folder}/filling", "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass

ALL = ("/tmp", "/var/tmp", "/dev/shm")
cache = os.environ["NPACCEL_CACHE_DIR"]
import npaccel

def compiled(k):
    x = np.linspace(0.0, 6.0, 1000)
    jitted = npaccel.jit(lambda x: np.sin(x) * k + 1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        equal = bool(np.allclose(jitted(x), np.sin(x) * k + 1, rtol=1e-13))
    kinds = [type(w.message).__name__ for w in said]
    return equal, len(jitted.report().graphs), kinds, [str(w.message) for w in said]
"""

#: What becomes of the disks, and whether kernels are compiled then. Each is told of once.
CASES = {
    "memory has room": ("mounted('8m', *ALL[:2]); filled(*ALL[:2])", True),
    "no room for the header": ("mounted('8m', *ALL)", True),
    "no room anywhere": ("mounted('4m', *ALL); filled(*ALL)", False),
    "no code may run there": ("mounted('256m,noexec', *ALL[:2]); filled()", True),
    "files of 2 MB": ("limited(2 << 20)", True),
    "files of 10 kB": ("limited(10_000)", False),
}
PAIRS = [(case, state) for case in CASES for state in ("cold", "warm")]


def may_mount():
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    if any(path.startswith(("/tmp/", "/var/tmp/")) for path in (npaccel.__file__, sys.prefix)):
        return False  # They would be hidden.
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("case", "state"), PAIRS if FULL else PAIRS[2::7])
def test_a_disk_without_room(tmp_path, case, state):
    happens, is_compiled = CASES[case]
    if "mounted" in happens and not may_mount():
        pytest.skip("only root can mount disks here")
    own = {"NPACCEL_CACHE_DIR": "/tmp/cache", "TORCHINDUCTOR_CACHE_DIR": "/tmp/torch"}
    if "limited" in happens:
        own = {"NPACCEL_CACHE_DIR": f"{tmp_path}/cache", "TORCHINDUCTOR_CACHE_DIR": f"{tmp_path}/t"}
    if state == "warm":  # One function is there already when it happens.
        mounts, _, fills = happens.partition("; ")
        happens = f"{mounts}; compiled(2.5); {fills}" if fills else f"{happens}; compiled(2.5)"
    script = (
        f"{SCRIPT}\n{happens}\nanswer(new=compiled(3.5), other=compiled(4.5), old=compiled(2.5))"
    )
    found = children.run_prepared(script, OMP_NUM_THREADS="1", **own)
    for name, (equal, count, _, _) in found.items():
        assert equal
        was_there = name == "old" and state == "warm" and "filled" in happens
        assert count == (1 if is_compiled or was_there else 0)
    kinds = [kind for _, _, kinds, _ in found.values() for kind in kinds]
    assert kinds.count("CacheWarning") <= 1
    texts = [text for *_, texts in found.values() for text in texts]
    if state == "cold":
        causes = ("No space left", "File too large", "noexec")
        assert any(cause in text for cause in causes for text in texts)
        assert not any("backend=" in text for text in texts)
