"""What a process has timed is known to the next one."""

import os
import subprocess
import sys

import numpy as np
import pytest

from npaccel._cache.store import default_cache
from npaccel._compiler import tier_buckets, tiers, verdicts
from npaccel._compiler.call_kinds import kind
from npaccel._report import Log
from npaccel._runtime import artifacts
from npaccel._runtime import options as runtime_options
from npaccel._runtime.options import Options

X = np.ones(3)


@pytest.fixture
def process(monkeypatch, tmp_path):
    """Return what makes a tiered function as a new process would, and who makes its calls."""
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path))
    now, calls = [0.0], []

    class Clock:
        def perf_counter(self):
            return now[0]

    def make(seconds, *, cache=True, code=lambda x: x):
        monkeypatch.setattr(tier_buckets, "_prices", tier_buckets.deque(maxlen=16))
        for module in (tiers, tier_buckets):
            monkeypatch.setattr(module, "time", Clock())

        class Dispatcher:
            on_new = None

            def get_ready(self):
                pass

            def __call__(self, args, kwargs):
                calls.append("compiled")
                now[0] += seconds["compiled"]

        options = Options(default_float="float64", cache=cache)
        made = tiers.Tiered(
            code,
            options,
            Log(),
            runtime_options.current(),
            lambda *_: Dispatcher(),
            lambda *_: None,
        )

        def in_numpy(x):
            calls.append("numpy")
            now[0] += seconds["numpy"]

        made.python = in_numpy

        def who(count, value=X):
            calls.clear()
            for _ in range(count):
                made((value,), {})
            return list(calls)

        return who

    return make


def test_code_that_was_faster_is_asked_for_before_long_calls_are_made(process):
    seconds = {"numpy": 0.5, "compiled": 0.05}
    assert process(seconds)(20).count("numpy") >= tier_buckets._USUAL_SECONDS / 0.5
    assert process(seconds)(20)[0] == "compiled"
    assert process(seconds)(20, np.ones((2, 2)))[0] == "numpy"  # Of those nothing is known.


def test_code_that_was_faster_is_asked_for_after_as_long_as_loading_takes(process):
    seconds = {"numpy": 0.004, "compiled": 0.001}
    process(seconds)(2000)
    before = process(seconds)(2000).index("compiled")
    assert tier_buckets._LOAD_SECONDS <= before * 0.004 < 3 * tier_buckets._LOAD_SECONDS


def test_what_was_slower_is_compiled_later_than_what_is_not_known(process):
    seconds = {"numpy": 0.1, "compiled": 0.2}
    first = process(seconds)(400).index("compiled")
    later = process(seconds)(400).index("compiled")
    assert later == pytest.approx(2**tier_buckets._WAS_SLOWER * first, rel=0.1)


def test_the_last_verdict_counts(process):
    process({"numpy": 0.1, "compiled": 0.2})(400)
    process({"numpy": 0.2, "compiled": 0.1})(400)
    assert process({"numpy": 0.2, "compiled": 0.1})(1) == ["compiled"]


@pytest.mark.parametrize("change", ["code", "environment", "cache", "damaged"])
def test_what_is_not_heeded(change, process, monkeypatch, tmp_path):
    seconds = {"numpy": 0.5, "compiled": 0.05}
    process(seconds, cache=change != "cache")(20)
    entries = list(tmp_path.rglob("index.json"))
    assert len(entries) == (change != "cache")
    options = {}
    if change == "code":
        options["code"] = lambda x: x + 1
    elif change == "environment":
        monkeypatch.setattr(artifacts, "environment", lambda: ("another machine",))
    elif change == "damaged":
        entries[0].write_bytes(entries[0].read_bytes().replace(b'"numpy":', b'"nump_":'))
        with pytest.warns(Warning, match="damaged|isn't"):
            assert process(seconds)(1) == ["numpy"]
    assert process(seconds, **options)(1) == ["numpy"]


@pytest.mark.parametrize("times", [{}, {"compiled": "1", "numpy": 2.0}, {"compiled": -1.0}])
def test_times_that_are_none(times, process, tmp_path):
    process({"numpy": 0.5, "compiled": 0.05})(20)

    def function(x):
        return x

    spec = tiers.FunctionSpec(function, Options(), Log())
    kept = verdicts.Verdicts(spec)
    kept.store(kind([X]), 1.0, 2.0)
    assert kept.find(kind([X])) == verdicts.Verdict(1.0, 2.0)
    (entry,) = default_cache().load_group(kept._group)
    default_cache().remove(entry.key, group=entry.group)
    metadata = {"environment": entry.metadata["environment"], **times}
    default_cache().store(entry.key, {}, metadata, group=entry.group)
    assert kept.find(kind([X])) is None


def test_kinds_that_another_process_cannot_know():
    spec = tiers.FunctionSpec(lambda x: x, Options(), Log())
    kept = verdicts.Verdicts(spec)
    kept.store((object(),), 1.0, 2.0)
    assert kept.find((object(),)) is None


_PROGRAM = """
import time
import numpy as np, npaccel
from npaccel._compiler import tier_buckets

tier_buckets._USUAL_SECONDS, tier_buckets._LONG_CALL = 0.05, 1e-3  # Whatever the machine's speed.

@npaccel.jit
def f(x):
    for_one = np.sin(x) + 0.25 * np.cos(x)
    return np.exp(-np.tan(for_one) ** 2) + np.log1p(for_one * for_one)

x = np.linspace(0.0, 1.0, 1_000_000)
f(x)
(tier,) = f._npaccel_log.tiers
first, end = tier.calls, time.monotonic() + 60
while not tier.compiled and time.monotonic() < end:
    f(x)
print(first, tier.calls, tier.compiled < tier.numpy)
"""


def test_the_second_run_of_a_script_is_compiled_from_the_first_call(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_PROGRAM)
    own = {"NPACCEL_CACHE_DIR": str(tmp_path / "cache"), "NPACCEL_COMPILE": "auto"}
    runs = [
        subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert [first for first, _, _ in runs] == ["1", "0"]
    assert runs[0][2] == "True"
    assert int(runs[1][1]) <= tier_buckets._CLOSE_SAMPLES
