"""Find the functions of a script that are worth compiling, and say what to change."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import itertools
import json
import linecache
import os
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable, Container, Iterable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import npaccel
from npaccel._compiler import tier_buckets
from npaccel._report.text import duration, table
from npaccel._runtime.options import disabled
from npaccel._tools import flat_scripts
from npaccel._tools.profile_calls import Profile, Watched
from npaccel._tools.trial import MOVE, Trial, tried

#: A function is hot from this share of the run's time on, by itself.
HOT = 0.03
#: Statements outside of functions become functions where they take this share of the run's time.
FLAT = 0.2
#: A run that can be made faster by less is left alone.
WORTHWHILE = 1.1
#: Programs that import NumPy, npaccel, and the compiler.
_IMPORTS = (
    "import numpy",
    "import npaccel, torch",
    "from npaccel._compiler.compiler_import import import_compiler as f; f('inductor', 'cpu')",
)
#: Maximum number of functions that are tried.
MOST = 12
#: The decorator for what is compiled from the first call on.
_NOW = '@npaccel.jit(compile="now")'
#: Less than this isn't worth a change.
WORTH = 1.2


@dataclasses.dataclass(frozen=True)
class Finding:
    """One function of the table.

    Parameters
    ----------
    target : str
        ``module:function``, as `npaccel run --jit` takes it.
    file : str
    line : int
    calls : int
    share : float
        Of the run's time, without the other functions that are named.
    state : str
        "compiled", "compiled in part", "not compiled", "differs".
    speed_up : float or None
    advice : str
        What to change.
    jit : bool
        Whether the advice is to compile it.
    decorator : str
        Which decorator it takes for that.
    wants_change : bool
        Whether the advice is to write some of it in another way before it's compiled.
    """

    target: str
    file: str
    line: int
    calls: int
    share: float
    state: str
    speed_up: float | None
    advice: str
    jit: bool
    decorator: str = "@npaccel.jit"
    wants_change: bool = False


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Findings of `npaccel doctor`.

    Parameters
    ----------
    script : str
    seconds : float
        Of the run in plain NumPy.
    exit_code : int
        The script's.
    findings : tuple of Finding
    speed_up : float
        Of the whole run, as estimated, if all advice to compile is followed.
    text : str
        The script with functions made of statements that take long, decorated where that is
        the advice; empty where none were made.
    diff : str
        What changes with that.
    start : float
        Seconds that each run takes longer to start and end, with npaccel.
    compiling : float
        Seconds that each run compiles what isn't kept on disk, if all that advice is followed.
    """

    script: str
    seconds: float
    exit_code: int
    findings: tuple[Finding, ...]
    speed_up: float
    text: str = ""
    diff: str = ""
    start: float = 0.0
    compiling: float = 0.0

    @property
    def seconds_then(self) -> float:
        """Seconds of a later run, as estimated, if all advice to compile is followed."""
        return self.seconds / self.speed_up + self.start + self.compiling

    @property
    def targets(self) -> list[str]:
        """The functions to compile."""
        return [finding.target for finding in self.findings if finding.jit]

    @property
    def is_now(self) -> bool:
        """Whether some of them have to be compiled from the first call on, or they never are."""
        return any(one.decorator == _NOW for one in self.findings if one.jit)

    @property
    def differs(self) -> bool:
        """Whether a compiled function doesn't give NumPy's answer."""
        return any(finding.state == "differs" for finding in self.findings)

    def to_json(self) -> str:
        """Return all of it as JSON."""
        chosen = {"targets": self.targets, "is_now": self.is_now}
        return json.dumps({**dataclasses.asdict(self), **chosen}, indent=1)

    def __str__(self) -> str:
        lines = [f"{self.script}: {duration(self.seconds)} in NumPy"]
        if not self.findings:
            return f"{lines[0]}, and no function of its own that works on arrays takes 3 % of it"
        rows: list[tuple[str, ...]] = [("function", "line", "share", "calls", "state", "speed-up")]
        for one in self.findings:
            speed = "" if one.speed_up is None else f"{one.speed_up:.1f}x"
            place = f"{Path(one.file).name}:{one.line}"
            rows.append((one.target, place, f"{one.share:.0%}", str(one.calls), one.state, speed))
        lines += ["", *table(rows), "", "what to change:"]
        lines += [f"  {one.target.partition(':')[2]}: {one.advice}" for one in self.findings]
        if self.targets:
            told = f"with that, the run is estimated to be {self.speed_up:.1f} times as fast"
            if self.diff:
                lines += ["", f"{told}:", "", self.diff, ""]
                lines.append("--write FILE writes the script so changed")
            else:
                lines += [
                    "",
                    f"{told} once all is compiled; to try it without changing a file:",
                    f"  npaccel run {'--compile now ' if self.is_now else ''}"
                    f"{' '.join(f'--jit {t}' for t in self.targets)} {self.script}",
                ]
            lines += self._told_of_start()
        else:
            lines += ["", self._told_of_nothing()]
        return "\n".join(lines)

    def _told_of_nothing(self) -> str:
        after = [one for one in self.findings if one.wants_change and one.share >= 1 - 1 / WORTH]
        if not after:
            return "nothing of it makes this run much faster: leave it to NumPy"
        names = ", ".join(one.target.partition(":")[2] for one in after)
        share = sum(one.share for one in after)
        return (
            "nothing makes this run much faster as it is; with these lines changed, ask again: "
            f"{names} ({share:.0%} of it)"
        )

    def _told_of_start(self) -> list[str]:
        if not self.start:
            return []
        told = f"with npaccel each run starts and ends {duration(self.start)} later"
        if self.compiling:
            told += (
                ", and subgraphs between lines that can't be compiled, which aren't kept on disk, "
                f"take {duration(self.compiling)}"
            )
        if self.seconds_then > self.seconds / WORTHWHILE:
            kept = " as it is; with those lines as advised all of it is kept on disk"
            return [
                f"{told}: it pays for longer runs than this one{kept if self.compiling else ''}"
            ]
        times = self.seconds / self.seconds_then
        then = duration(self.seconds_then)
        return [f"{told}: this one would take {then} from the second on, {times:.1f} times as fast"]


def diagnose(
    script: str,
    args: Sequence[str],
    options: dict[str, Any],
    progress: Callable[[Sequence[Watched]], Iterable[Watched]] = iter,
    *,
    spec: ModuleSpec | None = None,
    shown: str = "",
) -> Diagnosis:
    """Run a script, try its hot functions, and choose those to compile.

    Parameters
    ----------
    script : str
    args : sequence of str
    options : dict
        Of `npaccel.jit`.
    progress : callable
        Passes on what is tried, one after the other.
    spec : ModuleSpec, optional
        Of the module that the script is.
    shown : str, optional
        How a command names it.
    """
    text, shown_script = _text_of(script), script
    with tempfile.TemporaryDirectory() as folder:
        if script.endswith(".ipynb"):
            script = _written(folder, script, text)
        profile = Profile()
        with disabled():
            profile.run(script, args, named=shown_script, spec=spec)
        made = _made_functions(profile, text)
        again = functools.partial(_made_functions, profile, text)
        if made is not None:
            profile = Profile()
            with disabled(), contextlib.redirect_stdout(io.StringIO()):  # It has been shown.
                path = _written(folder, script, made.text)
                profile.run(path, args, named=shown_script, spec=spec)
        found = _diagnosed(profile, shown or shown_script, made, options, progress)
    kept = (
        {one.first for one in made.extracted if f"__main__:{one.name}" in found.targets}
        if made
        else ()
    )
    changed = again(kept) if kept else None
    if changed is None:
        return found
    decorators = {one.target.partition(":")[2]: one.decorator for one in found.findings if one.jit}
    decorated = changed.compiled(decorators)
    difference = flat_scripts.diff(text, decorated, shown_script)
    return dataclasses.replace(found, text=decorated, diff=difference)


def _text_of(script: str) -> str:
    """Return a script's text, that of a notebook's cells one after the other."""
    with tokenize.open(script) as file:
        text = file.read()
    if not script.endswith(".ipynb"):
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    parts = []
    for i, cell in enumerate(cells, 1):
        lines = "".join(cell["source"]).splitlines()
        if lines and lines[0].startswith("%%"):  # Another language, or timed.
            lines = [f"# {line}" for line in lines]
        kept = [f"# {line}" if line.lstrip()[:1] in ("%", "!", "?") else line for line in lines]
        parts.append("\n".join([f"# In [{i}]", *kept]))
    return "\n\n".join(parts) + "\n"


def _written(folder: str, script: str, text: str) -> str:
    path = Path(folder) / f"{Path(script).stem}.py"
    path.write_text(text, encoding="utf-8")
    linecache.checkcache(str(path))
    return str(path)


def _made_functions(
    profile: Profile, text: str, only: Container[int] | None = None
) -> flat_scripts.Rewritten | None:
    """Make functions of statements, where the script's own take a good part of the time."""
    if profile.exit_code or sum(profile.statements.values()) < FLAT * profile.seconds:
        return None
    least = HOT * profile.seconds
    return flat_scripts.rewritten(text, profile.statements, profile.space, least, only)


def _diagnosed(
    profile: Profile,
    script: str,
    made: flat_scripts.Rewritten | None,
    options: dict[str, Any],
    progress: Callable[[Sequence[Watched]], Iterable[Watched]],
) -> Diagnosis:
    """Try the hot functions of a run, and choose those to compile."""
    trials = [tried(watched, options) for watched in progress(_candidates(profile))]
    chosen = _chosen(trials)
    shown = [t for t in trials if t in chosen or t.watched.own >= HOT * profile.seconds]
    shown.sort(key=lambda trial: -trial.watched.own)
    saved = sum(trial.saved for trial in chosen)
    speed_up = profile.seconds / max(profile.seconds - saved, 1e-9)
    if speed_up < WORTHWHILE:
        chosen, speed_up = [], 1.0
    compiling = sum(trial.compiling for trial in chosen)
    start, importing = _start(with_compiler=compiling > 0) if chosen else (0.0, 0.0)
    return Diagnosis(
        script,
        profile.seconds,
        profile.exit_code,
        tuple(_finding(trial, chosen, profile, made) for trial in shown),
        speed_up,
        start=start,
        compiling=compiling + importing,
    )


def _start(*, with_compiler: bool) -> tuple[float, float]:
    """Measure how much longer a process takes that imports npaccel, and one that compiles.

    Starting and ending count, which takes torch a second where it has compiled. Both are 0 where
    that fails.
    """
    home = str(Path(npaccel.__file__).parents[1])
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    times = []
    for program in _IMPORTS if with_compiler else _IMPORTS[:-1]:
        start = time.perf_counter()
        done = subprocess.run(  # noqa: S603 -- our own words
            [sys.executable, "-P", "-c", program],  # Nothing is imported from the current folder.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, check=False,
        )  # fmt: skip
        times.append(time.perf_counter() - start)
        if done.returncode:
            return 0.0, 0.0
    start, *importing = (max(after - before, 0.0) for before, after in itertools.pairwise(times))
    return start, sum(importing)


def _candidates(profile: Profile) -> list[Watched]:
    """Return the hot functions, and those that call them more than once in a run."""
    hot = [
        watched
        for watched in profile.watched.values()
        if watched.has_arrays and watched.own >= HOT * profile.seconds
    ]
    callers = {
        caller
        for watched in hot
        for caller in watched.outer()
        if caller.takes_arrays and caller.calls > 1 and caller not in hot
    }
    ranked = sorted(hot, key=lambda w: -w.own) + sorted(callers, key=lambda w: -w.seconds)
    return ranked[:MOST]


def _chosen(trials: Sequence[Trial]) -> list[Trial]:
    """Choose what saves most together; none of these calls another one."""
    worth = [trial for trial in trials if trial.speed_up >= WORTH and trial.saved_each_run > 0]
    best: list[list[Trial]] = [[]]
    for trial in worth:  # All sets of functions that don't call each other: there are few.
        best += [[*others, trial] for others in best if not any(_related(trial, o) for o in others)]
    return max(best, key=lambda some: sum(trial.saved_each_run for trial in some))


def _related(one: Trial, other: Trial) -> bool:
    """Whether one of two functions calls the other, directly or not."""
    return one.watched in other.watched.outer() or other.watched in one.watched.outer()


def _finding(
    trial: Trial,
    chosen: Sequence[Trial],
    profile: Profile,
    made: flat_scripts.Rewritten | None,
) -> Finding:
    watched = trial.watched
    code = watched.function.__code__
    extracted = {one.name: one for one in made.extracted} if made else {}
    of_lines = extracted.get(watched.name)
    advice = _advice(trial, chosen)
    if of_lines is not None:
        first, last = of_lines.first, of_lines.last
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        if trial in chosen:
            advice = f"make a function of {lines}, and {advice}"
        else:
            advice = f"{lines}, tried as a function: {advice}"
    return Finding(
        target=watched.target,
        file=code.co_filename,
        line=of_lines.first if of_lines else code.co_firstlineno,
        calls=watched.calls,
        share=watched.own / profile.seconds,
        state=_state(trial),
        speed_up=trial.timing.speed_up if trial.timing else None,
        advice=advice,
        jit=trial in chosen,
        decorator=_decorator(trial),
        wants_change=trial not in chosen and _wants_change(trial),
    )


def _wants_change(trial: Trial) -> bool:
    return trial.problem == MOVE or (trial.is_right and bool(_causes(trial)))


def _state(trial: Trial) -> str:
    if trial.check is not None and not trial.check.ok:
        return "differs"
    report = trial.report
    if report is None or not (report.graphs or any(o.engine == "Numba" for o in report.loops)):
        return "not compiled"
    return "compiled in part" if report.fallbacks else "compiled"


def _advice(trial: Trial, chosen: Sequence[Trial]) -> str:
    """Say what to change, in a line or two."""
    if trial.problem == MOVE:
        return MOVE
    if trial.problem:
        return f"leave it: {trial.problem}"
    assert trial.check is not None
    if not trial.check.ok:
        first = trial.check.differences[0]
        return f"leave it: it isn't as in NumPy at line {first.line}, {first.why or first.kind}"
    causes = _causes(trial)
    if trial in chosen:
        advice = f"put {_decorator(trial)} on it"
        if trial.check.narrowed:
            advice += (
                '; its results become 32-bit floats, @npaccel.jit(default_float="float64") keeps '
                "them"
            )
        return "; ".join([advice, *causes])
    for other in chosen:
        if other.watched in trial.watched.outer():
            return f"nothing: it's compiled with {other.watched.name}, which calls it"
        if trial.watched in other.watched.outer():
            return f"nothing: compiling {other.watched.name}, which it calls, gives more"
    if trial.speed_up >= WORTH and trial.saved_each_run <= 0:
        told = (
            f"once compiled it's {trial.speed_up:.1f} times as fast, which saves "
            f"{duration(trial.saved)}, but subgraphs between lines that can't be compiled aren't "
            f"kept on disk, and each run compiles them for {duration(trial.compiling)}"
        )
        return "; ".join([told, *causes])
    if causes:
        return "; ".join(causes)
    return f"leave it: compiled it's {trial.speed_up:.1f} times as fast as NumPy"


def _decorator(trial: Trial) -> str:
    """Return the decorator: by default NumPy would make all calls where they take no longer."""
    is_short = trial.watched.calls == 1 or trial.watched.seconds < tier_buckets.price()
    return _NOW if is_short else "@npaccel.jit"


def _causes(trial: Trial) -> list[str]:
    """Return what keeps parts of it from being compiled, and what to write instead."""
    report = trial.report
    found = [] if report is None else [f"line {o.line}: {o.fix}" for o in report.fallbacks]
    return list(dict.fromkeys(found))[:3]
