"""Run many random programs: python tests/fuzz/run.py --programs N --seed S --backend eager."""

from __future__ import annotations

import argparse
import collections
import gc
import os
import re
import sys
import time
from pathlib import Path

import torch
from fuzz_checking import Failure, Verdict, check, dynamic_of
from fuzz_gradients import check_gradient
from fuzz_objects import check_object, draw_object
from fuzz_programs import Program, draw


def checked(program: Program, options: argparse.Namespace) -> Verdict:
    """Check a program as the options say."""
    if options.gradients:
        return check_gradient(program, options.backend)
    dynamic = dynamic_of(options.backend, program.seed)
    return check(program, options.backend, dynamic, options.device, options.default_float)


def minimised(program: Program, failure: Failure, options: argparse.Namespace) -> Program:
    """Drop statements and results for as long as the same kind of difference stays."""

    def fails(candidate: Program) -> bool:
        found = checked(candidate, options).failure
        return found is not None and found.kind == failure.kind

    changed = True
    while changed:
        changed = False
        for name in ("statements", "results"):
            for i in reversed(range(len(getattr(program, name)))):
                parts = getattr(program, name)
                kept = (*parts[:i], *parts[i + 1 :])
                if not kept:
                    continue
                candidate = program.with_(**{name: kept})
                if fails(candidate):
                    program, changed = candidate, True
    return program


def main() -> int:
    """Draw, check, minimise, report."""
    options = _options()
    if options.objects:
        return _check_objects(options)
    causes: collections.Counter[str] = collections.Counter()
    counts: collections.Counter[str] = collections.Counter()
    gc.collect()
    gc.freeze()  # Or each look for garbage goes through a million objects: a sixth of the time.
    gc.set_threshold(100_000, 50, 1000)
    start = time.perf_counter()
    for i in range(options.programs):
        seed = options.seed + i
        program = draw(seed, options.long)
        verdict = checked(program, options)
        counts.update(["programs"])
        counts.update(name for name in ("raised", "unstable", "unraised") if getattr(verdict, name))
        counts["statements"] += len(program.statements)
        causes.update(verdict.breaks)
        counts["broken"] += bool(verdict.breaks)
        counts["gradients"] += verdict.is_compared
        if verdict.failure is not None:
            counts["failed"] += 1
            _save(program, verdict.failure, options)
        if options.device == "cuda" and not usable(options.device):
            print(f"seed {seed}: the device can't be used any more; starting over", flush=True)
            _summary(causes, counts, options)
            _start_over(options, i + 1)
        if i % 20 == 19:
            torch.compiler.reset()
            gc.collect()
            rate = (i + 1) / (time.perf_counter() - start)
            print(f"seed {seed}: {dict(counts)}, {rate:.1f} programs/s", flush=True)
    _summary(causes, counts, options)
    return min(counts["failed"], 1)


def _check_objects(options: argparse.Namespace) -> int:
    """Draw and check classes with state."""
    failed, start = 0, time.perf_counter()
    for i in range(options.programs):
        program = draw_object(options.seed + i)
        failure = check_object(program, options.backend)
        if failure is not None:
            failed += 1
            print(f"\nseed {program.seed}: {failure.text}\njitted: {program.jitted}", flush=True)
            print(program.text, flush=True)
        if i % 20 == 19:
            torch.compiler.reset()
            gc.collect()
            rate = (i + 1) / (time.perf_counter() - start)
            print(f"{i + 1} classes, {failed} failed, {rate:.1f} classes/s", flush=True)
    print(f"{options.programs} classes, {failed} failed")
    return min(failed, 1)


def usable(device: str) -> bool:
    """Whether a device still works: an assertion that fails there ends all use by a process."""
    try:
        torch.ones(1, device=device).item()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return False
    return True


def _start_over(options: argparse.Namespace, done: int) -> None:
    """Run the programs that are left in a new process in this one's place."""
    given = [*sys.argv, "--programs", str(options.programs - done)]
    os.execv(sys.executable, [sys.executable, *given, "--seed", str(options.seed + done)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--default-float", default="float64", help="float32: with 64-bit data")
    parser.add_argument("--gradients", action="store_true", help="compare them with differences")
    parser.add_argument("--objects", action="store_true", help="classes with state")
    parser.add_argument("--long", action="store_true", help="arrays longer than a vector")
    parser.add_argument("--minimise", action="store_true")
    parser.add_argument("--out", type=Path, help="folder for programs that differ")
    return parser.parse_args()


def _save(program: Program, failure: Failure, options: argparse.Namespace) -> None:
    if options.minimise:
        program = minimised(program, failure, options)
        failure = checked(program, options).failure or failure
    text = "\n".join(f"# {line}" for line in f"{failure.kind}\n{failure.text}".splitlines())
    body = program.text().split("def program")[1].split("SIZES")[0]
    print(f"\nseed {program.seed}: {failure.kind}\n{failure.text}\ndef program{body}", flush=True)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        target = options.out / f"seed{program.seed}.py"
        target.write_text(f"{text}\n{program.text()}", encoding="utf-8")


def _summary(
    causes: collections.Counter[str],
    counts: collections.Counter[str],
    options: argparse.Namespace,
) -> None:
    lines = [f"{count:6d} {cause}" for cause, count in _grouped(causes).most_common(60)]
    text = "\n".join([str(dict(counts)), "what ran uncompiled, by cause:", *lines])
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"summary{options.seed}.txt").write_text(text, encoding="utf-8")


def _grouped(causes: collections.Counter[str]) -> collections.Counter[str]:
    grouped: collections.Counter[str] = collections.Counter()
    examples: dict[str, str] = {}
    for text, count in causes.items():
        cause, _, line = text.partition("\n    ")
        cause = re.sub(r"\d+", "#", cause)[:140]
        grouped[cause] += count
        examples.setdefault(cause, line)
    return collections.Counter(
        {f"{cause}   e.g. {examples[cause]}": count for cause, count in grouped.items()}
    )


if __name__ == "__main__":
    sys.exit(main())
