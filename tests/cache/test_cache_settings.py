"""The default cache, its settings and its care."""

import gc
import threading
from pathlib import Path

import pytest
from cache_helpers import (
    FILES,
    GROUP,
    KEY,
    OTHER,
    POSIX,
    drafts,
    flip,
    folder_of,
    in_child,
    numbered,
    open_to_all,
    remove,
    silently,
    truncate,
)

import npaccel
from npaccel._cache import secure_files
from npaccel._cache.store import DiskCache, default_cache, scratch_dir
from npaccel.errors import CacheWarning

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
    sync = secure_files.sync_folder
    cleared = []

    def clear_first(folder):
        sync(folder)
        cleared.append(DiskCache(cache.root).clear())

    cache.store(OTHER, FILES)
    monkeypatch.setattr(secure_files, "sync_folder", clear_first)
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
        import npaccel._cache.store, npaccel.errors
        print(*sorted(set(sys.modules) - before))
        '''.replace("        ", "")
        done = subprocess.run([sys.executable, "-S", "-c", code, sys.argv[1]],
                              capture_output=True, text=True, check=True)
        print(json.dumps(done.stdout.split()))
        """,
        Path(npaccel.__file__).parent,
    )
    assert "npaccel._cache.store" in loaded
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
