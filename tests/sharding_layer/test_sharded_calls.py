"""What calls with DTensors do besides NumPy's functions, and what is told where ranks differ."""

import pytest
import torch.distributed
from ranks import Ranks
from sweep import FULL

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_gloo_available(), reason="torch is built without gloo"
)

in_a_sweep = pytest.mark.skipif(not FULL, reason="takes some time")


@pytest.fixture
def told(ranks, request):
    """What each rank answers to the check of the test's name."""
    name = request.function.__name__.removeprefix("test_")
    answers = [one["calls"][name] for one in ranks.answers]
    for one in answers:
        assert not (isinstance(one, dict) and "error" in one), one["error"]
    return answers


def test_compiled(told):
    for one in told:
        assert one["graphs"] == [False]
        assert_step(one)


def assert_step(one):
    """Look at what is told of calls of `rank_calls.step`, compiled now or before."""
    assert one["close"]
    assert one["not kept"] == [""]
    assert one["placements"] == ["(Replicate(),)", "(Shard(dim=0),)", "(Shard(dim=0),)"]
    (sums, counts, *rows) = one["collectives"]
    assert sums[:3] == ("all-reduce", "sum", 80)
    assert counts[:3] == ("all-reduce", "sum", 40)
    # Of 1000 rows four ranks have others than of 1001, in both slices.
    assert {row[:2] for row in rows} == {("all-to-all", "slice")}
    assert f"graph 0 has {2 + len(rows)} collectives a call" in one["text"]


def test_code_of_an_earlier_process(ranks):
    if len(ranks.answers) > 2:
        pytest.skip("meshes of the program are of two ranks")
    found = Ranks("run_kept.py", 2, timeout=100)
    for one in found.answers:
        assert one is not None, found.outputs
        assert one["compiler"] == []
        assert one["graphs"] == [True]
        assert_step(one)
        assert one["same"]
        assert not any(one["others"].values()), one["others"]
        assert one["one rank"]  # What one rank lacks all of them compile.
    name, text = found.answers[0]["in vain"]
    assert name == "CollectiveError"
    assert "sums = (ones[:, :, None] * x[:, None]).sum(axis=0)" in text


@in_a_sweep
def test_compiled_in_parts(told):
    assert all(told)


def test_random_numbers(told):
    assert all(one == (True, []) for one in told)


def test_drawn_by_numpy(told):
    assert all(one == (True, [("broadcast", "random numbers", 96)]) for one in told)


def test_placements(told):
    for one in told:
        assert all(same for same, _ in one.values())
        assert one["0"][1] == "(Shard(dim=0),)"
        assert one["whole"][1] == "(Shard(dim=1),)"


def test_mesh_of_two_dimensions(told):
    assert all(all(one) for one in told)


def test_written_arguments(told):
    assert all(all(one) for one in told)


def test_globals_and_numbers(told):
    assert all(one == [4.0, 5.0, 0.0, 5.0] for one in told)


def test_containers(told):
    assert all(one == ((4, 3), True, True) for one in told)


def test_read_in_parts(told):
    assert all(one[0] for one in told)
    assert sum(shape[0] for _, shape, _ in told) == 7


def test_branch_on_a_value(told):
    for same, written, placements, causes, strict in told:
        assert same
        assert written
        assert placements == "(Replicate(),)"
        assert len(causes) == 1
        assert causes[0].endswith("each rank gathers the whole arrays and computes all of it")
        assert strict == "NotCompiledError"


def test_loops(told):
    assert all(one == (True, 5, []) for one in told)


def test_derivatives(told):
    assert all(one == (True, "(Replicate(),)") for one in told)


def test_gradients(told):
    for one in told:
        for (name, axis), (same, placements) in one.items():
            assert all(same), name
            # What the function gives back torch adds to, where ranks have nothing elsewhere.
            placed = f"(Shard(dim={axis}),)" if name != "normalised" else placements[0]
            assert placements == [placed, "(Replicate(),)"], name


def test_sizes_that_data_decide(told):
    assert all(all(one) for one in told)


def test_gradients_in_part(told):
    for same, asks, (name, text) in told:
        assert same
        assert asks
        assert name == "RuntimeError"
        assert "modified by an inplace operation" in text


def test_second_derivatives(told):
    assert all(all(one) for one in told)


def test_gradients_that_are_refused(told):
    for refused, same in told:
        for name, why in {
            "writes": "it writes to an argument",
            "draws": "it draws random numbers",
            "draws_there": "it draws random numbers",
            "branches": "it can't be captured as one graph",
            "adds": "so does a tensor that isn't a DTensor",
        }.items():
            error, text = refused[name]
            assert error == "UnsupportedArrayError", text
            assert why in text
        assert same  # Nothing was written to it.


def test_nan_and_signs(told):
    assert all(told)


def test_dtypes(told):
    for one in told:
        assert [dtype for dtype, same in one.items() if not same] == []


def test_errors(told):
    for one in told:
        assert one["meshes"][0] == "MixedDevicesError"
        assert one["outside"][0] == "UnsupportedArrayError"
        assert "'given' is a DTensor that isn't an argument" in one["outside"][1]
        assert one["shapes"] == "ValueError"
        assert one["index"] == "IndexError"
        assert one["number"][0] == one["axis"][0] == one["kind"][0] == "UnsupportedArrayError"
        assert one["dtype"][0] == "UnsupportedDtypeError"


def test_other_code_on_another_rank(told):
    for name, text in told:
        assert name == "RankMismatchError"
        assert "ranks disagree on code: rank 0 has " in text


def test_other_shapes_on_another_rank(told):
    for name, text in told:
        assert name == "RankMismatchError"
        assert "argument 'y': rank 0 has float64(2,), rank 1 has float64(4, 2)" in text


def test_settings(told):
    for same, notes, _ in told:
        assert same
        assert "`verify` compares nothing in calls with DTensors" in notes
        assert "numpy.errstate has no effect on Dask arrays and DTensors" in notes


def test_without_a_mesh(told):
    assert all(one == ("ndarray", True) for one in told)


def test_waiting_in_vain(told):
    (name, text), *others = told
    assert name == "CollectiveError"
    assert "rank 0 waited for the other ranks in vain, at " in text
    assert "return x - x.mean(axis=0)" in text
    assert all(one == ("none", "") for one in others)


@in_a_sweep
@pytest.mark.parametrize(
    ("fault", "backend", "where"),
    [
        ("ends", "eager", "return y - y.mean(axis=0)"),
        ("ends", "inductor", "return y - y.mean(axis=0)"),
        ("waits", "inductor", "return y - y.mean(axis=0)"),
        ("compiles", "eager", "before it begins"),
    ],
)
def test_a_rank_that_does_not_come(fault, backend, where):
    found = Ranks("run_faults.py", 2, fault, backend, timeout=100)
    (told, _) = found.answers
    assert told is not None, found.outputs
    assert "rank 0 waited for the other ranks in vain" in told
    assert where in told
