"""Run scikit-learn's own tests bare and accelerated, and list what only bare passes.

    python tools/sklearn_own_tests.py FOLDER                     # its array API tests
    python tools/sklearn_own_tests.py FOLDER --only metrics      # those of some modules
    python tools/sklearn_own_tests.py FOLDER --everything        # all tests of all modules
    python tools/sklearn_own_tests.py FOLDER --apart             # the CPU counts as a device

Each module runs in processes of its own, with ``SCIPY_ARRAY_API=1``: once as it is, and once with
``npaccel.sklearn.accelerated()`` entered. FOLDER keeps the outcome of each test, so that a run that
was ended goes on where it was, and what was changed since is run again with ``--again``. What is
known to differ stands in ``sklearn_own_tests.toml`` with its reason. The status is 1 where
accelerated code fails another test that bare code passes.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXCUSED = Path(__file__).with_suffix(".toml")
#: What pytest selects where not everything runs.
ARRAY_API = "array_api or array_namespace or torch"
#: How a module can be run; "apart": accelerated, with the CPU as a device.
BARE, ACCELERATED, APART = "bare", "accelerated", "apart"


def package() -> Path:
    """Return the folder of scikit-learn, which its tests are installed in."""
    import sklearn

    return Path(sklearn.__file__).parent


def modules(only: list[str], everything: bool) -> list[str]:
    """Return the test modules as paths below scikit-learn's folder."""
    root = package()
    found = []
    for path in sorted(root.rglob("tests/test_*.py")):
        name = path.relative_to(root).as_posix()
        wanted = not only or any(part in name for part in only)
        if wanted and (
            everything or name == "tests/test_common.py" or "array_api" in path.read_text()
        ):
            found.append(name)
    return found


# -- In a process of its own ---------------------------------------------------------------------


class Recorder:
    """A plugin of pytest that writes how each test ended, as a line of JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note a test that begins: if the process dies, it was this one."""
        self._ended[nodeid] = ("passed", "")
        self._write(nodeid, "begun", "")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take the worst of set-up, call and tear-down."""
        if report.skipped or report.failed:
            outcome = "skipped" if report.skipped else "failed"
            if hasattr(report, "wasxfail"):
                outcome = "xfailed"
            self._ended[report.nodeid] = (outcome, _said(report))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write what is known of a test that has ended."""
        self._write(nodeid, *self._ended[nodeid])

    def pytest_collectreport(self, report: Any) -> None:
        """Write that a module couldn't be imported."""
        if report.failed:
            self._write(f"{report.nodeid} (collection)", "failed", _said(report))

    def _write(self, nodeid: str, outcome: str, said: str) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps([nodeid, outcome, said]) + "\n")


def _said(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = f"{crash.path}:{crash.lineno}: {crash.message}" if crash else str(report.longrepr)
    return text.partition("\n")[0][:300]


@contextlib.contextmanager
def _way(way: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if way != BARE:
            import npaccel
            import npaccel.sklearn
            from npaccel._sklearn.dispatch import transfers

            stack.enter_context(npaccel.options(backend="eager"))
            stack.enter_context(npaccel.sklearn.accelerated())
            if way == APART:
                stack.enter_context(transfers.cpu_as_device())
        yield


def run_here(module: str, way: str, everything: bool, path: Path) -> int:
    """Run a module's tests in this process."""
    import pytest

    root = package().parent
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "pytest.ini")
        # scikit-learn's own settings aren't installed; these are the same in what matters.
        settings.write_text("[pytest]\naddopts = -p no:cacheprovider -p no:npaccel --tb=short\n")
        args = [f"--rootdir={root}", "-c", str(settings), "-q", str(package() / module)]
        args += [] if everything else ["-k", ARRAY_API]
        with _way(way):
            return int(pytest.main(args, plugins=[Recorder(path)]))


# -- All of them ---------------------------------------------------------------------------------


def kept(folder: Path, module: str, way: str, everything: bool) -> Path:
    """Return the file of a module's outcomes."""
    which = "all" if everything else "array_api"
    return folder / f"{module.replace('/', '.').removesuffix('.py')}.{which}.{way}.jsonl"


def run(module: str, way: str, everything: bool, path: Path, limit: float) -> None:
    """Run a module's tests in a new process."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--here", module, way, str(part)]
    command += ["--everything"] if everything else []
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    log = path.with_suffix(".log")
    with log.open("w") as out:
        try:
            subprocess.run(
                command,
                check=False,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            out.write(f"ended after {limit:g} s\n")
    part.touch()
    part.rename(path)


def outcomes(path: Path) -> dict[str, tuple[str, str]]:
    """Return how each test ended, and what it said; a process that died failed its last test."""
    found: dict[str, tuple[str, str]] = {}
    for line in path.read_text().splitlines():
        name, outcome, said = json.loads(line)
        found[name] = (outcome, said)
    ended = {"begun": ("failed", "the process died, or its time was over")}
    return {name: ended.get(outcome, (outcome, said)) for name, (outcome, said) in found.items()}


def excused() -> dict[str, str]:
    """Return the reason of each pattern of tests that are known to differ."""
    entries = tomllib.loads(EXCUSED.read_text())["excused"] if EXCUSED.exists() else []
    return {pattern: one["reason"] for one in entries for pattern in one["tests"]}


def compare(bare: Path, other: Path, reasons: dict[str, str]) -> tuple[str, list[str], set[str]]:
    """Return a line of totals, what fails without an excuse, and the excuses that were needed."""
    theirs, ours = outcomes(bare), outcomes(other)
    count = collections.Counter(outcome for outcome, _ in theirs.values())
    wrong, used = [], set()
    known = 0
    for name, (outcome, _) in theirs.items():
        found, said = ours.get(name, ("not run", "the process ended before"))
        if outcome not in ("passed", "xfailed") or found in ("passed", "xfailed"):
            continue
        pattern = next((p for p in reasons if fnmatch.fnmatchcase(name, _literal(p))), None)
        if pattern is None:
            wrong.append(f"{name}: {found}: {said}")
        else:
            used.add(pattern)
            known += 1
    both = sum(
        outcome == "passed" and ours.get(name, ("",))[0] == "passed"
        for name, (outcome, _) in theirs.items()
    )
    text = f"{both} of {count['passed']} passed ({count['skipped']} skipped, {count['failed']} "
    return f"{text}fail bare, {known} excused, {len(wrong)} to mend)", wrong, used


def _literal(pattern: str) -> str:
    """Return a pattern in which brackets are themselves."""
    return pattern.replace("[", "[[]")


def main() -> int:
    """Run what was asked for, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where outcomes are kept")
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help="of paths of modules")
    parser.add_argument("--everything", action="store_true", help="not only tests of the array API")
    parser.add_argument("--apart", action="store_true", help="let the CPU count as a device")
    parser.add_argument("--again", action="store_true", help="run accelerated code once more")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for each module")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    reasons = excused()
    bad = 0
    unused = set(reasons)
    for module in modules(options.only, options.everything):
        way = APART if options.apart else ACCELERATED
        paths = [kept(options.folder, module, one, options.everything) for one in (BARE, way)]
        for one, path in zip((BARE, way), paths, strict=True):
            if not path.exists() or (options.again and one != BARE):
                run(module, one, options.everything, path, options.limit)
        line, wrong, used = compare(*paths, reasons)
        bad += len(wrong)
        unused -= used
        print(f"{module}: {line}", *(f"  {text}" for text in wrong), sep="\n", flush=True)
    if not options.only:
        for pattern in sorted(unused):
            print(f"no longer needed: {pattern}")
    print(f"{bad} tests to mend")
    return bool(bad)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        module_, way_, path_ = sys.argv[2:5]
        sys.exit(run_here(module_, way_, "--everything" in sys.argv, Path(path_)))
    sys.exit(main())
