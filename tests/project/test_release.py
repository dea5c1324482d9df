"""What a release is made of says one version, and issue templates ask for what is needed."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import npaccel

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(
    path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
)


@pytest.mark.parametrize("name", ["CITATION.cff", "docs/guide/cite.md", "CHANGELOG.md"])
def test_the_version_is_the_packages(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    number = r"^(?: *version[ =:{]+|## )(\d+\.\d+\.\d+)"
    assert re.search(number, text, re.MULTILINE)[1] == npaccel.__version__


def test_there_are_templates():
    assert len(TEMPLATES) >= 3


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_templates_ask_for_info(path):
    text = path.read_text(encoding="utf-8")
    assert "npaccel info" in text
    assert text.count("required: true") >= 3


@pytest.fixture
def draw(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")

    def load(name):
        spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/draw_{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # as dataclasses want it
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("name", ["speeds", "call", "loops"])
def test_drawings_are_what_their_scripts_draw(name, draw):
    module = draw(name)
    kept = (ROOT / f"docs/_static/{name}.svg").read_text(encoding="utf-8")
    assert kept == module.drawing(), f"run python tools/draw_{name}.py docs/_static/{name}.svg"


def test_drawings_of_results_are_what_the_files_say(draw):
    drawings = draw("results").drawings()
    assert drawings
    for name, text in drawings.items():
        kept = (ROOT / "docs/_static" / name).read_text(encoding="utf-8")
        assert kept == text, "run python tools/draw_results.py docs/_static"


def test_the_workflow_runs_the_scripts():
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    for script in (".ci/run", ".ci/torch", ".ci/wheel"):
        assert script in text
        assert (ROOT / script).stat().st_mode & 0o100
