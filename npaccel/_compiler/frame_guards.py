"""Guards of a capture: npaccel's own, or Dynamo's check."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from npaccel._compiler.call_arguments import Call
from npaccel._runtime import arguments, guards
from npaccel._runtime.guards import Guard, UnknownGuardError
from npaccel._torch.dynamo.capture_record import Capture
from npaccel._torch.dynamo.reads import MovedError


def own_guards(call: Call, capture: Capture) -> tuple[list[Guard] | None, str]:
    """Return Dynamo's guards as npaccel's; None, and why, if one of them has no such form."""
    scope = call.spec.scope
    try:
        made = guards.make_guards(
            capture.guards,
            scope,
            call.arguments,
            imports=capture.imports,
            in_key=functools.partial(call.in_key, capture.has_symbols),
        ) + guards.method_guards(
            capture.guards, capture.traced_code, scope, call.arguments, capture.imports
        )
        made += _size_guards(call, capture)
    except UnknownGuardError as error:
        return None, str(error)
    broken = guards.failed(made, scope, call.arguments)
    if broken is not None and not capture.has_moved():  # Each call would compile again.
        what = f"{guards.readable(broken.expression)}, {broken.kind}"
        return None, f"its guard doesn't hold in the call that it was made from: {what}"
    return made, ""


def _size_guards(call: Call, capture: Capture) -> list[Guard]:
    """Guard the sizes of arrays among arguments that decide something, and aren't inputs.

    The key of a dynamic signature has no sizes in it.
    """
    scope, found = call.spec.scope, []
    for fixed in capture.fixed_sizes:
        expression = scope.expression(fixed.expression, capture.imports)
        if expression in call.known:
            expected = guards.layout_of(call.known[expression], fixed.sizes)
            found.append(Guard(expression, "sizes", expected))
    return found


def dynamo_check(call: Call, capture: Capture) -> Callable[[Sequence[Any]], bool]:
    """Return Dynamo's check of its guards: takes some time to build.

    Raises
    ------
    MovedError
        If what was read has changed since the capture.
    """
    assert capture.build_check is not None
    try:
        checks = capture.build_check()
    except AssertionError as error:  # Its first check fails.
        if capture.has_moved():
            raise MovedError from error
        raise
    function, names, convert = call.spec.function, call.spec.binding.names, call.converter.convert

    def check(values: Sequence[Any]) -> bool:
        converted = [arguments.map_arrays(value, convert) for value in values]
        local_values = dict(zip(names, converted, strict=True))
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        local_values |= {name: cell.cell_contents for name, cell in cells}
        return bool(checks(local_values))

    return check


def shape_guard(call: Call, capture: Capture) -> str | None:
    """Return what sizes and numbers have to fulfil, in the names of a runner.

    None if there is nothing, or no such form.
    """
    if capture.shape_guard is None:
        return None
    try:
        text, others = capture.shape_guard()
    except (AssertionError, IndexError):  # torch finds no source for a size.
        return None
    for name, expression in others.items():
        if name not in text:
            continue
        found = re.fullmatch(r"(L\['\w+'\])(?:\.size\(\)\[(\d+)\])?", expression)
        if found is None:
            return None
        owner = call.spec.scope.expression(found[1], capture.imports)
        text = text.replace(name, owner if found[2] is None else f"{owner}.shape[{found[2]}]")
    return text
