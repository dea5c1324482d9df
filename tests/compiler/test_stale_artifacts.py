"""What a function is made of changes between two processes: no stale result comes from disk."""

import children
import pytest

pytestmark = pytest.mark.inductor

# Per case: the module before, and after. It defines `function` and `ARGS`.
HEAD = "import numpy as np, npaccel\nARGS = (np.linspace(0.0, 1.0, 5),)\n"
CASES = {
    "source": (
        "@npaccel.jit\ndef function(x):\n    return np.sin(x) * 2\n",
        "@npaccel.jit\ndef function(x):\n    return np.sin(x) * 3\n",
    ),
    "order of operations": (
        "@npaccel.jit\ndef function(x):\n    return x - x * 2\n",
        "@npaccel.jit\ndef function(x):\n    return x * 2 - x\n",
    ),
    "global number": (
        "K = 2.0\n@npaccel.jit\ndef function(x):\n    return x * K\n",
        "K = 3.0\n@npaccel.jit\ndef function(x):\n    return x * K\n",
    ),
    "global in a tuple": (
        "K = (1, 2.0)\n@npaccel.jit\ndef function(x):\n    return x * K[1]\n",
        "K = (1, 3.0)\n@npaccel.jit\ndef function(x):\n    return x * K[1]\n",
    ),
    "type of a global number": (
        "K = 2\n@npaccel.jit\ndef function(x):\n    return np.arange(3, dtype=np.int8) * K\n",
        "K = 2.0\n@npaccel.jit(default_float='float64')\n"
        "def function(x):\n    return np.arange(3, dtype=np.int8) * K\n",
    ),
    "helper in another module": (
        "import helper_HERE as h\n@npaccel.jit\ndef function(x):\n    return h.scale(x)\n"
        "# helper\ndef scale(x):\n    return x * 2\n",
        "import helper_HERE as h\n@npaccel.jit\ndef function(x):\n    return h.scale(x)\n"
        "# helper\ndef scale(x):\n    return x * 3\n",
    ),
    "constant of another module": (
        "import helper_HERE as h\n@npaccel.jit\ndef function(x):\n    return x + h.K\n"
        "# helper\nK = 2.0\n",
        "import helper_HERE as h\n@npaccel.jit\ndef function(x):\n    return x + h.K\n"
        "# helper\nK = 3.0\n",
    ),
    "helper of a helper": (
        "from helper_HERE import outer\n@npaccel.jit\ndef function(x):\n    return outer(x)\n"
        "# helper\ndef inner(x):\n    return x * 2\ndef outer(x):\n    return inner(x) + 1\n",
        "from helper_HERE import outer\n@npaccel.jit\ndef function(x):\n    return outer(x)\n"
        "# helper\ndef inner(x):\n    return x * 3\ndef outer(x):\n    return inner(x) + 1\n",
    ),
    "another helper of the same name": (
        "import helper_HERE as h\nscale = h.one\n"
        "@npaccel.jit\ndef function(x):\n    return scale(x)\n"
        "# helper\ndef one(x):\n    return x * 2\ndef two(x):\n    return x * 3\n",
        "import helper_HERE as h\nscale = h.two\n"
        "@npaccel.jit\ndef function(x):\n    return scale(x)\n"
        "# helper\ndef one(x):\n    return x * 2\ndef two(x):\n    return x * 3\n",
    ),
    "closure": (
        "def make(k):\n    @npaccel.jit\n    def function(x):\n        return x * k\n"
        "    return function\nfunction = make(2.0)\n",
        "def make(k):\n    @npaccel.jit\n    def function(x):\n        return x * k\n"
        "    return function\nfunction = make(3.0)\n",
    ),
    "function in a closure": (
        "def make(f):\n    return npaccel.jit(lambda x: f(x) + 1)\n"
        "function = make(lambda x: x * 2)\n",
        "def make(f):\n    return npaccel.jit(lambda x: f(x) + 1)\n"
        "function = make(lambda x: x * 3)\n",
    ),
    "default argument": (
        "@npaccel.jit\ndef function(x, k=2.0):\n    return x * k\n",
        "@npaccel.jit\ndef function(x, k=3.0):\n    return x * k\n",
    ),
    "class attribute": (
        "class C:\n    k = 2.0\n    @npaccel.jit\n    def f(self, x):\n        return x * self.k\n"
        "function = C.f\nARGS = (C(), *ARGS)\n",
        "class C:\n    k = 3.0\n    @npaccel.jit\n    def f(self, x):\n        return x * self.k\n"
        "function = C.f\nARGS = (C(), *ARGS)\n",
    ),
    "another method": (
        "class C:\n    @npaccel.jit\n    def f(self, x):\n        return self.g(x)\n"
        "    def g(self, x):\n        return x * 2\nfunction = C.f\nARGS = (C(), *ARGS)\n",
        "class C:\n    @npaccel.jit\n    def f(self, x):\n        return self.g(x)\n"
        "    def g(self, x):\n        return x * 3\nfunction = C.f\nARGS = (C(), *ARGS)\n",
    ),
    "attribute of an object": (
        "class C:\n    def __init__(self, k):\n        self.k = k\n    @npaccel.jit\n"
        "    def f(self, x):\n        return x * self.k\nfunction = C.f\nARGS = (C(2.0), *ARGS)\n",
        "class C:\n    def __init__(self, k):\n        self.k = k\n    @npaccel.jit\n"
        "    def f(self, x):\n        return x * self.k\nfunction = C.f\nARGS = (C(3.0), *ARGS)\n",
    ),
    "default_float": (
        "@npaccel.jit(default_float='float32')\n"
        "def function(x):\n    return x.astype('f4') + np.arange(5) / 3\n",
        "@npaccel.jit(default_float='float64')\n"
        "def function(x):\n    return x.astype('f4') + np.arange(5) / 3\n",
    ),
    "global dtype": (
        "T = np.float32\n@npaccel.jit\ndef function(x):\n    return np.ones(3, dtype=T) / 3\n",
        "T = np.float64\n@npaccel.jit\ndef function(x):\n    return np.ones(3, dtype=T) / 3\n",
    ),
    "dtype of a global scalar": (
        "S = np.float32(0.1)\n@npaccel.jit\ndef function(x):\n    return x.astype('f4') * S\n",
        "S = np.float64(0.1)\n@npaccel.jit\ndef function(x):\n    return x.astype('f4') * S\n",
    ),
    "global array": (
        "A = np.full(5, 2.0)\n@npaccel.jit\ndef function(x):\n    return x * A\n",
        "A = np.full(5, 3.0)\n@npaccel.jit\ndef function(x):\n    return x * A\n",
    ),
    "shape of a global array": (
        "A = np.full((1, 5), 2.0)\n@npaccel.jit\ndef function(x):\n    return x * A\n",
        "A = np.full((3, 5), 3.0)\n@npaccel.jit\ndef function(x):\n    return x * A\n",
    ),
    "branch on a global": (
        "FAST = True\n@npaccel.jit\ndef function(x):\n    return x * 2 if FAST else x * 3\n",
        "FAST = False\n@npaccel.jit\ndef function(x):\n    return x * 2 if FAST else x * 3\n",
    ),
    "NumPy function of another name": (
        "f = np.sin\n@npaccel.jit\ndef function(x):\n    return f(x)\n",
        "f = np.cos\n@npaccel.jit\ndef function(x):\n    return f(x)\n",
    ),
}
MODULES = {case: f"case{i}" for i, case in enumerate(CASES)}

RUN_CASES = """
import importlib, torch
import npaccel.errors
if sys.argv[1] != "0":
    torch.set_num_threads(int(sys.argv[1]))
warnings.simplefilter("error", npaccel.errors.CacheWarning)
warnings.simplefilter("error", npaccel.errors.PerformanceWarning)
for name in sys.argv[2:]:
    module = importlib.import_module(name)
    ours = module.function(*module.ARGS)
    theirs = module.function.__wrapped__(*module.ARGS)
    graphs = module.function.report().graphs
    narrow = ours.dtype == np.float32
    answer(name=name, shape=ours.shape == theirs.shape, dtypes=[str(ours.dtype), str(theirs.dtype)],
           equal=bool(np.allclose(ours, theirs, rtol=1e-6 if narrow else 1e-12, atol=0)),
           loaded=[graph.loaded for graph in graphs], kept=[graph.artifact for graph in graphs])
answer(name="dynamo", loaded="torch._dynamo" in sys.modules)
"""


def write_cases(folder, version):
    for case, name in MODULES.items():
        source, _, helper = CASES[case][version].partition("# helper\n")
        (folder / f"{name}.py").write_text(HEAD + source.replace("HERE", name))
        if helper:
            (folder / f"helper_{name}.py").write_text(helper)


def run_cases(folder, threads=0, names=None, prepared=True):
    names = list(MODULES.values()) if names is None else names
    if prepared:
        answers = children.answers_of_prepared(RUN_CASES, threads, *names, path=folder)
    else:
        child = children.start(RUN_CASES, threads, *names, path=folder, OMP_NUM_THREADS="2")
        answers = children.finish(child)
    return {found.pop("name"): found for found in answers}


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """Answers of three processes: cold, warm, and with all modules changed."""
    folder = tmp_path_factory.mktemp("cases")
    write_cases(folder, 0)
    cold, warm = run_cases(folder), run_cases(folder, prepared=False)
    write_cases(folder, 1)
    changed = run_cases(folder)
    return cold, warm, changed, folder


def is_right(found):
    ours, theirs = found["dtypes"]
    return found["equal"] and found["shape"] and (ours in (theirs, "float32"))


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_seen_by_the_next_process(processes, case):
    cold, warm, changed, _ = processes
    name = MODULES[case]
    assert is_right(cold[name])
    assert is_right(warm[name])
    assert is_right(changed[name])
    if "default_float='float64'" in CASES[case][1]:
        assert changed[name]["dtypes"][0] == "float64"


def test_what_did_not_change_is_loaded(processes):
    cold, warm, _, _ = processes
    kept = {name for name, found in cold.items() if name != "dynamo" and found["kept"] != [None]}
    assert {name for name in kept if warm[name]["loaded"] != [True]} == set()
    assert len(kept) >= len(CASES) * 3 // 4, "most of these can be kept"
    if len(kept) == len(CASES):
        assert not warm["dynamo"]["loaded"]


def test_another_number_of_threads(processes):
    """The number is part of the kernels, and of how sums are rounded."""
    folder = processes[3]
    name = MODULES["source"]
    found = run_cases(folder, 1, [name])
    assert is_right(found[name])
    assert found[name]["loaded"] == [False]
    assert run_cases(folder, 1, [name])[name]["loaded"] == [True]
