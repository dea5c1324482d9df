"""What is imported when, and how long it takes."""

import statistics
import sys

import children
import pytest
import torch

from npaccel._torch import importing

HEAVY = ("torch._dynamo", "torch._inductor", "scipy", "sklearn", "sympy", "triton", "numba")

CODE = """
import npaccel

@npaccel.jit
def nearest(points, means):
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)

rng = np.random.default_rng(0)
points, means = rng.normal(size=(1000, 2)), rng.normal(size=(5, 2))
ours = nearest(points, means)
theirs = nearest.__wrapped__(points, means)
heavy = [name for name in sys.argv[1:] if name in sys.modules]
answer(equal=bool((ours == theirs).all()), heavy=heavy,
       loaded=[graph.loaded for graph in nearest.report().graphs])
"""


def test_import_is_light():
    found = children.run(
        "import npaccel\nanswer(heavy=[name for name in sys.argv[1:] if name in sys.modules])",
        *HEAVY,
    )
    # What torch itself imports isn't npaccel's to leave out.
    torch_itself = children.run(
        "import torch\nanswer(heavy=[name for name in sys.argv[1:] if name in sys.modules])",
        *HEAVY,
    )
    assert found == torch_itself
    assert not {"torch._dynamo", "torch._inductor", "scipy", "sklearn"} & set(found["heavy"])


@pytest.mark.inductor
def test_a_warm_process_needs_no_compiler():
    threads = {"OMP_NUM_THREADS": "2"}
    first = children.run_prepared(CODE, *HEAVY, **threads)
    assert first["equal"]
    warm = children.run(CODE, *HEAVY, **threads)
    assert warm == {"equal": True, "heavy": [], "loaded": [True]}


@pytest.mark.inductor
def test_templates_are_parsed_when_they_are_used():
    found = children.run("""
        import npaccel
        npaccel.jit(lambda x: x * 9.25, cache=False)(np.arange(3.0))
        parsed = "jinja2" in sys.modules
        from torch._inductor.select_algorithm import TritonTemplate
        templates = [one.template for one in TritonTemplate.all_templates.values()]
        kinds = sorted({type(one).__name__ for one in templates})
        from torch._inductor.codegen.common import KernelTemplate
        late = templates[0]
        whole = KernelTemplate._template_from_string(late._text)
        answer(kinds=kinds, parsed=parsed, again=type(whole).__name__,
               same=late.render.__func__ is whole.render.__func__)
    """)
    assert found == {"kinds": ["LateTemplate"], "parsed": False, "again": "Template", "same": True}


def test_places_of_calls_are_those_that_torch_tells():
    quick, own = importing._source_of_caller(None), torch._library.utils.get_source
    assert own(1) == quick(1)


def test_dtypes_that_other_packages_add_to_numpy():
    """As ml_dtypes does, which JAX imports."""
    found = children.run_prepared("""
        import ml_dtypes, npaccel
        assert any(np.dtype(t).itemsize == 1 and "float8" in t.__name__
                   for t in np.sctypeDict.values())
        convert = npaccel.jit(lambda x: np.float32(x) + 1, backend="eager")
        answer(result=convert(np.ones(2)).tolist())
    """)
    assert found == {"result": [2.0, 2.0]}


#: What the whole process shares, before and after an import of npaccel. What npaccel imports of
#: others is imported before: it isn't npaccel's to answer for.
SHARED = """
import ctypes, logging
import torch
for name in sys.argv[1:]:
    try:
        __import__(name)
    except ImportError:  # Some put others under a name of theirs.
        pass

class Blocks(ctypes.Structure):
    _fields_ = [(f"field_{i}", ctypes.c_size_t) for i in range(10)]

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
if hasattr(libc, "mallinfo2"):
    libc.mallinfo2.restype = Blocks

def mapped():
    # How many blocks a large allocation takes from the kernel; only known of glibc.
    if not hasattr(libc, "mallinfo2"):
        return 1
    before = libc.mallinfo2().field_3
    block = libc.malloc(24 << 20)
    found = libc.mallinfo2().field_3 - before
    libc.free(block)
    return found

def of_torch():
    asked = ["get_num_threads", "get_num_interop_threads", "get_default_dtype", "is_grad_enabled",
             "are_deterministic_algorithms_enabled", "get_float32_matmul_precision",
             "is_inference_mode_enabled", "initial_seed"]
    backends = torch.backends
    flags = [backends.cudnn.benchmark, backends.cudnn.enabled, backends.mkldnn.enabled]
    return [str(getattr(torch, name)()) for name in asked] + flags

def shared():
    loggers = {"": logging.root, **logging.root.manager.loggerDict}
    # What is allocated large and freed would have glibc learn: so once, at the end.
    return dict(
        environment=dict(os.environ),
        signals={str(n): str(signal.getsignal(n)) for n in signal.valid_signals()},
        alarm=signal.getitimer(signal.ITIMER_REAL)[1],
        warnings=[str(one) for one in warnings.filters] + [str(warnings.showwarning)],
        logging={name: [one.level, one.disabled, one.propagate, str(one.handlers)]
                 for name, one in loggers.items()
                 if isinstance(one, logging.Logger) and not name.startswith("npaccel")},
        threads=[threading.active_count(), len(os.listdir("/proc/self/task"))],
        torch=of_torch(),
        numpy=[str(np.geterr()), str(np.get_printoptions()), str(np.geterrcall())],
        random=str(np.random.get_state()),
        python=[str(sys.path), str(sys.meta_path), str(sys.path_hooks), str(sys.excepthook),
                sys.getrecursionlimit(), sys.getswitchinterval(), str(sys.gettrace()),
                os.getcwd(), str(sys.stdout), str(sys.stderr)],
    )

events = []
def watch(name, arguments):
    if name in ("os.putenv", "os.unsetenv", "ctypes.dlopen", "ctypes.dlsym", "signal.pthread_kill"):
        events.append(f"{name}: {arguments}")
sys.addaudithook(watch)

before = shared()
import npaccel
after, seen = shared(), list(events)
answer(changed=[name for name in before if before[name] != after[name]], events=seen,
       mapped=mapped(), own=[name for name in logging.root.manager.loggerDict
                             if name.startswith("npaccel")
                             and getattr(logging.getLogger(name), "handlers", ())])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of threads")
def test_import_changes_nothing_in_the_process():
    others = children.run("""
        import npaccel
        answer(names=[name for name in sys.modules
                      if name.partition(".")[0] not in ("npaccel", "__main__")])
    """)["names"]
    found = children.run(SHARED, *others)
    assert found == {"changed": [], "events": [], "mapped": 1, "own": []}


TIMES = """
begin = time.process_time()
import torch
of_torch = time.process_time() - begin
import npaccel
answer(ratio=(time.process_time() - begin) / of_torch)
"""


def test_import_time():
    """At most 1.1 times that of torch, which is a part of it; the median of some processes.

    It's the processor's time: the machine may be busy with something else.
    """
    for _ in range(3):
        ratio = statistics.median(children.run(TIMES)["ratio"] for _run in range(3))
        if ratio <= 1.1:
            return
    pytest.fail(f"import npaccel takes {ratio:.2f} times as long as import torch")
