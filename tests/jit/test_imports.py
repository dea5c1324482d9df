"""What is imported when, and how long it takes."""

import statistics

import children
import pytest

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
    first = children.run(CODE, *HEAVY)
    assert first["equal"]
    warm = children.run(CODE, *HEAVY)
    assert warm == {"equal": True, "heavy": [], "loaded": [True]}


def test_dtypes_that_other_packages_add_to_numpy():
    """As ml_dtypes does, which JAX imports."""
    found = children.run("""
        import ml_dtypes, npaccel
        assert any(np.dtype(t).itemsize == 1 and "float8" in t.__name__
                   for t in np.sctypeDict.values())
        convert = npaccel.jit(lambda x: np.float32(x) + 1, backend="eager")
        answer(result=convert(np.ones(2)).tolist())
    """)
    assert found == {"result": [2.0, 2.0]}


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
        ratio = statistics.median(children.run(TIMES)["ratio"] for _run in range(5))
        if ratio <= 1.1:
            return
    pytest.fail(f"import npaccel takes {ratio:.2f} times as long as import torch")
