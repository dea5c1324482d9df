"""The compiler's own folder: odd paths, other locales, other users' files, what is left behind."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import children
import pytest

from npaccel._cache import secure_files as secure
from npaccel._cache.layout import sweep
from npaccel._cache.sealed_files import SUFFIX, is_whole, sealed_file
from npaccel._cache.store import DiskCache

PROGRAM = """
import npaccel

def wäve(x):
    return np.sin(x) * 2.5 + 1  # ☃

x = np.linspace(0.0, 6.0, 1000)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    jitted = npaccel.jit(wäve)
    equal = bool(np.allclose(jitted(x), wäve(x), rtol=1e-13))
graphs = [graph.loaded for graph in jitted.report().graphs]
answer(equal=equal, graphs=graphs, said=[str(w.message) for w in said])
"""


@pytest.mark.inductor
def test_a_folder_of_any_name(own_cache, tmp_path):
    folder = tmp_path / 'my "own" folder\'s \\name $HOME; #1' / "cache"
    folder.parent.mkdir()
    own_cache.rename(folder)
    for graphs in ([False], [True]):
        found = children.run_prepared(PROGRAM, NPACCEL_CACHE_DIR=str(folder))
        assert found == {"equal": True, "graphs": graphs, "said": []}


@pytest.mark.inductor
def test_a_locale_without_letters(own_cache):
    """Python reads files as ASCII then, if its own UTF-8 mode is off too."""
    locale = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    script = PROGRAM.replace("ä", "a").replace("☃", "")
    found = children.run(script, NPACCEL_CACHE_DIR=str(own_cache), **locale)
    assert found == {"equal": True, "graphs": [False], "said": []}


@pytest.mark.inductor
@pytest.mark.parametrize("cache", ["0", "1"])
def test_a_library_that_was_planted_is_not_loaded(own_cache, tmp_path, cache):
    """In a subfolder that others can write to, of the cache, and of torch's without one."""
    torchs = tmp_path / "torch"
    torchs.mkdir()
    own = {
        "NPACCEL_CACHE": cache,
        "NPACCEL_CACHE_DIR": str(own_cache),
        "TORCHINDUCTOR_CACHE_DIR": str(torchs),
    }
    used = torchs / "npaccel" if cache == "0" else own_cache / "scratch" / "inductor"
    if cache == "0":
        shutil.copytree(own_cache / "scratch" / "inductor", used, copy_function=os.link)
    assert children.run_prepared(PROGRAM, **own)["equal"]
    assert used.stat().st_mode & 0o777 == 0o700
    (library,) = [path for path in used.glob("*/*.so") if path.parent.name != "empty_libraries"]
    shutil.rmtree(own_cache / "v1", ignore_errors=True)
    library.parent.chmod(0o777)
    library.unlink()
    marker = tmp_path / "loaded"
    source = tmp_path / "planted.c"
    source.write_text(
        "#include <stdio.h>\n__attribute__((constructor)) static void begin(void)\n"
        f'{{ fclose(fopen("{marker}", "w")); }}\n'
    )
    subprocess.run(["g++", "-shared", "-fPIC", "-x", "c", "-o", library, source], check=True)
    found = children.run_prepared(PROGRAM, **own)
    assert (found["equal"], found["graphs"], found["said"]) == (True, [False], [])
    assert not marker.exists()
    assert is_whole(str(library))


@pytest.mark.inductor
def test_a_library_that_is_damaged_after_it_was_loaded_is_not_kept(own_cache):
    """What is copied into the cache is what was built, not what was made of it meanwhile."""
    script = """
import npaccel
from pathlib import Path

def wave_of(k):
    return lambda x, k=k: np.sin(x) * 2.5 + 1

x = np.linspace(0.0, 6.0, 1000)
folder = Path(os.environ["NPACCEL_CACHE_DIR"])
npaccel.jit(wave_of(1), cache=False)(x)
for path in folder.glob("scratch/inductor/*/*.main.so"):
    data = bytearray(path.read_bytes())
    path.unlink()
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
jitted = npaccel.jit(wave_of(2))
equal = bool(np.allclose(jitted(x), np.sin(x) * 2.5 + 1))
(entry,) = folder.glob("v1/??/*/*/kernel0.so")
(library,) = folder.glob("scratch/inductor/*/*.main.so")
problems = [str(one) for one in npaccel._cache.store.default_cache().verify()]
answer(equal=equal, same=entry.read_bytes() == library.read_bytes(), problems=problems)
"""
    found = children.run_prepared(script, NPACCEL_CACHE_DIR=str(own_cache))
    assert found == {"equal": True, "same": True, "problems": []}


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")


def built(cache):
    """A file of the compiler's, in a cache that has nothing else; and its sum."""
    scratch = cache.scratch_dir("inductor")
    path = scratch / "ab" / "kernel.so"
    with sealed_file(str(path), str(scratch)) as draft:
        Path(draft).write_bytes(bytes(1000))
    assert list((scratch / "tmp").iterdir()) == []
    return path, path.with_name(f"kernel.so{SUFFIX}")


def test_the_compilers_files_are_verified(cache):
    path, with_sum = built(cache)
    assert cache.verify() == []
    path.write_bytes(bytes(999) + b"x")
    (problem,) = cache.verify()
    assert problem == (str(path), "kernel.so differs from what was built", True)
    assert not path.exists()
    assert not with_sum.exists()
    assert cache.verify() == []


def test_a_library_without_its_sum_is_none(cache):
    path, with_sum = built(cache)
    with_sum.unlink()
    assert not is_whole(str(path))
    assert [problem.cause for problem in cache.verify()] == ["kernel.so.sum is missing"]


@pytest.mark.skipif(os.name == "nt", reason="owner and mode are POSIX's")
def test_a_library_that_others_can_write_is_none(cache):
    path, _ = built(cache)
    assert is_whole(str(path))
    path.chmod(0o666)
    assert not is_whole(str(path))


def test_the_compilers_files_are_removed_without_a_store(cache):
    path, _ = built(cache)
    assert cache.info().scratch_bytes > 1000
    assert cache.clear() == 0
    assert path.exists()
    assert cache.clear(scratch=True) == 0
    assert not (cache.root / "scratch").exists()
    assert cache.info().scratch_bytes == 0


def test_folders_in_memory_of_killed_processes_are_removed(tmp_path):
    """Of others that run, or have just begun, they aren't."""
    from npaccel._compiler import scratch as compiler_scratch

    ended = subprocess.Popen(["true"])
    ended.wait()
    folders = {
        "ended": tmp_path / f"npaccel-{ended.pid}-{'0' * 16}",
        "young": tmp_path / f"npaccel-{ended.pid}-{'1' * 16}",
        "running": tmp_path / f"npaccel-{os.getpid()}-{'2' * 16}",
        "another's": tmp_path / "npaccel-other",
    }
    for name, folder in folders.items():
        folder.mkdir()
        if name != "young":
            os.utime(folder, (0, 0))
    own = compiler_scratch._own_folder(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted(
        [own, folders["young"], folders["running"], folders["another's"]]
    )
    assert own.stat().st_mode & 0o777 == 0o700


def test_what_killed_processes_leave_is_removed_whatever_its_date(tmp_path):
    trash = tmp_path / "tmp"
    trash.mkdir()
    now = time.time()
    for name, age in (("old", 7200), ("new", 60), ("future", -1e9)):
        draft = trash / f"{name}-{secure.unique_name()}"
        draft.mkdir()
        os.utime(draft, (now - age, now - age))
    sweep(str(tmp_path))
    left = {path.name.partition("-")[0]: path for path in trash.iterdir()}
    assert sorted(left) == ["future", "new"]
    assert abs(left["future"].stat().st_mtime - now) < 60
    os.utime(left["future"], (now - 7200, now - 7200))  # As it's two hours later.
    sweep(str(tmp_path))
    assert [path.name for path in trash.iterdir()] == [left["new"].name]
