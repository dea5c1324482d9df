"""Loop in C++ where the body of a scan is nothing but kernels.

Python takes microseconds for each iteration: to call, and to make arrays. Here one kernel more
calls those of the body; what goes on to the next iteration lies in two arrays in turn.

Read from torch/_inductor/codegen/wrapper.py (SubgraphPythonWrapperCodegen) and
torch/_inductor/codegen/cpp.py (CppScheduling.define_kernel) of 2.11 and 2.13.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from torch._inductor.utils import Placeholder

from npaccel._torch.inductor.kernels.registration import define_kernel

_FUNCTION = re.compile(r"^def \w+\(args\):$", re.MULTILINE)
_DEFINED = re.compile(r"^(cpp_\w+) = async_compile", re.MULTILINE)
_INPUTS = re.compile(r"^(.+?),? = args$")
_SYMBOL = re.compile(r"^(\w+) = (\w+)$")
_ALLOCATED = re.compile(r"^(\w+) = (empty_strided_cpu\(.*\))$")
_REUSED = re.compile(r"^(\w+) = (\w+); del \2  # reuse$")
_VIEWED = re.compile(r"^(\w+) = reinterpret_tensor\((\w+), .*, 0\)(?:; del \2)?(?:  # reuse)?$")
_CALLED = re.compile(r"^(cpp_fused_\w+)\((.*)\)$")
_RETURNED = re.compile(r"^return \((.*?),? ?\)$")
_DROPPED = re.compile(r"^(?:del \w+|args\.clear\(\)|#.*|)$")
_HEAD = re.compile(r'extern "C"\s+void\s+kernel\((.*?)\)', re.DOTALL)


class _OtherCodeError(Exception):
    """The body of a loop has more than kernels."""


@dataclasses.dataclass
class _Body:
    """Code that is generated for a body.

    Attributes
    ----------
    inputs : list of str
    allocated : dict
        Python for arrays that it makes, by name.
    of : dict
        The input or the array that a name stands for.
    calls : list of (str, list of str)
        Kernels, and what they are given.
    outputs : list of str
    """

    inputs: list[str] = dataclasses.field(default_factory=list)
    allocated: dict[str, str] = dataclasses.field(default_factory=dict)
    of: dict[str, str] = dataclasses.field(default_factory=dict)
    calls: list[tuple[str, list[str]]] = dataclasses.field(default_factory=list)
    outputs: list[str] = dataclasses.field(default_factory=list)


def _read(code: str) -> _Body:
    body = _Body()
    for text in code[_FUNCTION.search(code).end() :].splitlines():  # type: ignore[union-attr]
        line = text.strip()
        if found := _INPUTS.match(line):
            body.inputs = [one.strip() for one in found[1].split(",")]
            body.of |= {one: one for one in body.inputs}
        elif found := _ALLOCATED.match(line):
            body.allocated[found[1]] = found[2]
            body.of[found[1]] = found[1]
        elif found := _CALLED.match(line):
            body.calls.append((found[1], _arguments(found[2], body)))
        elif found := _RETURNED.match(line):
            body.outputs = [_known(one.strip(), body) for one in found[1].split(",")]
        elif found := _REUSED.match(line) or _VIEWED.match(line) or _SYMBOL.match(line):
            body.of[found[1]] = _known(found[2], body)
        elif not _DROPPED.match(line):
            raise _OtherCodeError(line)
    return body


def _arguments(text: str, body: _Body) -> list[str]:
    return [_known(one.strip(), body) for one in text.split(",")] if text else []


def _known(name: str, body: _Body) -> str:
    if name not in body.of:
        raise _OtherCodeError(name)
    return body.of[name]


def loop_in_cpp(
    wrapper: Any,
    name: str,
    code: str,
    carry: Sequence[str],
    rest: Sequence[str],
    steps: tuple[str, bool],
) -> bool:
    """Write a loop as a kernel, if its body has nothing but kernels.

    Parameters
    ----------
    wrapper : PythonWrapperCodegen
    name : str
        The variable for the last carry.
    code : str
        Generated code for the body.
    carry, rest : sequence of str
        Python for what it's called with, besides the number of the iteration.
    steps : (str, bool)
        Python for how many there are, and whether the last one comes first.
    """
    if not steps[0].isdigit():  # There may be none.
        return False
    try:
        body = _read(code)
        sources = {kernel: text for text, kernel in wrapper.src_to_kernel.items()}
        parts = [_part(i, sources, kernel) for i, (kernel, _) in enumerate(body.calls)]
        places = _next_places(body, len(carry))
        taken = _types(body, [types for _, types in parts])
        _check_unwritten(body.inputs[1 : 1 + len(carry)], taken)
    except _OtherCodeError:
        return False
    index, *inputs = body.inputs
    given = dict(zip(inputs, (*carry, *rest), strict=True))
    loop = _Loop(wrapper, name, body, given, taken)
    for i, (one, place) in enumerate(zip(inputs, places, strict=False)):
        if place is not None:
            loop.carry(i, one, place)
    loop.others()
    length, reverse = steps
    calls = [f"body{i}({', '.join(given)});" for i, (_, given) in enumerate(body.calls)]
    number = "length - 1 - step" if reverse else "step"
    text = _LOOP.format(
        bodies="\n".join(source for source, _ in parts),
        parameters=", ".join(f"{kind} {one}" for kind, one, _ in loop.parameters),
        index=index,
        number=number,
        statements="\n        ".join([*loop.statements, *calls]),
    )
    types = [*(kind for kind, _, _ in loop.parameters), "const int64_t"]
    kernel = define_kernel(wrapper, text, types)
    arguments = [*(python for _, _, python in loop.parameters), length]
    wrapper.writeline(f"{kernel}({', '.join(arguments)})")
    last = [
        given[one] if place is None else f"{name}_next{i}[({length} + 1) % 2]"
        for i, (one, place) in enumerate(zip(inputs, places, strict=False))
    ]
    wrapper.writeline(f"{name} = [{', '.join(last)}]")
    if loop.made:
        wrapper.writeline(f"del {', '.join(loop.made)}")
    for one in _DEFINED.findall(code):  # Nothing defines them now.
        wrapper.src_to_kernel.pop(sources[one], None)
    return True


_LOOP = """{bodies}
extern "C" void kernel({parameters}, const int64_t length)
{{
    for (int64_t step = 0; step < length; ++step)
    {{
        const int64_t {index} = {number};
        {statements}
    }}
}}
"""


@dataclasses.dataclass
class _Loop:
    """A loop that is written.

    Attributes
    ----------
    parameters : list of (str, str, str)
        Of its kernel: type, name, and Python for what it's given.
    statements : list of str
        C++ before the calls of an iteration.
    made : list of str
        Variables of Python's for arrays that none but the loop has.
    """

    wrapper: Any
    name: str
    body: _Body
    given: dict[str, str]
    types: dict[str, str]
    parameters: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    statements: list[str] = dataclasses.field(default_factory=list)
    done: set[str] = dataclasses.field(default_factory=set)
    made: list[str] = dataclasses.field(default_factory=list)

    def carry(self, i: int, one: str, place: str) -> None:
        """Have an array go on in two others, in turn."""
        kind = self.types[place]
        arrays = f"{self.name}_next{i}"
        made = self.body.allocated[place]
        self.wrapper.writeline(f"{arrays} = ({made}, {made})")
        self.made.append(arrays)
        turns = [f"next{i}_0", f"next{i}_1"]
        for turn, parameter in enumerate(turns):
            self.parameters.append((kind, parameter, f"{arrays}[{turn}]"))
        self.parameters.append((f"const {kind}", f"first{i}", self.given[one]))
        before = f"step % 2 ? {turns[0]} : {turns[1]}"
        self.statements += [
            f"const {kind} {one} = step == 0 ? first{i} : ({before});",
            f"{kind} {place} = step % 2 ? {turns[1]} : {turns[0]};",
        ]
        self.done |= {one, place}

    def others(self) -> None:
        """Take arrays that all iterations have."""
        for argument, kind in self.types.items():
            if argument in self.done:
                continue
            python = self.given.get(argument, f"{self.name}_{argument}")
            if argument in self.body.allocated:
                self.wrapper.writeline(f"{python} = {self.body.allocated[argument]}")
                self.made.append(python)
            self.parameters.append((kind, argument, python))


def _check_unwritten(held: Sequence[str], types: dict[str, str]) -> None:
    for one in held:
        if "const" not in types.get(one, "const"):
            raise _OtherCodeError(one)


def _types(body: _Body, types: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return C++ types of the arrays that kernels take, by name."""
    found: dict[str, str] = {}
    index = body.inputs[0]
    for (_, arguments), kinds in zip(body.calls, types, strict=True):
        for argument, kind in zip(arguments, kinds, strict=True):
            if (argument == index) == ("*" in kind):
                raise _OtherCodeError(kind)
            if argument != index and "const" in found.get(argument, "const"):
                found[argument] = kind  # One that may be written, if there is any.
    if not body.calls:
        raise _OtherCodeError("nothing")
    return found


def _part(i: int, sources: dict[str, str], kernel: str) -> tuple[str, list[str]]:
    """Return the text of a kernel as a function of its own, and the types that it takes."""
    text = sources[kernel].replace(str(Placeholder.KERNEL_NAME), "kernel")
    text = text.replace("#pragma CMT", "//")
    head = _HEAD.search(text)
    if head is None:
        raise _OtherCodeError(kernel)
    types = [one.strip().rpartition(" ")[0] for one in head[1].split(",")]
    return text.replace(head[0], f"static void body{i}({head[1]})", 1), types


def _next_places(body: _Body, count: int) -> list[str | None]:
    """Return the array in which each of the carry goes on; None for one that stays."""
    held = body.inputs[1 : 1 + count]
    places: list[str | None] = []
    for one, output in zip(held, body.outputs[:count], strict=True):
        if output == one:
            places.append(None)
        elif output in body.allocated and output not in places:
            places.append(output)
        else:
            raise _OtherCodeError(output)
    return places


__all__ = ["loop_in_cpp"]
