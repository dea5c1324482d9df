"""Artifacts on disk, seen from the dispatcher: damage, no disk, many processes, kills."""

import errno
import json
import os
import random
import shutil
import warnings
from pathlib import Path

import children
import comparing
import numpy as np
import pytest

import npaccel
from npaccel._cache import cache_warnings, secure_files
from npaccel._cache.store import default_cache
from npaccel._process import fork
from npaccel._torch.inductor import portable_code
from npaccel.errors import CacheWarning, PerformanceWarning

pytestmark = pytest.mark.inductor

KILLS = int(os.environ.get("NPACCEL_TEST_KILLS", "3"))
X = np.linspace(0.0, 6.0, 1000)


@pytest.fixture(autouse=True)
def fresh_warnings():
    """Let each test hear the warnings that a process hears once."""
    cache_warnings._said.clear()


# ---------------------------------------------------------------------------
# Damage


def wave(x):
    return np.sin(x) * 2 + 1


def new():
    """A function that knows nothing yet, as in a new process."""
    return npaccel.jit(wave)


def group_of(function):
    scope = npaccel._runtime.options.current()
    return function._npaccel_dispatcher(scope)._stored().group()


def entries():
    function = new()
    return function, default_cache().load_group(group_of(function))


def call(function=None):
    """Call a new function, check it, and tell where it came from and what was warned of."""
    function = new() if function is None else function
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = function(X)
    np.testing.assert_allclose(result, wave(X), rtol=1e-13, strict=True)
    assert not [w for w in said if issubclass(w.category, PerformanceWarning)]
    (graph,) = function.report().graphs
    return graph, [str(w.message) for w in said if issubclass(w.category, CacheWarning)]


@pytest.fixture
def kept():
    """The one entry of `wave` on disk."""
    call()
    _, (entry,) = entries()
    return Path(entry.folder)


def replace(path, data):
    """Write again; the old file may be mapped into this process."""
    draft = path.with_name("draft")
    draft.write_bytes(data)
    draft.chmod(0o600)
    draft.rename(path)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    replace(path, bytes(data))


DAMAGES = {
    "truncated kernel": lambda folder: replace(
        folder / "kernel0.so", (folder / "kernel0.so").read_bytes()[:5000]
    ),
    "empty kernel": lambda folder: replace(folder / "kernel0.so", b""),
    "changed kernel": lambda folder: flip(folder / "kernel0.so"),
    "missing kernel": lambda folder: (folder / "kernel0.so").unlink(),
    "changed code": lambda folder: flip(folder / "code.py"),
    "changed index": lambda folder: flip(folder / "index.json"),
    "missing index": lambda folder: (folder / "index.json").unlink(),
    "kernel others can write": lambda folder: (folder / "kernel0.so").chmod(0o666),
    "folder others can write": lambda folder: folder.chmod(0o777),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_artifact_is_built_again(kept, damage):
    DAMAGES[damage](kept)
    graph, said = call()
    assert not graph.loaded
    assert len(said) == 1
    assert "built again" in said[0]
    graph, said = call()
    assert graph.loaded
    assert said == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can do it")
def test_an_artifact_of_another_user_is_built_again(kept):
    os.chown(kept / "kernel0.so", 65534, 65534)
    graph, said = call()
    assert (graph.loaded, len(said)) == (False, 1)
    assert call()[0].loaded


FOREIGN = {
    "no metadata": lambda metadata: {},
    "other metadata": lambda metadata: {"name": "of another program", "key": metadata["key"]},
    "no plan": lambda metadata: {**metadata, "plan": {}},
    "a plan of other fields": lambda metadata: {**metadata, "plan": {"inputs": 3}},
    "unknown condition": lambda metadata: {
        **metadata,
        "conditions": [{"x": "1", "kind": "new", "expected": ["v", 1]}],
    },
    "malformed condition": lambda metadata: {**metadata, "conditions": ["x"]},
    "more kernels": lambda metadata: {**metadata, "kernels": 7},
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_an_artifact_that_npaccel_did_not_write_is_built_again(kept, kind):
    """Whole, and with right sums, but not of this dispatcher."""
    store_again(kept, FOREIGN[kind], {})
    graph, said = call()
    assert not graph.loaded
    assert len(said) == 1
    assert call()[0].loaded


def store_again(folder, change, files):
    _, (entry,) = entries()
    contents = {name: (folder / name).read_bytes() for name in entry.names} | files
    shutil.rmtree(folder)
    cache, group = default_cache(), entry.group
    assert cache.store(entry.key, contents, change(entry.metadata), group=group) is not None


@pytest.mark.parametrize(
    "files",
    [
        {"code.py": b"call = 1 +"},
        {"code.py": b"no_call = None"},
        {"code.py": b"raise ValueError"},
    ],
    ids=["syntax", "no call", "error"],
)
def test_an_artifact_that_cannot_be_loaded_is_built_again(kept, files):
    store_again(kept, lambda metadata: metadata, files)
    graph, said = call()
    assert not graph.loaded
    assert len(said) == 1
    graph, said = call()
    assert graph.loaded
    assert said == []


def test_a_kernel_of_another_machine(tmp_path):
    """Its sums are right, so only loading it, in a new process, finds it out."""
    source = """
        import npaccel, other
        x = np.linspace(0.0, 6.0, 1000)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", npaccel.errors.CacheWarning)
            equal = bool(np.allclose(other.wave(x), other.wave.__wrapped__(x)))
        (graph,) = other.wave.report().graphs
        answer(equal=equal, said=[str(w.message) for w in said], loaded=graph.loaded,
               artifact=graph.artifact)
    """
    (tmp_path / "other.py").write_text(
        "import numpy as np, npaccel\n@npaccel.jit\ndef wave(x):\n    return np.sin(x) * 2 + 1\n"
    )
    folder = Path(children.run_prepared(source, path=tmp_path)["artifact"])
    cache, (group, key) = default_cache(), folder.parts[-2:]
    (entry,) = cache.load_group(group)
    contents = {"code.py": entry.read("code.py"), "kernel0.so": b"\x7fELF of another machine"}
    shutil.rmtree(folder)
    assert cache.store(key, contents, entry.metadata, group=group) is not None
    found = children.run_prepared(source, path=tmp_path)
    assert (found["equal"], found["loaded"], len(found["said"])) == (True, False, 1)
    found = children.run(source, path=tmp_path)
    assert (found["equal"], found["loaded"], found["said"]) == (True, True, [])


# ---------------------------------------------------------------------------
# No disk


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty cache folder; the compiler's own files stay where they are."""
    from npaccel._compiler import compile as compiler_compile

    known = compiler_compile.scratch_folder()
    monkeypatch.setattr(compiler_compile, "scratch_folder", lambda: known)
    folder = tmp_path / "cache"
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(folder))
    return folder


def test_a_cache_that_others_can_write_is_not_used(elsewhere):
    call()
    elsewhere.chmod(0o777)
    graph, said = call()
    assert (graph.loaded, graph.artifact) == (False, None)
    assert len(said) == 1
    assert str(elsewhere) in said[0]
    assert call()[1] == []  # Said once in a process.
    elsewhere.chmod(0o700)
    assert call()[0].loaded


@pytest.mark.parametrize("where", ["write_file", "make_folder"])
def test_a_full_disk(elsewhere, monkeypatch, where):
    original = getattr(secure_files, where)

    def full(path, *args, **kwargs):
        if Path(path).is_relative_to(elsewhere):
            raise OSError(errno.ENOSPC, "No space left on device", str(elsewhere))
        return original(path, *args, **kwargs)

    monkeypatch.setattr(secure_files, where, full)
    graph, said = call()
    assert (graph.loaded, graph.artifact) == (False, None)
    assert len(said) == 1
    assert "No space left" in said[0]
    assert graph.uncacheable
    assert call()[1] == []
    monkeypatch.undo()


def test_the_cache_is_off(elsewhere, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE", "0")
    graph, said = call()
    assert (graph.artifact, said) == (None, [])
    assert not call()[0].loaded
    assert not elsewhere.exists()


def test_a_function_without_cache(elsewhere):
    for _ in range(2):
        graph, said = call(npaccel.jit(wave, cache=False))
        assert (graph.loaded, graph.artifact, said) == (False, None, [])
    assert not elsewhere.exists()
    with npaccel.options(cache=False):
        assert call()[0].artifact is None
    assert call()[0].artifact is not None


def test_other_backends_keep_nothing(elsewhere):
    for backend in ("eager", "aot_eager"):
        graph, said = call(npaccel.jit(wave, backend=backend))
        assert (graph.artifact, said) == (None, [])
    assert not elsewhere.exists()


def test_a_read_only_disk(elsewhere, monkeypatch):
    def refusing(original):
        def refuse(path, *args, **kwargs):
            if Path(path).is_relative_to(elsewhere):
                raise OSError(errno.EROFS, "Read-only file system", str(elsewhere))
            return original(path, *args, **kwargs)

        return refuse

    call()
    monkeypatch.setattr(secure_files, "write_file", refusing(secure_files.write_file))
    monkeypatch.setattr(os, "utime", refusing(os.utime))
    graph, said = call()
    assert (graph.loaded, said) == (True, [])  # What is there is of use.
    function = npaccel.jit(wave, dynamic=False)
    graph, said = call(function)
    assert (graph.loaded, graph.artifact) == (False, None)
    assert len(said) == 1
    assert "Read-only" in said[0]


def test_the_compilers_folder(monkeypatch, tmp_path):
    """In the cache; or where torch has it, if that is safe; or one of the process's own."""
    from npaccel._compiler import scratch
    from npaccel._torch.inductor import precompiled_headers as headers

    choose = scratch._choose
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "cache"))
    in_cache = choose()
    assert in_cache.is_relative_to(tmp_path / "cache")
    torchs = tmp_path / "torch"
    monkeypatch.setattr(headers, "default_folder", lambda: str(torchs))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != in_cache)
    inside = choose()
    assert inside == torchs / "npaccel"
    inside.chmod(0o755)
    assert choose() == inside
    assert inside.stat().st_mode & 0o777 == 0o700  # Folders inside may be open to all.
    removed = []
    monkeypatch.setattr(fork, "at_exit", lambda action, *args: removed.append(args[0]))
    torchs.chmod(0o777)
    own = choose()
    assert own not in (in_cache, inside)
    assert removed == [str(own)]
    own.rmdir()


def test_compiled_files_are_whole_or_not_there(tmp_path):
    """The compiler is killed in the middle of its output."""
    from torch._inductor.cpp_builder import BuildOptionsBase

    from npaccel._cache.sealed_files import SUFFIX
    from npaccel._torch.inductor.builder import Builder

    compiler = tmp_path / "compiler"
    compiler.write_text(
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        'echo half > "$2"\n[ -e "$0.works" ] || kill -9 $$\n'
    )
    compiler.chmod(0o700)
    out = tmp_path / "out"
    options = BuildOptionsBase(str(compiler))
    builder = Builder("name", "source.cpp", options, str(out), scratch=tmp_path)
    target = Path(builder.get_target_file_path())
    with pytest.raises(Exception, match="half|compiler|Compile"):
        builder.build()
    assert not target.exists()
    (tmp_path / "compiler.works").touch()
    builder.build()
    assert target.read_text() == "half\n"
    assert sorted(out.iterdir()) == [target, out / f"{target.name}{SUFFIX}"]
    assert not list((tmp_path / "tmp").iterdir())


# ---------------------------------------------------------------------------
# Many processes

SUBJECT = """
import npaccel, torch

def function_of(k):
    text = f"def function(x):\\n    return np.sin(x) * {k} + np.cos(x)\\n"
    names = {"np": np, "__name__": "generated"}
    exec(compile(text, "<generated>", "exec"), names)
    return names["function"]

X = np.linspace(0.0, 6.0, 1000)

def check(k):
    function = npaccel.jit(function_of(k))
    equal = bool(np.allclose(function(X), function_of(k)(X), rtol=1e-12))
    return equal, [graph.loaded for graph in function.report().graphs]
"""


FORKING = (
    SUBJECT
    + """
import npaccel._runtime.artifacts, npaccel._compiler.compile
from npaccel._cache.store import default_cache
from npaccel._torch.dynamo import install as numpy_tracing
numpy_tracing.install()
warnings.simplefilter("error", npaccel.errors.CacheWarning)
warnings.simplefilter("error", npaccel.errors.PerformanceWarning)

def in_child(work):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)  # With the compilers that it starts.
        signal.alarm(120)
        try:
            work(lambda *values: os.write(writer, json.dumps(values).encode()))
        except BaseException as error:
            os.write(writer, json.dumps(["error", repr(error)]).encode())
        finally:
            os._exit(0)
    os.close(writer)
    return pid, reader

def answer_of(pid, reader):
    with open(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(data) if data else ["nothing"]
"""
)

EIGHT = """
k, gate = 1.25, os.pipe()
def wait_and_check(tell):
    os.close(gate[1])
    os.read(gate[0], 1)  # Until the parent closes its end.
    tell(*check(k))

workers = [in_child(wait_and_check) for _ in range(8)]
os.close(gate[1])
answer(found=[answer_of(*worker) for worker in workers])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_eight_processes_compile_one_function_at_once():
    found = children.run_prepared(FORKING + EIGHT)["found"]
    assert [equal for equal, _ in found] == [True] * 8
    assert not all(loaded == [True] for _, loaded in found)
    later = children.run(SUBJECT + "answer(found=check(1.25))", OMP_NUM_THREADS="2")
    assert later["found"] == [True, [True]]
    assert default_cache().verify() == []


KILLER = """
import random, shutil
signal.alarm(0)
seed, kills = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)

def compile_it(tell):
    tell(*check(k))

def store_it(tell):
    original = npaccel._runtime.artifacts.store
    def store(*args):
        tell("storing")
        return original(*args)
    npaccel._runtime.artifacts.store = store
    check(k)

# How long a compilation takes, after a first one that imports what it needs.
for k in (900_001.5, 900_002.5):
    begin = time.perf_counter()
    assert answer_of(*in_child(compile_it))[0] is True
    seconds = time.perf_counter() - begin

wrong, at = [], {"compile": 0, "store": 0, "late": 0}
for i in range(kills):
    k = seed * 1000 + i + 0.5
    storing = i % 2
    if i % 10 == 8:  # Empty libraries are made again now and then, and that is killed too.
        shutil.rmtree(npaccel._compiler.compile.scratch_folder() / "empty_libraries")
    pid, reader = in_child(store_it if storing else compile_it)
    if storing:
        os.read(reader, 100)
        time.sleep(rng.random() * 0.02)
    else:
        time.sleep(rng.random() * (6 if i % 10 == 8 else 1.1) * seconds)
    at["store" if storing else "compile"] += 1
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        at["late"] += 1
    os.waitpid(pid, 0)
    os.close(reader)
    found = answer_of(*in_child(compile_it))
    if found[0] is not True:
        wrong.append([i, found])
answer(wrong=wrong, at=at, seconds=seconds, problems=[str(p) for p in default_cache().verify()])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.timeout(60 + KILLS * 15)
def test_killed_at_random_instants(own_cache):
    """The next process gives the right answer, without a word about the cache."""
    own = {"NPACCEL_CACHE_DIR": str(own_cache)}  # It removes headers.
    seed = random.SystemRandom().randrange(1000)
    found = children.run_prepared(FORKING + KILLER, seed, KILLS, timeout=60 + KILLS * 15, **own)
    print(f"seed {seed}: {found}")
    assert (found["wrong"], found["problems"]) == ([], []), f"seed {seed}"
    # And a process that isn't a fork of that one.
    ks = [seed * 1000 + i + 0.5 for i in range(KILLS)][:20]
    script = SUBJECT + "answer(wrong=[k for k in json.loads(sys.argv[1]) if not check(k)[0]])"
    assert children.run(script, json.dumps(ks), OMP_NUM_THREADS="2", **own)["wrong"] == []


CLEANED = """
import shutil
import warnings

from npaccel._compiler import compile as _compile

def add(k):
    return npaccel.jit(lambda x: x * k + 1)(np.arange(5.0)).tolist()

warnings.simplefilter("error")
before = add(3)
shutil.rmtree(_compile.scratch_folder())
answer(before=before, after=add(4))
"""


def test_the_scratch_folder_is_cleaned_meanwhile(own_cache):
    """What the compiler has made once for all kernels is made again."""
    found = children.run_prepared(SUBJECT + CLEANED, NPACCEL_CACHE_DIR=str(own_cache))
    assert found == {"before": [1, 4, 7, 10, 13], "after": [1, 5, 9, 13, 17]}


def test_what_comes_from_disk_counts_as_the_first(tmp_path):
    """As in the process that made it, the second value and shape compile for any."""
    (tmp_path / "values.py").write_text(
        "import numpy as np, npaccel\n"
        "def of_int(x, n):\n    return x * n + 1\n"
        "def of_float(x, r):\n    return x * r - 1\n"
        "def of_shape(x):\n    return np.sin(x) * 3\n"
        "def of_parts(x, part):\n    return x * part['k'] + part['l'][0]\n"
    )
    source = """
        import npaccel, values
        x = np.arange(5.0)
        def calls(n):
            return {"of_int": (x, n), "of_float": (x, n + 0.5), "of_shape": (np.arange(n + 2.0),),
                    "of_parts": (x, {"k": n, "l": [n + 1, x]})}
        jitted = {name: npaccel.jit(getattr(values, name)) for name in calls(3)}
        for n in map(int, sys.argv[1:]):
            for name, args in calls(n).items():
                wanted = getattr(values, name)(*args)
                np.testing.assert_allclose(jitted[name](*args), wanted, rtol=1e-6)
        answer(**{name: [[g.loaded, g.dynamic] for g in f.report().graphs]
                  for name, f in jitted.items()})
    """
    for numbers, graphs in (
        ([3], [[False, False]]),
        ([3, 4, 5], [[True, False], [False, True]]),
        ([3, 6, 7], [[True, False], [True, True]]),
        ([8, 9], [[True, True]]),
    ):
        found = children.run_prepared(source, *numbers, path=tmp_path)
        assert found == dict.fromkeys(found, graphs), numbers


# ---------------------------------------------------------------------------
# Arrays that the code itself has


def with_literals(x):
    shear = np.array([[1, 0.5], [0, 1]])
    weights = np.array([1.0, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144])
    signs = np.array([[True, False], [False, True]])
    turns = np.array([[1j, 2], [-0.0, 1 - 1j]])
    counts = np.array([[1, 2], [3, 4]], np.uint8)
    none = np.zeros((0, 3)) + np.array([[]]).reshape(0, 1)
    return x[:6].reshape(3, 2) @ shear, x[:12] * weights, signs, turns, counts, none, shear


def returned_alone(x):
    return np.array([[1, 2.5], [3, 4]]), x + 1


def with_many(x):
    return x[0] + np.array([[float(i + j) for j in range(12)] for i in range(11)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [with_literals, returned_alone, with_many])
def test_arrays_in_the_code_are_kept(function, dtype, monkeypatch):
    monkeypatch.setattr(portable_code, "_MAX_BYTES", 500)
    x = np.linspace(1, 2, 20).astype(dtype)
    first = npaccel.jit(function)
    results = [first(x), first(x)]
    again = npaccel.jit(function)
    results += [again(x), again(x)]
    for result in results[1:]:
        comparing.assert_same(result, results[0])
    (graph,) = again.report().graphs
    assert not again.report().fallbacks
    assert graph.loaded == (function is not with_many)
    if dtype is np.float64:
        comparing.assert_same(results[0], function(x), rtol=1e-12)
    if function is with_many:
        assert "bytes in its code" in graph.uncacheable
