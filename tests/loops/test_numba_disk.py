"""Compiled loop nests on disk: found again by other processes, and by nobody else's leave."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")


@pytest.fixture(scope="module")
def server():
    """Start an interpreter that runs code in processes of its own; see `kept_nests.serve`."""
    command = [sys.executable, "-c", "import kept_nests; kept_nests.serve()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), text=True, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def in_child(server, tmp_path):
    """Return what runs code in a process with a cache folder of its own."""

    def run(code, **variables):
        variables["NPACCEL_CACHE_DIR"] = str(tmp_path / "cache")
        server.stdin.write(json.dumps([textwrap.dedent(code), variables]) + "\n")
        server.stdin.flush()
        assert server.stdout.readline() == "0\n", "stderr says what failed"

    return run


def environment():
    """Return environment variables for an interpreter that finds this folder's modules."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def test_another_process_compiles_nothing_and_answers_alike(tmp_path):
    """Functions of the user's, of libm, complex numbers, several outputs, exceptions and lines."""
    compiled = "assert [compilations(check_all), len(payloads())] == [len(CALLS)] * 2"
    found = "assert compilations(check_all) == 0"
    for seed, code in (("0", f"{compiled}; {found}"), ("5", found)):
        subprocess.run(
            [sys.executable, "-c", f"from kept_nests import *; {code}"],
            env=environment()
            | {"NPACCEL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONHASHSEED": seed},
            timeout=200,
            check=True,
        )


def test_jit_keeps_nests_unless_told_not_to(in_child):
    in_child("""
    assert compilations(lambda: jitted(cache=False)) == 1
    assert payloads() == []
    assert compilations(jitted) == 1
    assert compilations(jitted) == 0
    assert compilations(lambda: jitted(cache=False)) == 1
    """)


def test_one_text_for_several_types_and_constants(in_child):
    in_child("""
    assert compilations(check_layouts, [0, 1, 2]) == 3
    assert compilations(check_layouts, [2, 0, 1]) == 0
    assert compilations(check_scaled, "f8", 2.5) == 1
    assert compilations(check_scaled, "f4") == 1
    assert compilations(check_scaled, "f8", 2.5) == 0
    assert compilations(check_scaled) == 0
    assert len(payloads()) == 5
    """)


def test_names_that_numba_renumbers_in_each_process(in_child):
    in_child("""
    assert compilations(check_large, 0.5) == 1
    assert compilations(lambda: [check_large(1.5), check_large(0.5)]) == 1
    assert compilations(lambda: [check_large(0.5), check_large(2.5)]) == 1
    assert compilations(lambda: [check_large(rate) for rate in (2.5, 0.5, 1.5)]) == 0
    """)


def test_what_another_numba_or_processor_made_is_not_loaded(in_child):
    in_child("""
    import llvmlite, numba
    from numba.core import registry

    def count(module=None, name="", value=None):
        def work():
            if module is not None:
                setattr(module, name, value)
            check_scaled()
        return compilations(work)

    codegen = type(registry.cpu_target.target_context.codegen())
    triple, cpu, features = registry.cpu_target.target_context.codegen().magic_tuple()
    assert count() == 1
    assert count(numba, "__version__", "0.0.1") == 1
    assert count(llvmlite, "__version__", "0.0.1") == 1
    assert count(codegen, "magic_tuple", lambda self: (triple, "other", features)) == 1
    assert count(codegen, "magic_tuple", lambda self: (triple, cpu, features + ",+other")) == 1
    assert count(numba.config, "LOOP_VECTORIZE", 0) == 1
    assert count(numba.config, "NUMBA_NUM_THREADS", 1) == 0
    assert count() == 0
    """)


def test_damaged_code_is_replaced(in_child):
    in_child("""
    def count():
        found, warned, _ = apart(check_scaled)
        return found, [text for text in warned if "dropped" in text]

    assert count() == (1, [])
    def flipped(data):
        return data[:99] + bytes([data[99] ^ 1]) + data[100:]

    for damage in (lambda data: data[:-1], lambda data: b"", flipped):
        [path] = payloads()
        path.write_bytes(damage(path.read_bytes()))
        found, warned = count()
        assert (found, len(warned)) == (1, 1)
        assert count() == (0, [])

    # What is as it was written, but not what this Numba reads.
    from npaccel._cache.entry import bound
    from npaccel._cache.store import default_cache
    [path] = payloads()
    group, key = path.parts[-3:-1]
    for files, metadata in (
        ({"nest.pickle": b"cos\\nnothing\\n."}, {"symbols": []}),
        ({"nest.pickle": b"N."}, {"symbols": []}),
        ({"nest.pickle": path.read_bytes()}, {}),
        ({"other": b""}, {"symbols": []}),
    ):
        default_cache().clear()
        code = files.get("nest.pickle", b"")
        default_cache().store(key, files, bound(metadata, code), group=group)
        found, warned = count()
        assert (found, len(warned)) == (1, 1)
        reason = "it can't be loaded" if code else "its metadata isn't what was written"
        assert reason in warned[0]
        assert count() == (0, [])

    # Code that takes a name that nobody has: it's compiled, without a word.
    good = payloads()[0].read_bytes()
    default_cache().clear()
    metadata = bound({"symbols": ["nobody"]}, good)
    default_cache().store(key, {"nest.pickle": good}, metadata, group=group)
    assert count() == (1, [])
    """)


def test_a_folder_that_others_can_write_is_refused(in_child, tmp_path):
    in_child("""
    assert compilations(check_scaled) == 1
    [path] = payloads()
    path.chmod(0o606)
    count, [warned], _ = apart(check_scaled)
    assert count == 1 and "may be written by other users" in warned
    assert compilations(check_scaled) == 0
    root = Path(os.environ["NPACCEL_CACHE_DIR"])
    root.chmod(0o707)
    count, [warned], _ = apart(check_scaled)
    assert count == 1 and "may be written by other users" in warned
    """)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o707


def test_no_cache_no_files(in_child, tmp_path):
    code = """
    assert compilations(lambda: check_scaled(cache={cache})) == 1
    assert compilations(lambda: check_scaled(cache={cache})) == 1
    """
    in_child(code.format(cache=True), NPACCEL_CACHE="0")
    in_child(code.format(cache=False))
    assert not (tmp_path / "cache").exists()


def test_a_full_disk_and_a_small_limit(in_child):
    in_child("""
    import errno
    from npaccel._cache import secure_files as _cache_security

    def full(*args):
        raise OSError(errno.ENOSPC, "no space left")

    def work():
        _cache_security.write_file = full
        check_scaled()

    count, [warned], _ = apart(work)
    assert count == 1 and "no space left" in warned
    assert payloads() == []
    """)
    in_child(
        """
    for kind in ("f8", "f4", "i2", "i4", "u2", "u4"):
        assert compilations(check_scaled, kind) == 1
    assert 1 <= len(payloads()) < 6
    assert sum(path.stat().st_size for path in payloads()) <= 150000
    """,
        NPACCEL_CACHE_MAX_BYTES="150000",
    )


def test_processes_at_once(in_child):
    in_child("""
    from npaccel._cache.store import default_cache

    names = ["scaled", "outputs", "growing"]
    waits = [begin(check_some, *names[i:], *names[:i]) for i in range(3)]
    assert [wait()[1] for wait in waits] == [[]] * 3
    assert len(payloads()) == 3
    assert compilations(check_some, *names) == 0
    assert default_cache().verify() == []
    """)


def test_a_numba_that_cannot_be_kept_compiles_as_before(in_child):
    in_child("""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompileResult

    def without(name):
        delattr(CompileResult, name)
        check_scaled()

    def changed(*names):
        def fail(*args):
            raise TypeError("changed")
        for name in names:
            setattr(CompileResult, name, fail)
        check_scaled()
        check_scaled("f4")

    def with_strange_names():
        real = JITCodeLibrary.get_defined_functions
        class Strange:
            name = "of_somebody_else"
        JITCodeLibrary.get_defined_functions = lambda self: [*real(self), Strange]
        check_scaled()

    assert compilations(without, "_reduce") == 1
    assert compilations(with_strange_names) == 1
    count, [warned], _ = apart(changed, "_reduce")
    assert count == 2 and "TypeError: changed" in warned
    assert payloads() == []

    assert compilations(check_scaled) == 1
    count, [warned], _ = apart(changed, "_rebuild")
    assert count == 2 and "TypeError: changed" in warned
    """)


def test_the_command_counts_and_clears_them(in_child):
    in_child("""
    from click.testing import CliRunner
    from npaccel._tools.cli import main

    def shown(command):
        return CliRunner().invoke(main, ["cache", command]).output

    assert compilations(check_scaled) == 1
    assert "1 of 1 function" in shown("info")
    assert "all entries are good" in shown("verify")
    assert "removed 1 entry" in shown("clear")
    assert payloads() == []
    assert compilations(check_scaled) == 1
    """)
