"""Disks that fail: no cache, one warning, never an error."""

import errno
import os

import pytest
from cache_helpers import FILES, KEY, OTHER, POSIX, drafts, folder_of, in_child, silently

from npaccel.errors import CacheWarning

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
