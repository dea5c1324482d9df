"""Keys, storing and finding."""

import json
import os
import stat
import tempfile
import time
from pathlib import Path

import pytest
from cache_helpers import FILES, GROUP, KEY, OTHER, POSIX, drafts, folder_of, silently
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npaccel._cache.store import DiskCache, cache_key
from npaccel.errors import CacheError, CacheWarning

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
