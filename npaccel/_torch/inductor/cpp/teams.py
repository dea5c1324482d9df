"""Have threads take parts of a kernel's loops, and do without them where they are late.

Inductor writes `#pragma omp parallel`, and each thread has its share of a loop. A loop then takes
as long as its last thread. On a machine that has other work that is a time slice of the
scheduler's, some milliseconds, in which the calling thread would have done the loop a hundred
times. And arrays of sums have room for the threads that there were while compiling: more of them
write beyond.

Here loops have parts, numbered by `tid` as Inductor's threads are. They are as many as there were
threads while compiling; each thread takes one part after the other. So one thread alone computes
the same bits as many. When the others have been late, the calling thread takes all parts for a
while (`teams.h`).

Read from torch/_inductor/codegen/cpp.py (WorkSharing, LoopLevel.lines,
CppKernelProxy.codegen_loops_impl) of 2.11 to 2.15.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from npaccel._process import logs
from npaccel._torch.inductor.cpp.bounds_checks import block_of

_REGION = re.compile(r"#pragma omp parallel\b(?P<clauses>.*)")
_LOOP_OF_THREADS = re.compile(r"#pragma omp parallel for\b.*")
_THREADS = re.compile(r"num_threads\((\d+)\)")
_CONDITION = re.compile(r"\bif\s*\((.*)\)\s*$")
_SHARED = re.compile(r"#pragma omp for\b(?P<clauses>.*)")
_SINGLE = re.compile(r"#pragma omp single\b.*")
_COLLAPSED = re.compile(r"collapse\((\d+)\)")
_SIMD = re.compile(r"\bsimd(?: simdlen\(\d+\))?")
_TID = "int tid = omp_get_thread_num();"
_FOR = re.compile(r"\s*for\s*\(")
_STEP = re.compile(r"(?:\+\+(?P<name>\w+)|(?P<of>\w+)\s*\+=(?P<step>.*))", re.DOTALL)


class _UnknownFormError(Exception):
    """Code that isn't of the form in which Inductor writes loops."""


@dataclasses.dataclass
class _Loop:
    """The head of a loop.

    Parameters
    ----------
    variable, first, end, step : str
        C++.
    span : tuple of int
        Where the head is.
    """

    variable: str
    first: str
    end: str
    step: str
    span: tuple[int, int]


def shared_by_teams(source: str, threads: int) -> str:
    """Return a kernel's code such that threads take parts of its loops.

    Parameters
    ----------
    source : str
        C++ as Inductor writes it, or as kernels of npaccel's own are written.
    threads : int
        How many there are while compiling.
    """
    place = 0
    source = source.replace("omp_get_max_threads()", str(threads))
    while (found := _REGION.search(source, place)) is not None:
        if _LOOP_OF_THREADS.match(source, found.start()):
            text = f"{found.group()} num_threads(npaccel::members({threads}))"
            end = found.end()
        else:
            begin, last = block_of(source, found.end())
            end = last + 1
            try:
                text = _region(found["clauses"], source[begin + 1 : last], threads)
            except _UnknownFormError as error:
                logs.compile.warning("threads of a kernel have to wait for each other: %s", error)
                text = source[found.start() : end]
        source = source[: found.start()] + text + source[end:]
        place = found.start() + len(text)
    return source


@functools.cache
def team_helpers() -> str:
    """Return the C++ that such code calls."""
    return Path(__file__).with_suffix(".h").read_text(encoding="utf-8")


def _region(clauses: str, body: str, threads: int) -> str:
    """Write a region's parts, each a loop over those that a thread takes."""
    said = _THREADS.search(clauses)
    parts = said[1] if said else str(threads)
    condition = _CONDITION.search(_THREADS.sub("", clauses))
    if condition is not None:
        parts = f"(({condition[1]}) ? {parts} : 1)"
    before, tid, loops = body.partition(_TID)
    if not tid or before.strip():
        raise _UnknownFormError(f"a region that begins with {body[:60]!r}")
    phases = _BETWEEN.join(
        f"#pragma omp single\n{phase}" if is_single else f"{_EACH_PART}\n{{\n{_shared(phase)}\n}}"
        for is_single, phase in _phases(loops)
    )
    phases = re.sub(r"\bomp_get_num_threads\(\)", "npaccel_team_parts", phases)
    return _REGION_OF_PARTS.format(parts=parts, phases=phases)


_EACH_PART = (
    "for (int tid = omp_get_thread_num(); tid < npaccel_team_parts; tid += npaccel_members)"
)
_BETWEEN = """
npaccel_team.share_done();
#pragma omp barrier
npaccel_team.share_begun();
"""
_REGION_OF_PARTS = """{{
const int npaccel_team_parts = {parts};
npaccel::Team npaccel_team(npaccel_team_parts);
#pragma omp parallel num_threads(npaccel_team.count) if(npaccel_team.count > 1)
{{
const int npaccel_members = omp_get_num_threads();
{phases}
npaccel_team.share_done();
}}
npaccel_team.end();
}}"""


def _phases(body: str) -> Iterator[tuple[bool, str]]:
    """Yield what threads wait for each other between, and whether one thread does it alone."""
    if len(_SHARED.findall(body)) == 1 and not _SINGLE.search(body):
        yield False, body
        return
    place = 0
    while body[place:].strip():
        single = _SINGLE.search(body, place)
        is_single = single is not None and not body[place : single.start()].strip()
        start = single.end() if is_single and single is not None else place
        begin, end = block_of(body, start)
        if body[start:begin].strip():
            raise _UnknownFormError(f"between loops: {body[start:begin]!r}")
        phase = body[begin : end + 1]
        if not is_single and len(_SHARED.findall(phase)) != 1:
            raise _UnknownFormError("loops that threads share, in one block")
        yield is_single, phase
        place = end + 1


def _shared(phase: str) -> str:
    """Write the share that a part has of the one loop that threads share."""
    pragma = _SHARED.search(phase)
    if pragma is None:
        raise _UnknownFormError("no loop that threads share")
    collapsed = _COLLAPSED.search(pragma["clauses"])
    loops = _heads(phase, pragma.end(), int(collapsed[1]) if collapsed else 1)
    simd = _SIMD.search(pragma["clauses"])
    heads = _heads_of_a_part(loops, f"#pragma omp {simd.group()}\n" if simd else "")
    for loop, head in reversed(list(zip(loops, heads, strict=True))):
        first, end = loop.span
        phase = phase[:first] + head + phase[end:]
    return phase[: pragma.start()] + phase[pragma.end() :].lstrip()


def _heads(text: str, place: int, count: int) -> list[_Loop]:
    """Read the heads of loops in each other."""
    loops = []
    for _ in range(count):
        found = _FOR.match(text, place)
        if found is None:
            raise _UnknownFormError(f"no loop: {text[place : place + 60]!r}")
        end = _closing(text, found.end() - 1)
        start = found.start() + len(found.group()) - len(found.group().lstrip())
        loops.append(_loop(text[found.end() : end], (start, end + 1)))
        place = end + 1
        if len(loops) < count:
            opened = re.compile(r"\s*\{").match(text, place)
            place = opened.end() if opened else place
    return loops


def _loop(head: str, span: tuple[int, int]) -> _Loop:
    begin, condition, advance = (part.strip() for part in head.split(";"))
    declared, is_set, first = begin.partition("=")
    variable = declared.split()[-1]
    compared, is_less, end = condition.partition("<")
    step = _STEP.fullmatch(advance)
    if (
        not is_set or not is_less or step is None or compared.strip() != variable
        or (step["name"] or step["of"]) != variable or end.startswith("=")
    ):  # fmt: skip
        raise _UnknownFormError(f"a loop {head!r}")
    return _Loop(variable, first.strip(), end.strip(), step["step"] or "1L", span)


def _closing(text: str, place: int) -> int:
    depth = 0
    for i in range(place, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i
    raise _UnknownFormError("a parenthesis without an end")


def _heads_of_a_part(loops: Sequence[_Loop], simd: str) -> Iterator[str]:
    """Yield each loop's head, with what is declared before it.

    Of several loops the iterations are counted through, in the order in which one thread makes
    them: a part has those from `npaccel_first` to `npaccel_last`. At an outer loop `npaccel_at` is
    the number of the iteration of all with which its iteration begins.
    """
    last = len(loops) - 1
    declared = [
        f"const int64_t npaccel_size{i} = "
        f"npaccel::iterations({loop.first}, {loop.end}, {loop.step});"
        for i, loop in enumerate(loops)
    ]
    total = " * ".join(f"npaccel_size{i}" for i in range(len(loops)))
    for name, part in (("first", "tid"), ("last", "tid + 1")):
        begin = f"npaccel::first_of({total}, {part}, npaccel_team_parts)"
        declared.append(f"const int64_t npaccel_{name} = {begin};")
    for i, loop in enumerate(loops):
        step = f"({loop.step})"
        # Iterations of all that come before this loop's first one.
        outer = f"npaccel_at{i - 1}" if i else "0L"
        before = f"(npaccel_first > {outer} ? npaccel_first - {outer} : 0L)"
        if i == last:
            declared += [
                f"const int64_t npaccel_begin = {loop.first} + {step} * {before};",
                f"const int64_t npaccel_left = npaccel_last - {outer};",
                f"const int64_t npaccel_end = npaccel_left < npaccel_size{i}"
                f" ? {loop.first} + {step} * npaccel_left : {loop.end};",
            ]
            name = loop.variable
            head = f"int64_t {name}=npaccel_begin; {name}<npaccel_end; {name}+={loop.step}"
            yield "\n".join(declared) + f"\n{simd}for({head})"
            return
        inner = " * ".join(f"npaccel_size{n}" for n in range(i + 1, len(loops)))
        stop = "npaccel_last"
        if i:
            declared.append(f"const int64_t npaccel_all{i} = {outer} + npaccel_inner{i - 1};")
            declared.append(
                f"const int64_t npaccel_stop{i} = npaccel_all{i} < npaccel_last"
                f" ? npaccel_all{i} : npaccel_last;"
            )
            stop = f"npaccel_stop{i}"
        declared += [
            f"const int64_t npaccel_inner{i} = {inner};",
            f"const int64_t npaccel_skip{i} = "
            f"npaccel_first < npaccel_last ? {before} / npaccel_inner{i} : 0L;",
        ]
        name, at = loop.variable, f"npaccel_at{i}"
        yield "\n".join(declared) + (
            f"\nfor(int64_t {name}={loop.first} + {step} * npaccel_skip{i}, "
            f"{at}={outer} + npaccel_skip{i} * npaccel_inner{i}; "
            f"{at}<{stop}; {name}+={loop.step}, {at}+=npaccel_inner{i})"
        )
        declared = []


__all__ = ["shared_by_teams", "team_helpers"]
