"""``NPACCEL_LOG`` prints what stages did, and ``logging`` has it too; else there is nothing."""

import logging
import re

import children
import pytest

from npaccel._process import logs

STAGES = ["compile", "guards", "passes", "cache", "loops"]

PROGRAM = """
import contextlib, io
errors = io.StringIO()
with contextlib.redirect_stderr(errors), warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    import npaccel
    scale = 2.0

    from smoothing import smooth

    @npaccel.jit(backend="eager")
    def shifted(x):
        return (x + x[x > 2].sum()) * scale

    @npaccel.jit(backend="eager")
    def broken(x):
        y = x + 1
        print(y.sum(), file=io.StringIO())
        return y * 2

    def use():
        broken(np.arange(5.0))
        shifted(np.arange(5.0))
        smooth(np.arange(5.0), 3)

    use()
    written = errors.tell()
    use()  # as before
    again = errors.tell() - written
    scale = 3.0
    shifted(np.arange(5.0))
    from npaccel._cache.store import DiskCache, cache_key
    disk = DiskCache(sys.argv[1])
    key = cache_key("a")
    disk.load(key)
    disk.store(key, {"code.py": b"1"})
    disk.load(key)
answer(lines=errors.getvalue().splitlines(), again=again,
       warnings=[str(one.message) for one in warned if "NPACCEL_LOG" in str(one.message)])
"""


LOOP = """
import npaccel
import numpy as np

@npaccel.jit(backend="eager", loops="compile")
def smooth(x, steps):
    for _ in range(steps):
        x = x + np.roll(x, 1)
    return x
"""


def lines(tmp_path, **variables):
    (tmp_path / "smoothing.py").write_text(LOOP)
    found = children.run_prepared(PROGRAM, tmp_path / "cache", path=tmp_path, **variables)
    assert found["again"] == 0  # Calls that are made as before log nothing.
    return found


def stages(found):
    return {re.match(r"npaccel\.(\w+): ", line)[1] for line in found["lines"]}


def test_all_stages_tell_what_they_did(tmp_path):
    found = lines(tmp_path, NPACCEL_LOG="all")
    text = "\n".join(found["lines"])
    assert stages(found) == set(STAGES)
    assert not found["warnings"]
    assert re.search(r"npaccel\.guards: shifted: fails: scale .*2\.0", text)
    cache = [line for line in found["lines"] if line.startswith("npaccel.cache")]
    assert [line.split()[1] for line in cache[-3:]] == ["miss:", "stored:", "hit:"]
    assert re.search(r"npaccel\.compile: shifted: captured in [\d.]+ s\n", text)
    assert re.search(r"npaccel\.compile: shifted: compiled: capture [\d.]+ s", text)
    assert re.search(r"npaccel\.compile: broken: graph break: .*:\d+: ", text)
    assert re.search(r"npaccel\.guards: shifted: scale changed since the last", text)
    assert re.search(r"npaccel\.loops: smooth: has loops", text)
    assert re.search(r"npaccel\.loops: .*smoothing\.py:7: compiled body", text)
    assert re.search(r"npaccel\.passes: masked_sizes: \d+ nodes before, \d+ after", text)


def test_nothing_is_printed_unasked(tmp_path):
    assert lines(tmp_path) == {"lines": [], "again": 0, "warnings": []}


@pytest.fixture
def printed(monkeypatch, capsys):
    """Return what stages print, of a record of each; they're reset afterwards."""
    before = [(log, log.level, list(log.handlers)) for log in logs._ALL.values()]

    def tried(text):
        logs.print_stages(text)
        for stage in STAGES:
            getattr(logs, stage).debug("done")
        return capsys.readouterr().err.splitlines()

    yield tried
    for log, level, handlers in before:
        log.setLevel(level)
        log.handlers[:] = handlers


@pytest.mark.parametrize(
    ("text", "stages"),
    [("Loops, guards", ["guards", "loops"]), ("cache,", ["cache"]), ("all", STAGES)],
)
def test_stages_that_are_named(printed, text, stages):
    assert printed(text) == [f"npaccel.{stage}: done" for stage in stages]


def test_an_unknown_stage_is_told(printed):
    said = "no stage 'cash'; the stages are compile, guards, passes, cache, loops, and all"
    with pytest.warns(UserWarning, match=said):
        assert printed("cash,loops") == ["npaccel.loops: done"]


def test_a_program_may_configure_the_logger_itself():
    found = []

    class Kept(logging.Handler):
        def emit(self, record):
            found.append((record.name, record.levelno, record.getMessage()))

    root, handler = logging.getLogger("npaccel"), Kept()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        for stage in STAGES:
            getattr(logs, stage).debug("%s", stage)
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    assert found == [(f"npaccel.{stage}", logging.DEBUG, stage) for stage in STAGES]
