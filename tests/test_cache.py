"""The store of compiled artifacts: what it keeps, what it refuses, what happens in a race."""

import errno
import gc
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import npaccel
from npaccel import _cache, _cache_security, _cache_warnings
from npaccel._cache import DiskCache, cache_key, default_cache, scratch_dir
from npaccel.errors import CacheError, CacheWarning

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
    _cache_warnings._said.clear()


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
from npaccel._cache import DiskCache, cache_key, default_cache
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


# Keys


parts = st.lists(st.text() | st.binary(), max_size=4).map(tuple)


@given(parts, parts)
def test_keys_are_equal_only_for_equal_parts(one, two):
    assert (cache_key(*one) == cache_key(*two)) == (one == two)


def test_parts_do_not_run_together():
    keys = [cache_key(*p) for p in [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (b"abc",)]]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)


def test_a_part_of_another_type_is_refused():
    with pytest.raises(TypeError, match="must be str or bytes, not int"):
        cache_key("a", 1)


# Storing and finding

names = st.from_regex(r"[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,20}", fullmatch=True).filter(
    lambda name: name != "index.json"
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.dictionaries(names, st.binary(max_size=100), max_size=3),
    metadata=st.dictionaries(st.text(), json_values, max_size=3),
)
def test_what_is_stored_is_found(tmp_path, files, metadata):
    cache = DiskCache(tempfile.mkdtemp(dir=tmp_path))
    stored = cache.store(KEY, files, metadata, group=GROUP)
    found = DiskCache(cache.root).load(KEY, group=GROUP)
    for entry in (stored, found):
        assert {name: entry.read(name) for name in entry.names} == files
        assert {name: entry.path(name).read_bytes() for name in entry.names} == files
        assert entry.metadata == metadata
        assert (entry.group, entry.key) == (GROUP, KEY)
        assert entry.nbytes == sum(map(len, files.values()))
        assert abs(entry.created - time.time()) < 60


def test_files_can_be_copied_from_paths(cache, tmp_path):
    source = tmp_path / "built.so"
    source.write_bytes(os.urandom(3 << 20))
    entry = cache.store(KEY, {"kernel.so": source, "text": str(source)})
    assert entry.read("kernel.so") == entry.read("text") == source.read_bytes()


def test_a_miss_says_nothing_and_makes_nothing(cache, root):
    assert silently(cache.load, KEY) is None
    assert silently(cache.load_group, GROUP) == []
    assert not root.exists()
    cache.store(KEY, FILES)
    assert silently(cache.load, OTHER) is None
    assert silently(cache.load, KEY, group=OTHER) is None


def test_variants_of_a_group_come_newest_first(cache):
    keys = [cache_key("variant", str(i)) for i in range(5)]
    for i, key in enumerate(keys):
        cache.store(key, FILES, {"number": i}, group=GROUP)
        time.sleep(0.002)
    cache.store(OTHER, FILES)
    entries = cache.load_group(GROUP)
    assert [entry.metadata["number"] for entry in entries] == [4, 3, 2, 1, 0]
    assert [entry.key for entry in entries] == keys[::-1]


def test_a_group_is_read_without_its_payload(cache):
    cache.store(KEY, FILES, {"guard": 1}, group=GROUP)
    folder = folder_of(cache, KEY, GROUP)
    Path(folder, "kernel.so").write_bytes(b"damaged")
    (entry,) = silently(cache.load_group, GROUP)
    assert entry.metadata == {"guard": 1}
    with pytest.warns(CacheWarning, match="kernel.so has 7 bytes instead of 260"):
        assert not entry.verify()
    with pytest.raises(CacheError, match="damaged or gone"):
        entry.path("kernel.so")
    assert not folder.exists()


def test_a_damaged_index_in_a_group_spares_the_others(cache):
    cache.store(KEY, FILES, group=GROUP)
    cache.store(OTHER, FILES, group=GROUP)
    Path(folder_of(cache, KEY, GROUP), "index.json").write_bytes(b"{}")
    with pytest.warns(CacheWarning, match="index.json is damaged"):
        entries = cache.load_group(GROUP)
    assert [entry.key for entry in entries] == [OTHER]


def test_the_first_to_store_wins(cache):
    cache.store(KEY, FILES, {"by": "first"})
    entry = cache.store(KEY, FILES, {"by": "second"})
    assert entry.metadata == {"by": "first"}
    assert drafts(cache) == []


@pytest.mark.parametrize("key", ["", "ab", KEY.upper(), "g" * 64, "../" + KEY[3:], KEY + "0"])
def test_a_malformed_key_is_the_callers_error(cache, key):
    for call in (cache.load, cache.load_group, lambda key: cache.store(key, FILES)):
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            call(key)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", ".a", "index.json", "ä", "a\0", "a b"]
)
def test_a_malformed_file_name_is_the_callers_error(cache, name):
    with pytest.raises(ValueError, match="a file name in the cache"):
        cache.store(KEY, {name: b""})
    with pytest.raises(ValueError, match="a file name in the cache"):
        cache.scratch_dir(name)


def test_metadata_that_json_cannot_hold_is_the_callers_error(cache, root):
    with pytest.raises(TypeError, match="not JSON serializable"):
        cache.store(KEY, FILES, {"x": object()})
    assert not root.exists()


def test_unknown_payload_names_raise_key_error(cache):
    entry = cache.store(KEY, FILES)
    for call in (entry.path, entry.read):
        with pytest.raises(KeyError, match="nothing"):
            call("nothing")


def test_the_index_is_json_that_others_can_read(cache):
    cache.store(KEY, FILES, {"a": [1]})
    index = json.loads(Path(folder_of(cache), "index.json").read_bytes())["index"]
    assert index["metadata"] == {"a": [1]}
    assert index["files"]["extra.bin"][0] == 1


@POSIX
def test_only_the_user_may_read_or_write_what_is_made(tmp_path):
    old = os.umask(0)
    try:
        cache = DiskCache(tmp_path / "a" / "b" / "cache")
        cache.store(KEY, FILES)
        cache.scratch_dir("headers")
    finally:
        os.umask(old)
    for path in Path(tmp_path, "a").rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(Path(tmp_path, "a").stat().st_mode) == 0o700


# Damage


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


DAMAGE = {
    truncate: {"kernel.so": "kernel.so has 259 bytes instead of 260", "index.json": "is damaged"},
    flip: {"kernel.so": "differs from what was stored", "index.json": "is damaged"},
    extend: {"kernel.so": "kernel.so has 261 bytes", "index.json": "is damaged"},
    link: dict.fromkeys(("kernel.so", "index.json"), "is a symbolic link"),
    pipe: dict.fromkeys(("kernel.so", "index.json"), "is not a plain file"),
    make_dir: dict.fromkeys(("kernel.so", "index.json"), "is not a plain file"),
    open_to_all: dict.fromkeys(("kernel.so", "index.json"), "may be written by other users"),
    open_to_group: dict.fromkeys(("kernel.so", "index.json"), "may be written by other users"),
    remove: {"kernel.so": "kernel.so is missing", "index.json": "its index is missing"},
}


@POSIX
@pytest.mark.parametrize("name", ["kernel.so", "index.json"])
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_entry_is_dropped_and_built_again(cache, damage, name):
    cache.store(KEY, FILES)
    folder = folder_of(cache)
    damage(folder, name)
    with pytest.warns(CacheWarning, match=DAMAGE[damage][name]) as record:
        assert cache.load(KEY) is None
    assert len(record) == 1
    assert str(folder) in str(record[0].message)
    assert record[0].filename == __file__
    assert not folder.exists()
    assert silently(cache.load, KEY) is None
    assert silently(cache.store, KEY, FILES).read("kernel.so") == FILES["kernel.so"]
    assert silently(cache.load, KEY).read("extra.bin") == b"x"


@POSIX
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_entry_is_replaced_by_a_store(cache, damage):
    cache.store(KEY, FILES, {"old": True})
    damage(folder_of(cache), "kernel.so")
    with pytest.warns(CacheWarning, match=DAMAGE[damage]["kernel.so"]):
        entry = cache.store(KEY, FILES, {"old": False})
    assert entry.metadata == {"old": False}
    assert entry.verify()


@POSIX
def test_what_a_link_points_to_is_spared(cache, tmp_path):
    cache.store(KEY, FILES)
    folder = folder_of(cache)
    target = tmp_path / "elsewhere"
    folder.rename(target)
    folder.symlink_to(target)
    with pytest.warns(CacheWarning, match="is a symbolic link"):
        assert cache.load(KEY) is None
    assert not folder.is_symlink()
    assert (target / "kernel.so").exists()
    assert cache.store(KEY, FILES).verify()


@POSIX
@pytest.mark.parametrize("kind", ["file", "empty", "writable"])
def test_an_entry_of_another_kind_is_replaced(cache, kind):
    folder = folder_of(cache)
    if kind == "writable":
        cache.store(KEY, FILES)
        folder.chmod(0o777)
    else:
        cache.store(OTHER, FILES)
        folder.parent.mkdir(0o700, parents=True)
        folder.parent.parent.chmod(0o700)
        folder.write_bytes(b"") if kind == "file" else folder.mkdir(0o700)
    cause = {"file": "is not a folder", "empty": "index is missing", "writable": "mode 777"}[kind]
    with pytest.warns(CacheWarning, match=cause):
        assert cache.load(KEY) is None
    assert silently(cache.store, KEY, FILES).verify()


def test_an_entry_under_another_name_is_not_taken(cache):
    cache.store(KEY, FILES)
    folder_of(cache, OTHER).parent.mkdir(0o700, parents=True)
    folder_of(cache, OTHER).parent.parent.chmod(0o700)
    shutil.copytree(folder_of(cache), folder_of(cache, OTHER))
    with pytest.warns(CacheWarning, match="of another entry"):
        assert cache.load(OTHER) is None
    assert cache.load(KEY).verify()


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    cache = DiskCache(tmp_path_factory.mktemp("pristine") / "cache")
    cache.store(KEY, FILES, {"guards": ["float32", 3]})
    return cache


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_change_of_any_byte_goes_unseen(pristine, data):
    name = data.draw(st.sampled_from([*FILES, "index.json"]))
    before = Path(folder_of(pristine), name).read_bytes()
    place = data.draw(st.integers(0, len(before) - 1))
    after = bytearray(before)
    after[place] ^= data.draw(st.integers(1, 255))
    cache = DiskCache(tempfile.mkdtemp())
    try:
        shutil.copytree(Path(pristine.root, "v1"), Path(cache.root, "v1"))
        Path(folder_of(cache), name).write_bytes(after)
        with pytest.warns(CacheWarning, match="was dropped"):
            assert cache.load(KEY) is None
    finally:
        shutil.rmtree(cache.root)


@ROOT
@pytest.mark.parametrize("name", ["kernel.so", "index.json"])
def test_a_file_of_another_user_is_dropped(cache, name):
    cache.store(KEY, FILES)
    os.chown(folder_of(cache) / name, NOBODY, NOBODY)
    with pytest.warns(CacheWarning, match=f"{name} belongs to user {NOBODY}, not to user 0"):
        assert cache.load(KEY) is None
    assert not folder_of(cache).exists()


@ROOT
def test_an_entry_of_another_user_is_left_to_him(cache):
    cache.store(KEY, FILES)
    os.chown(folder_of(cache), NOBODY, NOBODY)
    for call in (lambda: cache.load(KEY), lambda: cache.store(KEY, FILES)):
        with pytest.warns(CacheWarning, match="remove it by hand"):
            assert call() is None
    assert folder_of(cache).exists()
    assert drafts(cache) == []


# Folders that others could change


def refused(cache, match):
    """Check that a cache is refused with one warning, and that nothing raises."""
    with pytest.warns(CacheWarning, match=match) as record:
        assert cache.store(KEY, FILES) is None
    assert len(record) == 1
    assert record[0].filename == __file__
    assert "NPACCEL_CACHE_DIR" in str(record[0].message)
    for call in (lambda: cache.store(KEY, FILES), lambda: cache.scratch_dir("x")):
        assert silently(call) is None
    assert cache.info().problem in str(record[0].message)


@POSIX
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_refused(cache, root, mode):
    root.mkdir()
    root.chmod(mode)
    refused(cache, "may be written by other users")
    assert list(root.iterdir()) == []


@POSIX
def test_a_stored_entry_is_not_loaded_from_an_opened_folder(cache, root):
    cache.store(KEY, FILES)
    root.chmod(0o777)
    with pytest.warns(CacheWarning, match="may be written by other users"):
        assert cache.load(KEY) is None
    assert silently(cache.load_group, KEY) == []
    assert folder_of(cache).exists()
    root.chmod(0o755)
    assert cache.load(KEY).verify()


@POSIX
@pytest.mark.parametrize("level", range(1, 4))
def test_an_opened_folder_within_the_cache_is_refused(cache, level):
    cache.store(KEY, FILES)
    folder_of(cache).parents[level - 1].chmod(0o777)
    with pytest.warns(CacheWarning, match="mode 777"):
        assert cache.load(KEY) is None
    assert silently(cache.store, KEY, FILES) is None


@POSIX
def test_a_parent_that_others_can_write_is_refused(tmp_path):
    tmp_path.joinpath("shared").mkdir()
    tmp_path.joinpath("shared").chmod(0o777)
    refused(DiskCache(tmp_path / "shared" / "cache"), "shared may be written by other users")


@POSIX
def test_a_sticky_parent_will_do(tmp_path):
    tmp_path.joinpath("shared").mkdir()
    tmp_path.joinpath("shared").chmod(0o1777)
    assert silently(DiskCache(tmp_path / "shared" / "cache").store, KEY, FILES).verify()


@ROOT
@pytest.mark.parametrize(("gid", "safe"), [(0, True), (NOBODY, False)])
def test_a_parent_that_a_group_can_write_depends_on_the_group(tmp_path, gid, safe):
    parent = tmp_path / "shared"
    parent.mkdir()
    os.chown(parent, 0, gid)
    parent.chmod(0o775)
    cache = DiskCache(parent / "cache")
    if safe:
        assert silently(cache.store, KEY, FILES).verify()
    else:
        refused(cache, "shared may be written by other users")


@POSIX
@pytest.mark.parametrize(
    ("name", "members", "private"),
    [("me", [], True), ("me", ["me"], True), ("me", ["me", "you"], False), ("us", [], False)],
)
def test_a_group_is_private_if_it_is_the_users_own(monkeypatch, name, members, private):
    import grp
    import pwd

    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group((name, "x", gid, members)))
    user = pwd.struct_passwd(("me", "x", 7, 7, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    assert _cache_security._private_group(1234) is private


@POSIX
def test_a_group_without_a_name_is_private_by_its_number(monkeypatch):
    import grp

    monkeypatch.setattr(grp, "getgrgid", lambda gid: {}[gid])
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert _cache_security._private_group(4321)
    assert not _cache_security._private_group(4322)


@POSIX
def test_links_are_followed_and_judged_by_where_they_lead(tmp_path, cache):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir(0o700)
    bad.mkdir()
    bad.chmod(0o777)
    (tmp_path / "to-good").symlink_to("good")
    (tmp_path / "to-bad").symlink_to(bad)
    (tmp_path / "loop").symlink_to("loop")
    entry = DiskCache(tmp_path / "to-good").store(KEY, FILES)
    assert entry.folder == str(folder_of(DiskCache(good.resolve())))
    assert DiskCache(tmp_path / "to-good" / ".." / "good").load(KEY).verify()
    refused(DiskCache(tmp_path / "to-bad"), "bad may be written by other users")
    refused(DiskCache(tmp_path / "to-bad" / "cache"), "bad may be written by other users")
    refused(DiskCache(tmp_path / "loop"), "in a loop of symbolic links")


@POSIX
def test_a_link_to_nothing_makes_the_folder(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert DiskCache(tmp_path / "link").store(KEY, FILES).verify()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_a_file_in_the_folders_place_is_refused(cache, root):
    root.write_bytes(b"")
    refused(cache, "is not a folder")


@ROOT
def test_a_folder_of_another_user_is_refused(cache, root):
    root.mkdir(0o700)
    os.chown(root, NOBODY, NOBODY)
    refused(cache, f"belongs to user {NOBODY}")


@ROOT
def test_a_parent_of_another_user_is_refused(tmp_path):
    tmp_path.joinpath("his").mkdir(0o755)
    os.chown(tmp_path / "his", NOBODY, NOBODY)
    refused(DiskCache(tmp_path / "his" / "cache"), f"his belongs to user {NOBODY}")


@ROOT
def test_a_link_of_another_user_is_refused(tmp_path):
    tmp_path.joinpath("mine").mkdir(0o700)
    link = tmp_path / "his"
    link.symlink_to("mine")
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    refused(DiskCache(link), f"is a symbolic link of user {NOBODY}")


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    import platformdirs

    monkeypatch.delenv("NPACCEL_CACHE_DIR")
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *a, **k: "~/.cache/npaccel")
    with pytest.warns(CacheWarning, match="no home folder"):
        assert DiskCache().store(KEY, FILES) is None
    assert not Path("~").exists()


NEWCOMER = """
home = sys.argv[1]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = []
for folder in ("own", "roots", "closed/cache", "closed"):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        cache = DiskCache(os.path.join(home, folder))
        entries = [cache.store(KEYS[0], {"a": b"1"}) for _ in range(3)]
        found.append([entries[0] is not None, [str(w.message) for w in record]])
print(json.dumps(found))
"""


@ROOT
def test_a_user_who_is_not_root():
    home = Path(tempfile.mkdtemp())
    try:
        home.chmod(0o755)
        for name, uid, mode in [("own", NOBODY, 0o700), ("roots", 0, 0o777), ("closed", NOBODY, 0)]:
            (home / name).mkdir()
            os.chown(home / name, uid, uid)
            (home / name).chmod(mode)
        (home / "closed").chmod(0o500)
        own, roots, closed, readonly = in_child(NEWCOMER, home)
        assert own == [True, []]
        assert roots[0] is False
        assert "roots may be written" in roots[1][0]
        assert len(roots[1]) == 1
        assert closed[0] is readonly[0] is False
        assert "Permission denied" in closed[1][0]
        assert len(closed[1]) == 1
        assert readonly[1] == []  # the same cause: said once
    finally:
        shutil.rmtree(home)


READ_ONLY = """
home = sys.argv[1]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
cache = DiskCache(os.path.join(home, "cache"))
cache.store(KEYS[0], {"a": b"1"})
for here, folders, files in os.walk(home + "/cache", topdown=False):
    os.chmod(here, 0o500)
found = cache.load(KEYS[0]).read("a") == b"1"
with warnings.catch_warnings(record=True) as record:
    warnings.simplefilter("always")
    stored = [cache.store(key, {"a": b"1"}) for key in KEYS[1:4]]
print(json.dumps([found, stored, [str(w.message) for w in record]]))
"""


@ROOT
def test_a_read_only_cache_is_read():
    home = Path(tempfile.mkdtemp())
    try:
        os.chown(home, NOBODY, NOBODY)
        found, stored, messages = in_child(READ_ONLY, home)
        assert found is True
        assert stored == [None] * 3
        assert len(messages) == 1
        assert "Permission denied" in messages[0]
    finally:
        shutil.rmtree(home)


# Disks that fail


def always(*args):
    return True


def failing(code, *, only=always):
    """Return a maker of functions that fail with an errno when `only` says so."""

    def make(function):
        def fail(*args, **kwargs):
            if only(*args):
                raise OSError(code, os.strerror(code))
            return function(*args, **kwargs)

        return fail

    return make


FAILURES = [
    ("write", errno.ENOSPC, "No space left.*free some space"),
    ("write", errno.EDQUOT, "quota.*free some space"),
    ("fsync", errno.EIO, "Input/output error"),
    ("mkdir", errno.EROFS, "Read-only file system.*NPACCEL_CACHE_DIR"),
    ("mkdir", errno.EACCES, "Permission denied"),
    ("rename", errno.EACCES, "Permission denied"),
    ("open", errno.EMFILE, "Too many open files"),
]


@pytest.mark.parametrize(("name", "code", "match"), FAILURES)
def test_a_failing_disk_means_no_cache_and_one_warning(cache, monkeypatch, name, code, match):
    cache.store(OTHER, FILES)
    with monkeypatch.context() as patch:
        # Opening for reading goes on: cleaning up needs it.
        only = (lambda path, flags, *mode: flags & os.O_CREAT) if name == "open" else always
        patch.setattr(os, name, failing(code, only=only)(getattr(os, name)))
        with pytest.warns(CacheWarning, match=match) as record:
            assert cache.store(KEY, FILES) is None
        assert len(record) == 1
        assert silently(cache.store, KEY, FILES) is None
    assert drafts(cache) == []
    assert not folder_of(cache).exists()
    assert silently(cache.store, KEY, FILES).verify()


def test_a_disk_that_fills_up_in_the_middle_leaves_nothing(cache, monkeypatch):
    write, calls = os.write, []

    def fill(fd, data):
        calls.append(len(data))
        if len(calls) > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data[:100])

    cache.store(OTHER, FILES)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fill)
        with pytest.warns(CacheWarning, match="No space left"):
            assert cache.store(KEY, FILES) is None
    assert calls == [260, 160, 60, 1]
    assert drafts(cache) == []


def test_short_writes_are_continued(cache, monkeypatch):
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
        cache.store(KEY, FILES)
    assert cache.load(KEY).read("kernel.so") == FILES["kernel.so"]


def test_a_disk_that_cannot_be_read_spares_the_entry(cache, monkeypatch):
    cache.store(KEY, FILES)
    (entry,) = cache.load_group(KEY)
    fail = failing(errno.EIO, only=lambda path, *rest: str(path).endswith("kernel.so"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail(os.open))
        with pytest.warns(CacheWarning, match="Input/output error"):
            assert cache.load(KEY) is None
        assert silently(entry.verify) is False
    assert cache.load(KEY).verify()


def test_an_error_that_a_filter_makes_of_the_warning_leaves_nothing(cache, monkeypatch):
    cache.store(OTHER, FILES)
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC)(os.fsync))
    with pytest.raises(CacheWarning):
        silently(cache.store, KEY, FILES)
    assert drafts(cache) == []


def test_an_interrupt_leaves_nothing(cache, monkeypatch):
    def interrupt(fd):
        raise KeyboardInterrupt

    cache.store(OTHER, FILES)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            cache.store(KEY, FILES)
    assert drafts(cache) == []


def test_a_payload_that_is_not_there(cache, tmp_path):
    with pytest.warns(CacheWarning, match="No such file.*built.so"):
        assert cache.store(KEY, {"a": tmp_path / "built.so"}) is None


@POSIX
def test_a_limit_on_file_sizes(root):
    messages, stored, left = in_child(
        """
        cache = DiskCache(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            entries = [cache.store(key, {"a": b"x" * 2000}) for key in KEYS[:3]]
        left = os.listdir(sys.argv[1] + "/v1/tmp")
        print(json.dumps([[str(w.message) for w in record], entries, left]))
        """,
        root,
    )
    assert stored == [None] * 3
    assert left == []
    assert len(messages) == 1
    assert "File too large" in messages[0]


# Eviction


def numbered(count):
    return [cache_key("number", str(i)) for i in range(count)]


def use_at(cache, key, seconds):
    """Pretend that an entry was last used at a time."""
    os.utime(folder_of(cache, key), (seconds, seconds))


def test_the_least_recently_used_go_first(root):
    cache = DiskCache(root, max_bytes=1 << 30)
    keys = numbered(10)
    for i, key in enumerate(keys):
        cache.store(key, {"a": bytes(1000)})
        use_at(cache, key, 1000 + i)
    size = cache.info().bytes // 10
    assert cache.load(keys[0]).verify()  # now the most recent
    small = DiskCache(root, max_bytes=size * 10 + 100)
    new = cache_key("new")
    assert small.store(new, {"a": bytes(1000)}).verify()
    left = [key for key in keys if folder_of(small, key).exists()]
    assert left == [keys[0], *keys[3:]]  # 11 entries: down to 9
    assert folder_of(small, new).exists()
    assert small.info().bytes <= size * 9 + 90
    assert drafts(small) == []


def test_a_load_without_use_does_not_count(cache):
    cache.store(KEY, FILES, group=GROUP)
    folder = folder_of(cache, KEY, GROUP)
    os.utime(folder, (1000, 1000))
    (entry,) = cache.load_group(GROUP)
    assert folder.stat().st_mtime == 1000
    entry.path("kernel.so")
    assert folder.stat().st_mtime > 1000


def test_the_size_limit_holds_over_many_stores(root):
    cache = DiskCache(root, max_bytes=20_000)
    for key in numbered(60):
        assert cache.store(key, {"a": bytes(1000)}).verify()
        assert cache.info().bytes <= 20_000
    assert cache.info().entries > 8


def test_what_other_processes_add_is_counted(root):
    ours, theirs = DiskCache(root, max_bytes=20_000), DiskCache(root, max_bytes=1 << 30)
    keys = numbered(40)
    ours.store(keys[0], {"a": bytes(1000)})
    for key in keys[1:39]:
        theirs.store(key, {"a": bytes(1000)})
    assert ours.info().bytes > 40_000
    ours.store(keys[39], {"a": bytes(1300)})
    assert ours.info().bytes <= 18_000


def test_the_cache_is_not_counted_at_every_store(root, monkeypatch):
    scans = []
    monkeypatch.setattr(_cache, "iter_entries", lambda base: scans.append(base) or iter(()))
    cache = DiskCache(root)
    for key in numbered(10):
        cache.store(key, FILES)
    assert len(scans) == 1


def test_an_artifact_larger_than_the_cache_is_not_kept(root):
    cache = DiskCache(root, max_bytes=1000)
    with pytest.warns(CacheWarning, match="1001 bytes is larger.*NPACCEL_CACHE_MAX_BYTES"):
        assert cache.store(KEY, {"a": bytes(1001)}) is None
    assert not root.exists()


def test_an_entry_lost_to_another_process_is_a_miss(cache):
    cache.store(KEY, FILES, group=GROUP)
    (entry,) = cache.load_group(GROUP)
    assert DiskCache(cache.root).clear() == 1
    assert silently(entry.verify) is False
    with pytest.raises(CacheError, match="gone; build it again"):
        entry.path("kernel.so")
    with pytest.raises(CacheError, match="gone; build it again"):
        entry.read("kernel.so")
    verified = cache.store(KEY, FILES)
    assert verified.verify()
    cache.clear()
    with pytest.raises(CacheError, match="gone; build it again"):
        verified.read("kernel.so")


def test_an_entry_replaced_by_another_process_is_a_miss(cache):
    cache.store(KEY, FILES, group=GROUP)
    (entry,) = cache.load_group(GROUP)
    cache.clear()
    cache.store(KEY, {"kernel.so": b"another build", "extra.bin": b"x"}, group=GROUP)
    assert silently(entry.verify) is False
    assert cache.load(KEY, group=GROUP).verify()


def test_read_checks_the_bytes_that_it_returns(cache):
    entry = cache.store(KEY, FILES)
    assert entry.verify()
    flip(folder_of(cache), "kernel.so")
    with pytest.raises(CacheError, match=r"kernel\.so has changed"):
        entry.read("kernel.so")


# Drafts


def test_old_drafts_are_swept(cache):
    cache.store(KEY, FILES)
    trash = Path(cache.root, "v1", "tmp")
    for name, age in [("old", 3700), ("young", 3500)]:
        (trash / name).mkdir()
        (trash / name / "half").write_bytes(b"x")
        os.utime(trash / name, (time.time() - age,) * 2)
    cache.store(OTHER, FILES)
    assert [path.name for path in drafts(cache)] == ["young"]


# Races and sudden deaths

SAME_KEY = """
root = sys.argv[1]
start = time.time() + 0.3

def work(number):
    cache = DiskCache(root)
    time.sleep(start - time.time())
    for key in KEYS[:10]:
        entry = cache.store(key, {"a": content(key), "b": str(number).encode()}, {"by": number})
        assert entry.read("a") == content(key)
        assert entry.read("b") == str(entry.metadata["by"]).encode()

codes = wait([fork(work, number) for number in range(8)])
info = DiskCache(root).info()
print(json.dumps([codes, info.entries, DiskCache(root).verify(), os.listdir(root + "/v1/tmp")]))
"""


@POSIX
def test_processes_that_store_the_same_keys_at_once(root):
    codes, entries, problems, left = in_child(SAME_KEY, root)
    assert codes == [0] * 8
    assert (entries, problems, left) == (10, [], [])


MIX = """
root = sys.argv[1]
deadline = time.time() + 2.5

def work(seed):
    cache = DiskCache(root, max_bytes=400_000)  # a dozen entries of 32 kB
    choose = random.Random(seed)
    while time.time() < deadline:
        key, group = choose.choice(KEYS[:24]), choose.choice(KEYS[-3:])
        what = choose.random()
        if what < 0.4:
            entry = cache.store(key, {"a": content(key)}, {"key": key}, group=group)
        elif what < 0.8:
            entry = cache.load(key, group=group)
        elif what < 0.98:
            entry = choose.choice(cache.load_group(group) or [None])
            if entry is not None and not entry.verify():
                entry = None
        else:
            cache.clear()
            continue
        if entry is not None:
            assert entry.metadata == {"key": entry.key}
            with open(os.path.join(entry.folder, "a"), "rb") as file:
                data = file.read()
            assert data == content(entry.key)

def careful(seed):
    while time.time() < deadline:
        try:
            work(seed)
        except FileNotFoundError:  # evicted between the check and the use: to be treated as a miss
            seed += 1000

codes = wait([fork(careful, seed) for seed in range(8)])
cache = DiskCache(root, max_bytes=400_000)
cache.store(KEYS[0], {"a": content(KEYS[0])})
print(json.dumps([codes, cache.info().bytes, cache.verify(), os.listdir(root + "/v1/tmp")]))
"""


@POSIX
def test_processes_that_store_load_evict_and_clear_at_once(root):
    codes, size, problems, left = in_child(MIX, root)
    assert codes == [0] * 8
    assert size <= 400_000
    assert (problems, left) == ([], [])


KILLED = """
root, rounds = sys.argv[1], 10
choose = random.Random(1)

def work(seed):
    cache = DiskCache(root, max_bytes=2_000_000)
    while True:
        for key in KEYS[seed * 50 : seed * 50 + 50]:
            cache.store(key, {"a": content(key), "b": content(key)[:999]}, {"key": key})

found = []
for seed in range(rounds):
    pid = fork(work, seed)
    time.sleep(0.02 + 0.1 * choose.random())
    os.kill(pid, signal.SIGKILL)
    codes = wait([pid])
    cache = DiskCache(root)
    found.append([codes, cache.verify()])
entries = cache.info().entries
drafts = os.path.join(root, "v1", "tmp")
for name in os.listdir(drafts):
    os.utime(os.path.join(drafts, name), (1000, 1000))
cache.store(KEYS[-1], {"a": b""})
print(json.dumps([found, entries, os.listdir(drafts)]))
"""


@POSIX
def test_nothing_half_written_survives_a_kill(root):
    found, entries, left = in_child(KILLED, root)
    assert found == [[[-9], []]] * 10
    assert entries > 10
    assert left == []


def test_threads_that_store_the_same_key_at_once(cache):
    entries, barrier = [], threading.Barrier(8)

    def work():
        barrier.wait()
        entries.append(cache.store(KEY, FILES))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries) == 8
    assert all(entry is not None and entry.verify() for entry in entries)
    assert cache.info().entries == 1


# Forks while other threads are in the cache: a lock held in the parent would hang the child.
FORKS = """
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
stop = threading.Event()

def hammer():
    while not stop.is_set():
        os.environ["NPACCEL_CACHE_MAX_BYTES"] = str(random.randrange(10**6, 10**9))
        default_cache().store(KEYS[0], {"a": content(KEYS[0])})
        default_cache().clear()

def work(number):
    signal.alarm(20)
    key = KEYS[number + 1]
    entry = default_cache().store(key, {"a": content(key)}, group=KEYS[-1])
    if entry is not None:  # cleared by the threads
        assert entry.key == key

threads = [threading.Thread(target=hammer) for _ in range(3)]
for thread in threads:
    thread.start()
codes = [code for number in range(20) for code in wait([fork(work, number)])]
stop.set()
for thread in threads:
    thread.join()
print(json.dumps([codes, default_cache().verify()]))
"""


@POSIX
def test_a_forked_child_can_use_the_cache(root):
    codes, problems = in_child(FORKS, env={"NPACCEL_CACHE_DIR": str(root)})
    assert codes == [0] * 20
    assert problems == []


# The default cache and its settings


def test_the_default_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "one"))
    monkeypatch.setenv("NPACCEL_CACHE_MAX_BYTES", "12345")
    one = default_cache()
    assert (one.root, one.max_bytes, one.enabled) == (tmp_path / "one", 12345, True)
    assert default_cache() is one
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "two"))
    assert default_cache().root == tmp_path / "two"
    monkeypatch.delenv("NPACCEL_CACHE_MAX_BYTES")
    assert default_cache().max_bytes == 2 << 30


def test_the_users_cache_folder_is_the_default(monkeypatch):
    import platformdirs

    monkeypatch.delenv("NPACCEL_CACHE_DIR")
    assert DiskCache().root == Path(platformdirs.user_cache_dir("npaccel", appauthor=False))


def test_all_threads_get_the_same_default_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path))
    found, barrier = [], threading.Barrier(8)

    def work():
        barrier.wait()
        found.append(default_cache())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(cache) for cache in found}) == 1


@pytest.mark.parametrize("value", ["0", "false", "OFF", " no "])
def test_the_cache_can_be_switched_off(monkeypatch, root, value):
    DiskCache(root).store(KEY, FILES)
    monkeypatch.setenv("NPACCEL_CACHE", value)
    cache = DiskCache(root)
    assert not cache.enabled
    assert silently(cache.store, OTHER, FILES) is None
    assert silently(cache.load, KEY) is None
    assert silently(cache.load_group, KEY) == []
    assert silently(cache.scratch_dir, "x") is None
    assert cache.info().entries == 1
    assert cache.verify() == []
    assert cache.clear() == 1


@pytest.mark.parametrize("value", ["1", "", "true"])
def test_the_cache_is_on_otherwise(monkeypatch, root, value):
    monkeypatch.setenv("NPACCEL_CACHE", value)
    assert DiskCache(root).enabled


@pytest.mark.parametrize("value", ["-1", "0", "2GB", "1e9"])
def test_a_size_limit_that_is_no_number_is_said_once(monkeypatch, root, value):
    monkeypatch.setenv("NPACCEL_CACHE_MAX_BYTES", value)
    with pytest.warns(CacheWarning, match=f"{value!r} is not a positive number"):
        assert DiskCache(root).max_bytes == 2 << 30
    assert silently(DiskCache, root).max_bytes == 2 << 30


def test_scratch_folders(monkeypatch, cache, root, tmp_path):
    path = cache.scratch_dir("headers")
    assert path == root / "scratch" / "headers"
    (path / "big.gch").write_bytes(bytes(100))
    assert cache.scratch_dir("headers") == path
    cache.store(KEY, FILES)
    assert cache.info().scratch_bytes == 100
    assert cache.clear() == 1
    assert (path / "big.gch").exists()
    cache.clear(scratch=True)
    assert not path.exists()
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "default"))
    assert scratch_dir("a") == tmp_path / "default" / "scratch" / "a"


@POSIX
def test_a_scratch_folder_that_is_a_link_is_refused(cache, root, tmp_path):
    cache.scratch_dir("other")
    (root / "scratch" / "headers").symlink_to(tmp_path)
    with pytest.warns(CacheWarning, match="headers is a symbolic link"):
        assert cache.scratch_dir("headers") is None


# Looking after it


def test_info_of_a_cache_that_is_not_there_yet(cache, root):
    info = cache.info()
    assert info == (str(root), True, None, 0, 0, 0, 2 << 30, 0)
    assert cache.clear() == 0
    assert cache.verify() == []
    assert not root.exists()


def test_info_counts(cache):
    cache.store(KEY, FILES, group=GROUP)
    cache.store(OTHER, FILES, group=GROUP)
    cache.store(OTHER, FILES)
    info = cache.info()
    assert (info.groups, info.entries, info.problem) == (2, 3, None)
    files = [path for path in Path(cache.root).rglob("*") if path.is_file()]
    assert info.bytes == sum(path.stat().st_size for path in files)


@POSIX
def test_clear_removes_what_is_broken_but_follows_no_link(cache, root, tmp_path):
    cache.store(KEY, FILES)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"")
    prefix = next(f"{i:02x}" for i in range(256) if f"{i:02x}" != KEY[:2])
    (root / "v1" / prefix).symlink_to(outside)
    (root / "v1" / "stray").write_bytes(b"")
    assert cache.clear() == 1
    assert [path.name for path in (root / "v1").iterdir()] == ["tmp"]
    assert drafts(cache) == []
    assert (outside / "precious").exists()


def test_clear_leaves_a_store_that_is_under_way(cache, monkeypatch):
    sync = _cache_security.sync_folder
    cleared = []

    def clear_first(folder):
        sync(folder)
        cleared.append(DiskCache(cache.root).clear())

    cache.store(OTHER, FILES)
    monkeypatch.setattr(_cache_security, "sync_folder", clear_first)
    assert silently(cache.store, KEY, FILES).verify()
    assert cleared == [1]


def test_verify_finds_and_removes_all_that_is_damaged(cache):
    keys = numbered(6)
    for key in keys:
        cache.store(key, FILES, group=GROUP)
    damage = {0: (flip, "kernel.so"), 2: (remove, "extra.bin"), 4: (truncate, "index.json")}
    for number, (harm, name) in damage.items():
        harm(folder_of(cache, keys[number], GROUP), name)
    problems = silently(cache.verify)
    causes = {Path(problem.path).name: problem.cause for problem in problems}
    assert causes == {
        keys[0]: "kernel.so differs from what was stored",
        keys[2]: "extra.bin is missing",
        keys[4]: "index.json is damaged",
    }
    assert all(problem.removed for problem in problems)
    assert cache.verify() == []
    assert cache.info().entries == 3


@POSIX
def test_verify_says_that_a_folder_is_refused(cache, root):
    cache.store(KEY, FILES)
    root.chmod(0o777)
    (problem,) = cache.verify()
    assert (problem.path, problem.removed) == (str(root), False)
    assert "may be written by other users" in problem.cause
    with pytest.warns(CacheWarning, match="may be written by other users"):
        assert cache.clear() == 0


# What an import costs


def test_the_import_is_light():
    loaded = in_child(
        """
        import subprocess
        code = '''
        import sys, types
        package = types.ModuleType("npaccel")
        package.__path__ = [sys.argv[1]]
        sys.modules["npaccel"] = package
        before = set(sys.modules)
        import npaccel._cache, npaccel.errors
        print(*sorted(set(sys.modules) - before))
        '''.replace("        ", "")
        done = subprocess.run([sys.executable, "-S", "-c", code, sys.argv[1]],
                              capture_output=True, text=True, check=True)
        print(json.dumps(done.stdout.split()))
        """,
        Path(npaccel.__file__).parent,
    )
    assert "npaccel._cache" in loaded
    costly = {"collections", "contextlib", "hashlib", "json", "pathlib", "re", "shutil", "typing"}
    assert costly.isdisjoint(loaded)
    assert {"click", "numpy", "platformdirs", "torch"}.isdisjoint(loaded)


def test_no_file_is_left_open(cache):
    fds = Path("/proc/self/fd")
    if not fds.exists():
        pytest.skip("the system doesn't list open files")
    gc.collect()
    before = len(list(fds.iterdir()))
    cache.store(KEY, FILES)
    cache.load(KEY).read("kernel.so")
    open_to_all(folder_of(cache), "kernel.so")
    with pytest.warns(CacheWarning, match="may be written"):
        cache.load(KEY)
    assert len(list(fds.iterdir())) == before
