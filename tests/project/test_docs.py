"""Every code block of the README and the pages runs, and prints what the page says.

Python blocks of a page share one namespace, from top to bottom. A ``text`` block
that follows one is its output. Shell blocks run in an empty folder, but for those
marked as run by ``.ci/run``. ``<!-- needs: cuda -->`` before a block says what it needs.
"""

import contextlib
import dataclasses
import doctest
import io
import itertools
import linecache
import os
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest

import npaccel

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
FENCE = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LANGUAGES = {"python", "sh", "text"}
CI_RUNS_IT = "run: .ci/run"
NEEDS_CUDA = "needs: cuda"
COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclasses.dataclass
class Block:
    """A fenced block: its language, its text, and the line before its first one."""

    language: str
    code: str
    mark: str
    line: int


def blocks(page):
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["code"],
            found["mark"] or "",
            text.count("\n", 0, found.start("code")),
        )
        for found in FENCE.finditer(text)
    ]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def pages_with(language, mark=None):
    return [
        page
        for page in PAGES
        if any(b.language == language and mark in {None, b.mark} for b in blocks(page))
    ]


class Page:
    """A page's Python blocks as a module whose lines are the page's."""

    def __init__(self, page, folder):
        self.module = types.ModuleType("page_" + re.sub(r"\W", "_", name_of(page)))
        self.path = folder / f"{self.module.__name__}.py"
        lines = [""] * len(page.read_text(encoding="utf-8").splitlines())
        for block in blocks(page):
            if block.language == "python":
                code = block.code.splitlines()
                lines[block.line : block.line + len(code)] = code
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.module.__file__ = str(self.path)
        sys.modules[self.module.__name__] = self.module
        linecache.checkcache(str(self.path))

    def run(self, block):
        """Run a block and return what it printed, npaccel's warnings with it."""
        code = compile("\n" * block.line + block.code, str(self.path), "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.filterwarnings("always", category=npaccel.errors.PerformanceWarning)
            warnings.showwarning = lambda message, category, *_: print(
                f"{category.__name__}: {message}"
            )
            exec(code, self.module.__dict__)
        return printed.getvalue()


def without_seconds(text):
    """Replace the seconds of a report, which differ from run to run, and the rules as wide."""
    text = re.sub(r"[\d.]+ (?:s|ms|µs|ns)\b", "# s", text)
    text = re.sub(r"^\d+(?= {2,})", "#", text, flags=re.MULTILINE)  # lines of the page
    return re.sub(r"-{2,}", "--", text)


def check_output(expected, printed, where):
    same = doctest.OutputChecker().check_output(
        without_seconds(expected), without_seconds(printed), COMPARE
    )
    assert same, f"{where} says\n\n{expected}\nand prints\n\n{printed}"


def run_page(page, folder, monkeypatch, *, cuda):
    """Run a page's Python blocks, those that need a GPU or the others, and check their output."""
    document = Page(page, folder)
    monkeypatch.setenv("COLUMNS", "80")  # Reports fit the terminal.
    todo = [block for block in blocks(page) if block.language in {"python", "text"}]
    npaccel.config.compile = "auto"  # As for who reads the page.
    try:
        for block, following in itertools.zip_longest(todo, todo[1:]):
            if block.language == "python" and (block.mark == NEEDS_CUDA) == cuda:
                printed = document.run(block)
                expected = following.code if following and following.language == "text" else ""
                check_output(expected, printed, f"{name_of(page)}:{block.line + 1}")
    finally:
        npaccel.config.reset()


@pytest.mark.inductor
@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_blocks_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "cache"))  # reports say what is new
    run_page(page, tmp_path, monkeypatch, cuda=False)


@pytest.mark.cuda
@pytest.mark.parametrize("page", pages_with("python", NEEDS_CUDA), ids=name_of)
def test_blocks_for_a_gpu_print_what_the_page_says(page, tmp_path, monkeypatch):
    import torch

    monkeypatch.setenv("NPACCEL_CACHE_DIR", str(tmp_path / "cache"))
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    run_page(page, tmp_path, monkeypatch, cuda=True)


@pytest.mark.parametrize("page", pages_with("sh"), ids=name_of)
def test_shell_blocks_succeed(page, tmp_path, own_cache):
    environment = dict(os.environ, NPACCEL_CACHE_DIR=str(own_cache))
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for block in blocks(page):
        if block.language != "sh":
            continue
        if block.mark == CI_RUNS_IT:
            assert "pip install" in block.code
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{name_of(page)}:{block.line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_of_a_kind_that_is_run(page):
    text = page.read_text(encoding="utf-8")
    # MyST's directives, ```{toctree} and the like, are no code.
    opened = len(re.findall(r"^```\w", text, re.MULTILINE))
    assert opened == len(blocks(page)), "a fence without a language, or one that isn't closed"
    assert {block.language for block in blocks(page)} <= LANGUAGES
    assert "```{code" not in text


def test_ci_takes_its_commands_from_the_readme():
    commands = [block.code for block in blocks(ROOT / "README.md") if block.language == "sh"]
    assert len(commands) == 2
    assert all(command.count("\n") == 1 for command in commands), "one line each"
    assert commands[0].rstrip().endswith("examples/quickstart.py")
    assert "pytest" in commands[1]


def test_the_reference_lists_what_the_package_exports():
    text = (ROOT / "docs/reference/index.md").read_text(encoding="utf-8")
    package, errors = (
        re.findall(r"^   (\w+)$", part, re.MULTILINE)
        for part in text.split(".. currentmodule:: npaccel.errors")
    )
    pytest.importorskip("dask.array", reason="Dask isn't installed")
    assert set(npaccel.dask.__all__) <= set(package)
    others = {*npaccel.testing.__all__, *npaccel.dask.__all__}
    package = [name for name in package if name not in others]
    also_errors = set(npaccel.__all__) & set(npaccel.errors.__all__)
    assert set(package) == set(npaccel.__all__) - also_errors - {"__version__", "errors"}
    assert sorted(errors) == sorted(npaccel.errors.__all__)


def test_dir_shows_public_names_only():
    """And all of them, also those that are imported when they're used."""
    names = {name for name in dir(npaccel) if not name.startswith("__")}
    others = {"NotCompiledError", "TransferError", "VerificationError"}
    modules = {"dask", "scipy", "sklearn", "testing"}
    assert names == {*npaccel.__all__, *others, *modules} - {"__version__"}
    assert all(hasattr(npaccel, name) for name in names)


def test_exports_are_sorted():
    assert npaccel.__all__ == sorted(npaccel.__all__)
    assert npaccel.errors.__all__ == sorted(npaccel.errors.__all__)


@pytest.mark.inductor
@pytest.mark.parametrize("name", npaccel.__all__)
def test_docstring_examples_run(name):
    thing = getattr(npaccel, name)
    if isinstance(thing, str):
        pytest.skip("a string")
    runner = doctest.DocTestRunner(optionflags=COMPARE, verbose=False)
    for test in doctest.DocTestFinder(recurse=False).find(thing, name):
        runner.run(test)
    assert runner.failures == 0
