"""Options of `npaccel.jit` on lines: of ``npaccel run`` and ``doctor``, and of ``%%npaccel``."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import click

from npaccel._runtime.options import choices

#: Purpose of each option, in a line.
_HELP = {
    "device": "Where ndarrays are computed: cpu, cuda, cuda:N, auto.",
    "default_float": "The dtype of floats that NumPy would invent.",
    "narrow_inputs": "Take 64-bit arguments in 32 bit, too.",
    "strict": "Raise where something can't be compiled.",
    "dynamic": "Compile for any shape at once, or for each by itself.",
    "loops": "How Python loops over arrays run.",
    "rng": "Where random numbers come from.",
    "verify": "Compare first calls with NumPy; warn: and take NumPy's answer.",
    "cache": "Keep what is compiled on disk.",
    "backend": "Who compiles.",
    "compile": "When calls are compiled.",
    "static_argnames": "A parameter whose values compiled code may rely on; may be repeated.",
}
_TRUTH = {"true": True, "false": False}


def jit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `jit` to a command; `given` takes them out of its parameters."""
    for names, attributes in reversed(_parameters()):
        command = click.option(*names, **attributes)(command)
    return command


def _parameters() -> list[tuple[list[str], dict[str, Any]]]:
    """Return what makes an option of click of each of `jit`."""
    found = choices()
    return [_parameter(name, text, found.get(name, ())) for name, text in _HELP.items()]


def _parameter(name: str, text: str, values: tuple[Any, ...]) -> tuple[list[str], dict[str, Any]]:
    flag = "--" + name.replace("_", "-")
    if name == "static_argnames":
        return ["--static-argname", name], {"multiple": True, "metavar": "NAME", "help": text}
    words = [value for value in values if isinstance(value, str)]
    if not words and True in values:
        return [f"{flag}/--no-{flag[2:]}", name], {"default": None, "help": text}
    if words and True in values:  # Without a value it's true.
        kind = click.Choice([*_TRUTH, *words])
        return [flag, name], {"type": kind, "is_flag": False, "flag_value": "true", "help": text}
    return [flag, name], {"type": click.Choice(words) if words else click.STRING, "help": text}


def given(found: dict[str, Any]) -> dict[str, Any]:
    """Take the options that were given out of a command's parameters."""
    options = {name: found.pop(name) for name in _HELP}
    return {
        name: _TRUTH.get(value, value) if name == "verify" else value
        for name, value in options.items()
        if value is not None and value != ()
    }


def parsed(line: str, command: str) -> dict[str, Any]:
    """Return the options of a line.

    Raises
    ------
    click.UsageError
        Its message names the option.
    """
    options: list[click.Parameter] = [
        click.Option(names, **attributes) for names, attributes in _parameters()
    ]
    parser = click.Command(command, params=options, add_help_option=False)
    return given(parser.make_context(command, shlex.split(line)).params)


def flags(options: Mapping[str, Any]) -> list[str]:
    """Return options as they are written on a command line."""
    found = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name == "static_argnames":
            found += [f"--static-argname={one}" for one in value]
        elif isinstance(value, bool) and name != "verify":
            found.append(flag if value else f"--no-{flag[2:]}")
        else:
            found.append(f"{flag}={str(value).lower()}")
    return found


__all__ = ["flags", "given", "jit_options", "parsed"]
