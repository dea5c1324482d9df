"""Run SciPy's own tests on tensors, in SciPy alone and with `npaccel.array_api`, and compare.

    python tools/scipy_own_tests.py run                      # every module that has such tests
    python tools/scipy_own_tests.py run fft signal.windows   # some of them
    python tools/scipy_own_tests.py report                   # what only we fail, and totals

Each module of tests of the installed SciPy runs in two processes, with ``SCIPY_ARRAY_API`` set to
torch's arrays: once bare, once in ``npaccel.array_api()``, entered before the module is imported.
Outcomes are written test by test, so a module that runs out of time keeps what it has, and ``run``
goes on where it stopped. What may fail stands in ``scipy_own_tests.toml``, with the reason.
"""

from __future__ import annotations

import collections
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import click
import scipy

HERE = Path(__file__).parent
SITE = Path(scipy.__file__).parents[1]
WAYS = ("bare", "npaccel")

Outcomes = dict[str, list[str]]


def modules(wanted: tuple[str, ...], tests: str) -> list[str]:
    """Return the files of tests of the submodules, relative to where SciPy is installed."""
    found = []
    for path in sorted((SITE / "scipy").rglob("test_*.py")):
        name = str(path.relative_to(SITE))
        dotted = name.removesuffix(".py").replace("/tests/test_", ".").replace("/", ".")
        chosen = not wanted or any(
            dotted.removeprefix("scipy.") == one or dotted.startswith(f"scipy.{one}.")
            for one in wanted
        )
        has_tensors = re.search(r"\bxp\b", path.read_text(encoding="utf-8"))
        if chosen and (tests != "tensors" or has_tensors):
            found.append(name)
    return found


def run_module(module: str, way: str, seconds: float, backend: str, chosen: str) -> dict[str, Any]:
    """Run a file of tests in a process of its own; return what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        lines, settings = Path(folder, "outcomes"), Path(folder, "pytest.ini")
        # SciPy's own settings aren't installed with it.
        settings.write_text("[pytest]\nfilterwarnings =\n    error\n    always::UserWarning\n")
        command = [sys.executable, "-m", "pytest", "-q", "-c", str(settings), f"--rootdir={SITE}"]
        command += ["-p", "no:cacheprovider", "-p", "no:npaccel", "-p", "scipy_own_tests_plugin"]
        command += ["--timeout=90", "--tb=short", "-W", "default", str(SITE / module), "-m", chosen]
        environment = {
            **os.environ,
            "SCIPY_ARRAY_API": '["torch"]',
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            "SCIPY_OWN_TESTS_WAY": way,
            "SCIPY_OWN_TESTS_BACKEND": backend,
            "SCIPY_OWN_TESTS_OUTCOMES": str(lines),
        }
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                timeout=seconds,
                capture_output=True,
                text=True,
                check=False,
            )
            # 0 and 1: all ran; 5: there is none.
            end = "" if done.returncode in (0, 1, 5) else (done.stdout + done.stderr)[-2000:]
        except subprocess.TimeoutExpired:
            end = f"out of time after {seconds:g} s"
        text = lines.read_text(encoding="utf-8") if lines.exists() else ""
    outcomes: Outcomes = {}
    for line in text.splitlines():
        test, outcome, why = json.loads(line)
        if outcomes.get(test, ["passed"])[0] == "passed":
            outcomes[test] = [outcome, why]
    return {"seconds": round(time.monotonic() - begin, 1), "end": end, "outcomes": outcomes}


# -- What came of it ------------------------------------------------------------------------


def excuses() -> dict[str, list[str]]:
    """Return by reason the patterns of tests that may fail."""
    with (HERE / "scipy_own_tests.toml").open("rb") as file:
        return {one["reason"]: one["tests"] for one in tomllib.load(file).get("excused", [])}


def only_ours(result: dict[str, Any]) -> dict[str, str]:
    """Return the tests of a module that pass bare and not with npaccel, and why."""
    bare, ours = (result[way]["outcomes"] for way in WAYS)
    found = {}
    for test, (outcome, _) in bare.items():
        now, why = ours.get(test, ["missing", result["npaccel"]["end"]])
        if outcome == "passed" and now != "passed":
            found[test] = f"{now}: {why}"
    return found


def excused(test: str, known: dict[str, list[str]]) -> str:
    """Return the reason why a test may fail, or an empty string."""
    for reason, patterns in known.items():
        if any(fnmatch.fnmatchcase(test, one.replace("[", "[[]")) for one in patterns):
            return reason
    return ""


def totals(result: dict[str, Any], way: str) -> str:
    """Return how many tests passed, of those that weren't skipped."""
    counts = collections.Counter(outcome for outcome, _ in result[way]["outcomes"].values())
    ran = sum(counts.values()) - counts["skipped"]
    ended = " (not all)" if result[way]["end"] else ""
    return f"{counts['passed']:,} of {ran:,}{ended}"


def read(path: Path) -> dict[str, Any]:
    """Return the results so far."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__)
def main() -> None:
    """Run the command."""


RESULTS = click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("build/scipy_own_tests.json"),
    show_default=True,
    help="The file with the outcomes of all tests.",
)


@main.command()
@click.argument("submodules", nargs=-1)
@RESULTS
@click.option("--seconds", default=900.0, show_default=True, help="For a module, one way.")
@click.option("--backend", default="eager", show_default=True, help="npaccel's option.")
@click.option("--again", type=click.Choice([*WAYS, "both"]), help="Run what has results, too.")
@click.option("--failed", is_flag=True, help="Only modules with tests that only we fail.")
@click.option(
    "--tests",
    type=click.Choice(["tensors", "arrays", "all"]),
    default="all",
    show_default=True,
    help="Those that SciPy has for several libraries, the others, or both.",
)
@click.option("--slow", is_flag=True, help="What SciPy marks as slow, too.")
def run(
    submodules: tuple[str, ...],
    results: Path,
    seconds: float,
    backend: str,
    again: str | None,
    failed: bool,
    tests: str,
    slow: bool,
) -> None:
    """Run the tests of submodules, as in ``fft`` or ``signal.windows``; all by default."""
    results.parent.mkdir(parents=True, exist_ok=True)
    marks = {"tensors": "array_api_backends", "arrays": "not array_api_backends", "all": ""}[tests]
    chosen = " and ".join(part for part in (marks, "" if slow else "not slow") if part)
    for module in modules(submodules, tests):
        known = read(results).get(module, {})
        if failed and not (len(known) == len(WAYS) and only_ours(known)):
            continue
        for way in WAYS:
            if way in known and again not in (way, "both"):
                continue
            known[way] = run_module(module, way, seconds, backend, chosen)
            click.echo(f"{module} {way}: {totals(known, way)}, {known[way]['seconds']:g} s")
            # Another run may have written meanwhile.
            found = read(results)
            found.setdefault(module, {})[way] = known[way]
            results.write_text(json.dumps(found, indent=0), encoding="utf-8")
    report_on(results)


@main.command()
@RESULTS
def report(results: Path) -> None:
    """List what passes bare and fails with npaccel, and how many tests pass."""
    report_on(results)


def report_on(results: Path) -> None:
    """Print a line for each module and each test that only we fail; raise SystemExit if any."""
    known, used, wrong = excuses(), collections.Counter[str](), 0
    sums = collections.Counter[str]()
    for module, result in sorted(read(results).items()):
        if len(result) < len(WAYS):
            continue
        found = only_ours(result)
        for way in WAYS:
            for outcome, _ in result[way]["outcomes"].values():
                sums[f"{way} {outcome}"] += 1
        if any(result[way]["outcomes"] for way in WAYS):
            ways = ", ".join(f"{way} {totals(result, way)}" for way in WAYS)
            click.echo(f"{module}: {ways}")
        for test, why in found.items():
            reason = excused(test, known)
            used[reason] += 1
            if not reason:
                wrong += 1
                click.echo(f"    {test}\n        {why}")
        for way in WAYS:
            if result[way]["end"]:
                click.echo(f"    {way}: {result[way]['end']}")
    for reason, count in used.items():
        if reason:
            click.echo(f"excused {count}: {reason}")
    click.echo(", ".join(f"{name} {count:,}" for name, count in sorted(sums.items())))
    click.echo(f"passed bare and not with npaccel, without a reason: {wrong}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
