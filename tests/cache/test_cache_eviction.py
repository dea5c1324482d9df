"""The size limit and who goes first."""

import os
import time
from pathlib import Path

import pytest
from cache_helpers import (
    FILES,
    GROUP,
    KEY,
    OTHER,
    drafts,
    flip,
    folder_of,
    numbered,
    silently,
)

from npaccel._cache import store
from npaccel._cache.store import DiskCache, cache_key
from npaccel.errors import CacheError, CacheWarning

# Eviction


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
    monkeypatch.setattr(store, "iter_entries", lambda base: scans.append(base) or iter(()))
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
