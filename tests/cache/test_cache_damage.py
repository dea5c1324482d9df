"""Damaged entries: dropped and built again."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from cache_helpers import (
    FILES,
    KEY,
    NOBODY,
    OTHER,
    POSIX,
    ROOT,
    drafts,
    extend,
    flip,
    folder_of,
    link,
    make_dir,
    open_to_all,
    open_to_group,
    pipe,
    remove,
    silently,
    truncate,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from npaccel._cache.store import DiskCache
from npaccel.errors import CacheWarning

# Damage


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
