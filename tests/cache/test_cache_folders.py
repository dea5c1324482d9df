"""Folders that others could change are refused."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from cache_helpers import (
    FILES,
    KEY,
    NOBODY,
    POSIX,
    ROOT,
    folder_of,
    in_child,
    silently,
)

from npaccel._cache import secure_files
from npaccel._cache.store import DiskCache
from npaccel.errors import CacheWarning

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
    assert secure_files._private_group(1234) is private


@POSIX
def test_a_group_without_a_name_is_private_by_its_number(monkeypatch):
    import grp

    monkeypatch.setattr(grp, "getgrgid", lambda gid: {}[gid])
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert secure_files._private_group(4321)
    assert not secure_files._private_group(4322)


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
