"""The options of `jit`, and the three places where they can be set.

An option given to `jit` itself wins over one of an enclosing
``with npaccel.options(...)``, which wins over `npaccel.config`.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import itertools
import re
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, get_args, get_origin, get_type_hints

from npaccel._process import environment
from npaccel.errors import OptionError

DefaultFloat = Literal["float32", "float64"]
Loops = Literal["auto", "compile", "numba", "unroll", "python"]
RNG = Literal["numpy", "device"]
Verify = bool | Literal["warn"]
Backend = Literal["inductor", "aot_eager", "eager"]
Compile = Literal["auto", "now", "behind"]


class _NotGiven:
    """The default of an option: that of the scope is in force."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN: Any = _NotGiven()


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of compiling and running a function.

    Parameters
    ----------
    device : str or None
        Where ndarray arguments are computed: ``"cpu"``, ``"cuda"``,
        ``"cuda:1"``, ``"auto"`` (CUDA where there is one). None: on the CPU.
        Tensors stay where they are.
    default_float : {"float32", "float64"}
        The dtype of what NumPy would invent as float64, in calls in which nothing is a
        64-bit float: creation functions without ``dtype``, integers promoted to floats.
        Where an argument, an array or NumPy scalar from outside, or a dtype in the code is
        float64 or complex128, and always with ``"float64"``, dtypes are exactly NumPy's.
    narrow_inputs : bool
        Cast float64 and complex128 arguments to 32 bit a part.
    strict : bool
        Raise `NotCompiledError` where part of the function would run
        uncompiled, instead of a `PerformanceWarning`.
    dynamic : bool or None
        None: the first shape gets its own artifact, the second and all later
        ones share a dynamic one. True, False: always, never dynamic.
    loops : {"auto", "compile", "numba", "unroll", "python"}
        How Python loops over arrays run. ``"compile"``: Python counts, and the
        body is compiled once. ``"numba"``: Numba compiles the loop.
        ``"auto"``: Numba for loops over single elements, else ``"compile"``.
        ``"unroll"``: as torch.compile does it. ``"python"``: uncompiled; only
        what is outside of loops is compiled.
    rng : {"numpy", "device"}
        Where random numbers come from: NumPy, bit for bit, or a stream that the compiled
        code computes, the same on every device.
    verify : bool or "warn"
        Compare the first call per signature with plain NumPy. True: a
        difference raises; "warn": it warns and NumPy answers.
    cache : bool
        Keep artifacts on disk, so that a new process starts warm.
    backend : {"inductor", "aot_eager", "eager"}
        Who compiles. The latter two run uncompiled kernels; for debugging.
    compile : {"auto", "now", "behind"}
        When calls are compiled. ``"auto"``: NumPy makes them until they have taken as long as
        compiling would; then they are compiled, and the faster way makes them. ``"now"``:
        before the first one is answered. ``"behind"``: in a helper thread, while NumPy answers.
    static_argnames : tuple of str
        Parameters whose values, not arrays, the compiled code may rely on. A
        new value compiles again.
    """

    device: str | None = None
    default_float: DefaultFloat = "float32"
    narrow_inputs: bool = False
    strict: bool = False
    dynamic: bool | None = None
    loops: Loops = "auto"
    rng: RNG = "numpy"
    verify: Verify = False
    cache: bool = True
    backend: Backend = "inductor"
    compile: Compile = "auto"
    static_argnames: tuple[str, ...] = ()


def _defaults() -> Options:
    """Return the options as the environment has them."""
    text = environment.value("NPACCEL_COMPILE")
    if not text:
        return Options()
    if text in get_args(Compile):
        return Options(compile=text)  # type: ignore[arg-type]
    allowed = ", ".join(get_args(Compile))
    warnings.warn(
        f"NPACCEL_COMPILE: {text!r} isn't a value of the option compile, so that it's 'auto'; "
        f"it can be {allowed}",
        stacklevel=2,
    )
    return Options()


_DEFAULTS = _defaults()
_NAMES = tuple(field.name for field in dataclasses.fields(Options))


@functools.cache
def choices() -> dict[str, tuple[Any, ...]]:
    """Return the values of each option that has finitely many, from its type."""
    found = {name: _values(kind) for name, kind in get_type_hints(Options).items()}
    return {name: values for name, values in found.items() if values}


def _values(kind: Any) -> tuple[Any, ...]:
    """Return all values of a type; none where they aren't finitely many."""
    if kind is bool:
        return (False, True)
    if kind is types.NoneType:
        return (None,)
    if get_origin(kind) is Literal:
        return get_args(kind)
    members = [_values(member) for member in get_args(kind)]
    return tuple(itertools.chain.from_iterable(members)) if all(members) else ()


def given(arguments: Mapping[str, Any], unknown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked options among a function's arguments.

    Parameters
    ----------
    arguments : mapping
        Of the function's parameters; others than options are left out.
    unknown : mapping
        The keywords that it has no parameters for.
    """
    options = {name: value for name, value in arguments.items() if name in _NAMES}
    return checked({k: v for k, v in options.items() if v is not NOT_GIVEN} | dict(unknown))


def _unknown(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, _NAMES, n=1)
    hint = f"did you mean {close[0]!r}? The" if close else "the"
    return f"there is no option {name!r}; {hint} options are {', '.join(_NAMES)}"


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """Check the names and values of options; normalise ``static_argnames``.

    Raises
    ------
    TypeError
        For a name that isn't an option.
    OptionError
        For a value that an option can't have.
    """
    result = dict(options)
    for name, value in options.items():
        if name not in _NAMES:
            raise TypeError(f"jit: {_unknown(name)}")
        values = choices().get(name)
        if values is not None and not any(value is c or value == c for c in values):
            allowed = ", ".join(map(repr, values))
            raise OptionError(f"jit: `{name}={value!r}` was given; it can be {allowed}")
    if "static_argnames" in result:
        names = result["static_argnames"]
        result["static_argnames"] = (names,) if isinstance(names, str) else tuple(names)
    if result.get("device") is not None:
        check_device_name(result["device"])
    return result


def check_device_name(device: Any) -> None:
    """Refuse what can't be the name of a device; says nothing on whether it exists."""
    if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise OptionError(
            f"jit: `device={device!r}` was given; it can be None, 'cpu', 'cuda', 'cuda:N' or 'auto'"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Scope:
    """Options of `config` and the enclosing context managers at one place.

    There is one object per content, so that scopes compare by identity.
    """

    options: dict[str, Any]
    disabled: bool


_scopes: dict[Any, Scope] = {}
_is_off = environment.is_on("NPACCEL_DISABLE")


def _scope_of(options: dict[str, Any], disabled: bool) -> Scope:
    return _scopes.setdefault(_key_of(options, disabled), Scope(options, disabled))


def _key_of(options: dict[str, Any], disabled: bool) -> Any:
    return (tuple(sorted(options.items())), disabled)


def is_lasting(scope: Scope) -> bool:
    """Whether a scope is the one of its content, not one that a function has made for its calls."""
    return _scopes.get(_key_of(scope.options, scope.disabled)) is scope


class Config:
    """Options for every function that doesn't set them itself.

    Each attribute is an option of `npaccel.jit`. Reading gives the value in
    force, setting one changes it for the whole process.

    Examples
    --------
    >>> import npaccel
    >>> npaccel.config.default_float
    'float32'
    >>> npaccel.config.default_float = "float64"
    >>> npaccel.config.reset()
    >>> npaccel.config.default_float
    'float32'
    """

    def __init__(self) -> None:
        object.__setattr__(self, "_scope", _scope_of({}, _is_off))

    device: str | None
    default_float: DefaultFloat
    narrow_inputs: bool
    strict: bool
    dynamic: bool | None
    loops: Loops
    rng: RNG
    verify: Verify
    cache: bool
    backend: Backend
    compile: Compile
    static_argnames: str | Sequence[str]
    _scope: Scope

    if not TYPE_CHECKING:  # A type checker would take these for attributes of any name.

        def __getattr__(self, name: str) -> Any:
            if name not in _NAMES:
                raise AttributeError(f"config: {_unknown(name)}")
            return current().options.get(name, getattr(_DEFAULTS, name))

        def __setattr__(self, name: str, value: Any) -> None:
            new = checked({name: value})
            object.__setattr__(self, "_scope", _scope_of({**self._scope.options, **new}, _is_off))

    def __repr__(self) -> str:
        return "config(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in _NAMES) + ")"

    def __dir__(self) -> list[str]:
        return [*_NAMES, "reset"]

    def reset(self) -> None:
        """Set every option back to its default."""
        object.__setattr__(self, "_scope", _scope_of({}, _is_off))


config = Config()

#: The scope that the enclosing context managers make; None outside of any.
_scope: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("npaccel_scope", default=None)


def current() -> Scope:
    """Return the scope in force here."""
    scope: Scope = _scope.get() or config._scope
    return scope


@contextlib.contextmanager
def options(
    *,
    device: str | None = NOT_GIVEN,
    default_float: DefaultFloat = NOT_GIVEN,
    narrow_inputs: bool = NOT_GIVEN,
    strict: bool = NOT_GIVEN,
    dynamic: bool | None = NOT_GIVEN,
    loops: Loops = NOT_GIVEN,
    rng: RNG = NOT_GIVEN,
    verify: Verify = NOT_GIVEN,
    cache: bool = NOT_GIVEN,
    backend: Backend = NOT_GIVEN,
    compile: Compile = NOT_GIVEN,  # noqa: A002 (the option is called so)
    static_argnames: str | Sequence[str] = NOT_GIVEN,
    **unknown: Never,
) -> Iterator[None]:
    """Set options for the calls inside a ``with`` block.

    Options given to `jit` itself stay in force. Other threads aren't affected.

    Parameters
    ----------
    device, default_float, narrow_inputs, strict, dynamic, loops, rng, verify, cache, backend, \
compile, static_argnames
        As in `npaccel.jit`. What isn't given stays as it is.

    Raises
    ------
    TypeError
        For a name that isn't an option.
    OptionError
        For a value that an option can't have.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager")
    ... def half(n):
    ...     return n / 2
    >>> half(np.arange(3)).dtype
    dtype('float32')
    >>> with npaccel.options(default_float="float64"):
    ...     half(np.arange(3)).dtype
    dtype('float64')
    """
    new = given(locals(), unknown)
    outer = current()
    token = _scope.set(_scope_of({**outer.options, **new}, outer.disabled))
    try:
        yield
    finally:
        _scope.reset(token)


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Run plain NumPy functions instead of compiled ones in a ``with`` block.

    The environment variable ``NPACCEL_DISABLE=1`` does so for a whole process.
    With tensors as arguments the plain function gets the tensors as they are.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit
    ... def double(x):
    ...     return 2 * x
    >>> with npaccel.disabled():
    ...     double(np.ones(2))
    array([2., 2.])
    """
    token = _scope.set(_scope_of(current().options, True))
    try:
        yield
    finally:
        _scope.reset(token)


@functools.lru_cache(maxsize=64)
def of_scope(scope: Scope) -> Options:
    """Return the options of what has none of its own, in one scope."""
    return resolve({}, scope)


def resolve(explicit: dict[str, Any], scope: Scope) -> Options:
    """Return the options of one function in one scope."""
    return dataclasses.replace(_DEFAULTS, **{**scope.options, **explicit})
