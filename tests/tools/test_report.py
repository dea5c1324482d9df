"""The report: what it says of which line, as text, as data and as HTML."""

import gc
import html.parser
import inspect
import json
import math
import re

import numpy as np
import pytest

import npaccel
from npaccel._report import Graph, Log, Report
from npaccel._report.details import Details, LineCode, Timing
from npaccel._report.log import Fallback, Loop, Tier

pytestmark = pytest.mark.filterwarnings("ignore::npaccel.errors.PerformanceWarning")

offset = 1.0


def helper(x):
    return x * x + 1


def smooth(x):
    y = helper(x)
    z = np.zeros(3)
    return y @ y, z + offset


def stops(x):
    y = np.sin(x)
    print(y.shape, file=Quiet)
    return y + 1, np.ones(3)


class Quiet:
    write = staticmethod(lambda text: None)


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return next(first + i for i, line in enumerate(lines) if text in line)


def engines(report, file=__file__):
    return {
        line.number: line.engine
        for block in report.blocks
        if block.file == file
        for line in block.lines
        if line.engine
    }


@pytest.fixture
def eager():
    return npaccel.jit(smooth, backend="eager", cache=False)


def test_lines_of_a_graph_and_of_what_is_called(eager):
    eager(np.ones((4, 4), np.float32))
    report = eager.report()
    assert engines(report) == {
        line_of(smooth, "helper(x)"): "interpreted",
        line_of(smooth, "zeros"): "interpreted",
        line_of(smooth, "y @ y"): "interpreted",
        line_of(helper, "x * x"): "interpreted",
    }
    assert [block.name for block in report.blocks] == ["smooth", "helper"]
    assert [(one.line, one.wide, one.narrow) for one in report.narrowed] == [
        (line_of(smooth, "zeros"), "float64", "float32")
    ]


@pytest.mark.parametrize(("default_float", "dtype"), [("float64", "f4"), ("float32", "f8")])
def test_nothing_is_narrowed_in_64_bit(default_float, dtype):
    wide = npaccel.jit(smooth, backend="eager", cache=False, default_float=default_float)
    wide(np.ones((4, 4), dtype))
    assert wide.report().narrowed == ()
    assert "narrowed" not in str(wide.report())


def test_a_break_and_what_is_around_it():
    jitted = npaccel.jit(stops, backend="eager", cache=False)
    jitted(np.ones(3, np.float32))
    report = jitted.report()
    (broken,) = report.breaks
    assert broken.line == line_of(stops, "print")
    found = engines(report)
    assert found[line_of(stops, "print")] == "NumPy"
    assert found[line_of(stops, "np.sin")] == "interpreted"
    assert [one.line for one in report.narrowed] == [line_of(stops, "np.ones")]
    notes = {n for block in report.blocks for line in block.lines for n in line.notes}
    assert any("move the output behind the call" in note for note in notes)


def test_the_condition_that_failed(eager, monkeypatch):
    eager(np.ones((4, 4)))
    eager(np.ones((5, 5)))
    eager(np.ones((5, 5), np.float32))
    monkeypatch.setitem(globals(), "offset", 2.0)
    eager(np.ones((4, 4)))
    conditions = [graph.guard for graph in eager.report().recompilations]
    assert conditions == [
        "x: float64[4, 4] before, float64[5, 5] now",
        "x: float64[5, 5] before, float32[5, 5] now",
        "offset == 1.0; now 2.0",
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x: x.T, "x: float64[4, 3] before, float64[3, 4] with strides (8, 24) now"),
        (lambda x: 3, "x: float64[4, 3] before, 3 now"),
        (lambda x: [x], "x: float64[4, 3] before, list now"),
    ],
)
def test_arguments_of_another_kind(change, told):
    jitted = npaccel.jit(lambda x: np.sum(x), backend="eager", cache=False)
    x = np.ones((4, 3))
    jitted(x), jitted(change(x))
    assert jitted.report().graphs[-1].guard == told


def test_measuring_is_asked_for(eager):
    x = np.ones((4, 4))
    eager(x)
    assert eager.report().timing is None
    assert eager.report().break_even is None
    report = eager.report(measure=True)
    assert report.timing.signature == "x: float64[4, 4]"
    assert 0 < report.timing.compiled < 1
    assert "paid off" in str(report) or "pay off" in str(report)
    assert "compiled, " in str(report).splitlines()[1]
    wide = eager.report(measure=(np.ones((9, 9)),))
    assert wide.timing.signature == "x: float64[9, 9]"


def test_arguments_are_not_kept_alive(eager):
    eager(np.ones((4, 4)))
    gc.collect()
    with pytest.raises(ValueError, match=r"gone.*report\(measure=\(x, y\)\)"):
        eager.report(measure=True)


def test_measuring_changes_nothing():
    def count(x, parts):
        x += 1
        return x * parts["b"][0]

    jitted = npaccel.jit(count, backend="eager", cache=False)
    x, parts = np.zeros(3), {"b": [np.ones(3)]}
    jitted(x, parts)
    assert jitted.report(measure=True).timing is not None
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("plain", "compiled", "even"),
    [(3e-3, 1e-3, 1000), (1e-3, 1e-3, math.inf), (1e-3, 3e-3, math.inf)],
)
def test_break_even(plain, compiled, even):
    log = Log()
    log.add_graph(Graph("x", False, "inductor", 2.0))
    log.timing = Timing(plain, compiled)
    report = Report("f", log)
    assert report.break_even == even
    assert report.to_dict()["break_even"] == (even if even == 1000 else None)
    assert ("paid off after 1,000 calls" if even == 1000 else "doesn't pay off") in str(report)


def test_copies_between_host_and_device():
    log = Log()
    log.add_graph(Graph("x", False, "inductor", 2.0, details=Details(to_device=800, to_host=8)))
    assert "graph 0 copies 800 bytes to the device and 8 bytes back" in str(Report("f", log))


def test_to_dict_is_json(eager):
    x = np.ones((4, 4), np.float32)
    eager(x)
    eager.report(measure=True)
    data = json.loads(json.dumps(eager.report().to_dict()))
    assert data["blocks"][0]["name"] == "smooth"
    assert data["narrowed"][0]["narrow"] == "float32"
    assert set(data["stages"]) >= {"capture", "rest"}


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_whole_and_escaped():
    jitted = npaccel.jit(lambda x: np.where(x < 3, x.ndim != "<script>", x), backend="eager")
    jitted(np.ones(3))
    tags = Tags()
    tags.feed(jitted.report()._repr_html_())
    assert not tags.open
    assert "script" not in str(tags.open)
    assert any("<script>" in text for text in tags.text)


@pytest.mark.inductor
def test_kernels_of_a_line_also_from_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path))
    seen = []
    for _ in range(2):
        jitted = npaccel.jit(smooth)
        jitted(np.ones((4, 4)))
        report = jitted.report()
        line = line_of(smooth, "y @ y")
        code = jitted.source(line=line)
        seen.append((engines(report), report.narrowed, code.partition("\n")[0]))
        assert 'extern "C"' in code
        assert "extern_kernels.mm" in code
        with pytest.raises(ValueError, match=rf"`line=1` isn't compiled; lines of .*{line}"):
            jitted.source(line=1)
        stages = report.stages
        assert sum(stages.values()) == pytest.approx(sum(g.seconds for g in report.graphs))
        assert all(seconds >= 0 for seconds in stages.values())
        assert len(report.artifacts) == 1
    assert [graph.loaded for graph in report.graphs] == [True]
    assert set(stages) == {"load"}
    assert seen[0] == seen[1]
    assert set(seen[0][0].values()) <= {"C++", "library", "compiled"}
    assert "<details>" in report._repr_html_()


def test_loops_say_which_lines_they_drive():
    def turns(x, n):
        for _ in range(n):
            x = np.sin(x) + 1
        return x

    jitted = npaccel.jit(turns, backend="eager", cache=False, loops="compile")
    jitted(np.ones(100), 5)
    found = engines(jitted.report())
    assert found[line_of(turns, "for _")] == "Python"
    assert found[line_of(turns, "np.sin")] == "interpreted"


# -- What NumPy runs is never called compiled, and what it says fits a terminal ----------


def draws(rng, n):
    steps = rng.normal(size=n)
    noise = rng.random(n)
    return np.cumsum(steps) + noise


def test_draws_are_named():
    jitted = npaccel.jit(draws, backend="eager", cache=False)
    jitted(np.random.default_rng(0), 5)
    found = engines(jitted.report())
    assert found[line_of(draws, "rng.normal")] == "draws"
    assert found[line_of(draws, "rng.random")] == "draws"
    assert found[line_of(draws, "cumsum")] == "interpreted"


def in_two_steps(x):
    y = np.sort(x)
    return y + 1


def _log_of(function, **tier):
    """Return the log of a function that was compiled, and of who makes its calls."""
    lines = tuple(
        LineCode(__file__, line_of(function, text), ("cpp_fused_0",)) for text in ("sort", "+ 1")
    )
    log = Log()
    log.add_graph(Graph("x: float64[50]", False, "inductor", 0.5, details=Details(lines)))
    log.add_tier(Tier("x: float64[50]", **tier))
    return log


@pytest.mark.parametrize(
    ("tier", "engine", "told"),
    [
        (
            {"state": "NumPy's, which is faster", "numpy": 3e-6, "compiled": 5e-6},
            "NumPy",
            "NumPy is as fast, and makes the calls: the decorator can go (x: float64[50]: 5 µs "
            "compiled, 3 µs in NumPy)",
        ),
        ({"state": "NumPy's so far"}, "NumPy", "NumPy makes the calls: compiling would take"),
        ({"state": "being compiled"}, "NumPy", "NumPy makes the calls: they're compiled beside"),
        (
            {"state": "compiled", "numpy": 6e-6, "compiled": 2e-6},
            "C++",
            "npaccel makes this 3.0 times as fast (x: float64[50]: 2 µs compiled, 6 µs in NumPy)",
        ),
        ({"state": "compiled"}, "C++", "compiled, and not compared with NumPy"),
    ],
)
def test_the_verdict_and_the_lines_agree(tier, engine, told):
    report = Report("f", _log_of(in_two_steps, **tier), in_two_steps.__code__)
    assert set(engines(report).values()) == {engine}
    assert " ".join(str(report).split()).startswith(f"f: 1 graph, 0 recompilations, 0 fallbacks, "
                                                    f"500 ms compiling {told}")  # fmt: skip
    assert told.partition("(")[0] in html_of(report)


def test_kinds_of_arguments_that_numpy_gets_stand_in_one_line():
    log = Log()
    for i in range(5):
        log.add_tier(Tier(f"t: {2**i}", "NumPy's so far", counted=i + 1))
    log.add_tier(Tier("t: 32", "compiled", 7, 6e-6, 2e-6))
    log.add_tier(Tier("t: 64", "compiled", 7, 6e-6, 3e-6))
    lines = [
        " ".join(line.split()) for line in str(Report("f", log, in_two_steps.__code__)).splitlines()
    ]
    assert "t: 1, and 4 other kinds of arguments, are NumPy's so far, 15 calls by NumPy" in lines
    assert sum(line.startswith(("t: 32 is compiled", "t: 64 is compiled")) for line in lines) == 2


def test_a_loop_that_numpy_runs_isnt_compiled():
    def f(x):
        for i in range(3):
            x = x + i
        return x

    first = line_of(f, "for i")
    log = Log()
    lines = tuple(LineCode(__file__, first + i, ("cpp_fused_0",)) for i in (1, 2))
    log.add_graph(Graph("x: float64[50]", False, "inductor", 0.5, details=Details(lines)))
    log.add_loop(Loop(__file__, first, "for i in range(3):", "NumPy", "faster", first + 1))
    report = Report("f", log, f.__code__)
    assert engines(report) == {first: "Python", first + 1: "NumPy", first + 2: "C++"}
    log.add_loop(Loop(__file__, first, "for i in range(3):", "compiled body", "", first + 1))
    log.set_choice(f"{__file__}: lines {first + 2}-{first + 2}", "in NumPy: 2 µs per call")
    report = Report("f", log, f.__code__)
    assert engines(report) == {first: "Python", first + 1: "C++", first + 2: "NumPy"}


def test_nothing_was_called():
    def f(x):
        return x + 1

    told = str(Report("f", Log(), f.__code__))
    assert "no call so far, or only while npaccel was switched off" in told


def test_a_report_fits_the_terminal(monkeypatch):
    long = ", ".join(f"argument_{i}: float64[100, 200]" for i in range(9))
    log = Log()
    log.add_graph(
        Graph(long, False, "inductor", 0.5, reason="x has another shape than before", guard=long)
    )
    log.add_loop(Loop(__file__, line_of(smooth, "zeros"), "for i in range(n):", "NumPy", long))
    log.add_note(f"a note {long}")
    log.add_fallback(Fallback(__file__, 1, "x = 1", f"a cause {long}", "a remedy", "break"))
    report = Report("f", log, smooth.__code__)
    for columns in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        wide = [line for line in str(report).splitlines() if len(line) > columns]
        assert all(line.strip().startswith("/") for line in wide)  # A path stays whole.
    words = set(re.findall(r"[\w\[\]:,]+", long))
    assert words <= set(re.findall(r"[\w\[\]:,]+", str(report)))


def html_of(report):
    return html.unescape(report._repr_html_())
