"""The command ``npaccel``: what it prints, what it exits with."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import npaccel
from npaccel._cache import cache_warnings
from npaccel._cache.store import DiskCache, cache_key
from npaccel._tools import cli, info
from npaccel._version import __version__

KEY, OTHER = cache_key("key"), cache_key("other")
POSIX = pytest.mark.skipif(os.name == "nt", reason="owner and mode are POSIX's")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return the cache that the command finds."""
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "cache"))
    cache_warnings._said.clear()
    return DiskCache(tmp_path / "cache")


def run(*args):
    return CliRunner().invoke(cli.main, args)


def rows(output):
    """Return the table that `cache info` prints."""
    return dict(line.split(maxsplit=1) for line in output.splitlines())


def flip_last_byte(cache, key):
    path = cache.load(key).path("kernel.so")
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    return path


def test_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"npaccel, version {__version__}\n")


@pytest.mark.parametrize("args", [("--help",), ("-h",), ("cache", "-h"), ("cache", "clear", "-h")])
def test_help(args):
    result = run(*args)
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_every_command_says_what_it_does():
    commands = [cli.main, *cli.main.commands.values(), *cli.cache.commands.values()]
    assert set(cli.cache.commands) == {"info", "clear", "verify"}
    assert all(command.get_short_help_str() for command in commands)


@pytest.mark.parametrize("args", [("nothing",), ("cache", "nothing"), ("cache", "info", "--no")])
def test_what_it_does_not_know_exits_with_2(args):
    assert run(*args).exit_code == 2


def test_info_of_an_empty_cache_makes_no_folder(cache):
    result = run("cache", "info")
    assert result.exit_code == 0
    assert rows(result.output) == {
        "folder": str(cache.root),
        "state": "on",
        "entries": "0 of 0 functions",
        "size": "0 bytes of at most 2.0 GiB",
        "scratch": "0 bytes of the compiler's own files",
    }
    assert not cache.root.exists()


def test_info_counts(cache, monkeypatch):
    cache.store(KEY, {"kernel.so": bytes(3 << 20)}, group=KEY)
    cache.store(OTHER, {"kernel.so": b"x"}, group=KEY)
    Path(cache.scratch_dir("headers"), "h.gch").write_bytes(bytes(2048))
    monkeypatch.setenv("NPACCEL_CACHE_MAX_BYTES", "10000000")
    table = rows(run("cache", "info").output)
    assert table["entries"] == "2 of 1 function"
    assert table["size"] == "3.0 MiB of at most 9.5 MiB"
    assert table["scratch"].startswith("2.0 KiB")


def test_info_says_that_the_cache_is_off(cache, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE", "0")
    assert rows(run("cache", "info").output)["state"] == "off (NPACCEL_CACHE)"


def test_clear(cache):
    cache.store(KEY, {"kernel.so": b"x"})
    assert run("cache", "clear").output == f"removed 1 entry from {cache.root}\n"
    assert cache.load(KEY) is None
    assert run("cache", "clear").output == f"removed 0 entries from {cache.root}\n"


def test_clear_leaves_scratch_unless_asked(cache):
    cache.store(KEY, {"kernel.so": b"x"})
    scratch = cache.scratch_dir("headers")
    assert run("cache", "clear").exit_code == 0
    assert scratch.exists()
    assert run("cache", "clear", "--scratch").exit_code == 0
    assert not scratch.exists()


def test_verify_of_a_good_cache_exits_with_0(cache):
    cache.store(KEY, {"kernel.so": b"x"})
    result = run("cache", "verify")
    assert (result.exit_code, result.output) == (0, "all entries are good\n")


def test_verify_of_a_bad_cache_exits_with_1_and_mends_it(cache):
    cache.store(KEY, {"kernel.so": b"x"})
    cache.store(OTHER, {"kernel.so": b"x"})
    bad = flip_last_byte(cache, KEY)
    result = run("cache", "verify")
    text = f"{bad.parent}: kernel.so differs from what was stored (removed)\n"
    assert (result.exit_code, result.output) == (1, text)
    assert run("cache", "verify").exit_code == 0
    assert cache.load(OTHER).verify()


@POSIX
def test_a_refused_folder_is_named_and_left_alone(cache):
    cache.store(KEY, {"kernel.so": b"x"})
    cache.root.chmod(0o777)
    cause = f"{cache.root} may be written by other users"
    info, clear, verify = (run("cache", name) for name in ("info", "clear", "verify"))
    assert info.exit_code == 0
    assert cause in rows(info.output)["state"]
    assert clear.exit_code == verify.exit_code == 1
    assert "nothing was removed" in clear.output
    assert cause in clear.output
    assert cause in verify.output
    cache.root.chmod(0o700)
    assert cache.load(KEY).verify()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KiB"),
        (5 << 20, "5.0 MiB"),
        (3 << 40, "3072.0 GiB"),
    ],
)
def test_sizes(number, text):
    assert info.size(number) == text


def test_python_m_npaccel(cache):
    environment = os.environ | {"PYTHONPATH": str(Path(npaccel.__file__).parent.parent)}
    command = [sys.executable, "-m", "npaccel", "cache", "info"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert rows(done.stdout)["folder"] == str(cache.root)
    assert not done.stderr


def test_python_m_npaccel_calls_itself_by_its_name(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["__main__.py", "--help"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("npaccel", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: npaccel [OPTIONS]")
