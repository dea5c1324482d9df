"""The line while something compiles: in terminals only, and only when it takes long."""

import io
import time
from contextlib import redirect_stderr

import numpy as np
import pytest

import npaccel
from npaccel._process import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.delenv("NPACCEL_PROGRESS", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def compile_one(stream):
    with redirect_stderr(stream):
        npaccel.jit(lambda x: np.sin(x) + 1, backend="eager", cache=False)(np.ones(3))


def test_a_line_with_the_time(terminal, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.05)
    with redirect_stderr(terminal), progress.notice("f(x: float64[3])"):
        time.sleep(0.5)
    text = terminal.getvalue()
    assert "compiling f(x: float64[3])" in text
    last = text.rstrip().splitlines()[-1]
    assert last.endswith(" s")
    assert float(last.split()[-2]) >= 0.5


def test_nothing_for_what_is_quick(terminal):
    compile_one(terminal)
    assert not terminal.getvalue()


def test_compilations_are_shown(terminal, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    compile_one(terminal)
    assert "<lambda>(x: float64[3])" in terminal.getvalue()


@pytest.mark.parametrize("value", ["0", "off"])
def test_the_environment_switches_it_off(terminal, monkeypatch, value):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setenv("NPACCEL_PROGRESS", value)
    compile_one(terminal)
    assert not terminal.getvalue()


def test_not_without_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    stream = io.StringIO()
    compile_one(stream)
    assert not stream.getvalue()


def test_a_bar_passes_everything_on(terminal):
    with redirect_stderr(terminal):
        assert list(progress.bar([1, 2, 3], "trying")) == [1, 2, 3]
    assert "trying" in terminal.getvalue()
