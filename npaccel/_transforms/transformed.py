"""Make the function that a transform returns."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from npaccel._compiler.dispatcher import Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._jit import Jitted
from npaccel._runtime import options as runtime_options
from npaccel._runtime.callables import is_jitted, underlying
from npaccel._runtime.options import Scope
from npaccel._runtime.torch import malloc
from npaccel._syntax.loop_detection import is_library

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: Names in the function that is written.
_TAKEN = frozenset({"function", "trace"})
#: Maximum number of functions that are remembered with what transforms have returned for them.
_MAX_KNOWN = 512

_known: dict[Any, tuple[Any, Any]] = {}


class Transformed(Jitted[..., Any]):
    """A transformed function: compiled at its first call, whatever `compile` says.

    There is nothing else that could make its calls, so what can't be compiled is an error, and it's
    compiled where jitted functions run in NumPy too: under `npaccel.disabled`, and while NumPy
    makes the calls of a jitted function that calls it.
    """

    __slots__ = ()

    def _npaccel_dispatcher(self, scope: Scope) -> Any:
        options = runtime_options.resolve(self._npaccel_explicit, scope)
        options = dataclasses.replace(options, compile="now", strict=True, verify=False)
        for dispatcher in list(self._npaccel_dispatchers.values()):
            if dispatcher is not None and dispatcher.spec.options == options:
                return self._npaccel_dispatchers.setdefault(scope, dispatcher)
        malloc.prepare()
        spec = FunctionSpec(self._npaccel_target, options, self._npaccel_log, is_transformed=True)
        return self._npaccel_dispatchers.setdefault(scope, Dispatcher(spec))

    def __reduce__(self) -> Any:
        """Pickle by value: no name leads back here."""
        import cloudpickle

        return _by_value, (cloudpickle.dumps((self.__wrapped__, self._npaccel_explicit)),)


for _name in ("__module__", "__doc__"):  # As of `Jitted`: an object's are its function's.
    setattr(Transformed, _name, type(vars(Jitted)[_name])(vars(Transformed)[_name]))


def _by_value(data: bytes) -> Transformed:
    import cloudpickle

    function, explicit = cloudpickle.loads(data)
    return Transformed(function, explicit)


def transformed(
    name: str,
    function: Any,
    trace: Callable[..., Any],
    settings: tuple[Any, ...],
    parameters: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """Return a function that computes a transform of another one.

    The same one is returned each time, so that its code is compiled once.

    Parameters
    ----------
    name : str
        The transform's.
    function : callable
    trace : callable
        One of `npaccel._transforms.traced`.
    settings : tuple
        What it takes besides the name: constants.
    parameters : sequence of str, optional
        Of the function that is returned; None: those of `function`.
    """
    settings = (name, *settings)
    if torch.compiler.is_compiling():  # Within a function that is captured.
        return _inlined(trace, function, settings)
    if not callable(function):
        raise TypeError(
            f"{name}: {function!r} is a {type(function).__qualname__}, not a function; the "
            "function comes first"
        )
    key = (*_identity(function), trace, repr(settings))
    if key not in _known:
        if len(_known) >= _MAX_KNOWN:
            _known.pop(next(iter(_known)), None)
        _known[key] = function, _made(name, function, trace, settings, parameters)
    return _known[key][1]  # type: ignore[no-any-return]


def _inlined(trace: Any, function: Any, settings: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return trace(function, settings, args, kwargs)

    return call


def _identity(function: Any) -> tuple[int, ...]:
    if isinstance(function, types.MethodType):
        return id(function.__func__), id(function.__self__)
    return (id(function),)


def _made(name: str, function: Any, trace: Any, settings: Any, parameters: Any) -> Transformed:
    explicit = dict(function._npaccel_explicit) if is_jitted(function) else {}
    inner = getattr(function, "__name__", type(function).__name__)
    signature = _signature(function) if parameters is None else None
    plain = function
    while is_jitted(plain):  # Guards are on the code of plain functions, which is kept on disk.
        plain = plain.__wrapped__
    made = _with_parameters(plain, trace, settings, signature, parameters)
    made.__name__ = f"{name}({inner})"
    made.__qualname__ = f"{name}({getattr(function, '__qualname__', inner)})"
    module = getattr(function, "__module__", None)
    made.__module__ = __name__ if module is None or is_library(module) else module
    made.__doc__ = f"`npaccel.{name}` of `{inner}`."
    if parameters is not None:
        explicit.pop("static_argnames", None)
    return Transformed(made, explicit)


def _with_parameters(
    function: Any,
    trace: Any,
    settings: Any,
    signature: inspect.Signature | None,
    parameters: Sequence[str] | None,
) -> types.FunctionType:
    """Write a function that hands its arguments to a trace: calls by position need no binding."""
    if signature is not None:
        declared, positional, named = _written(signature)
    elif parameters is not None:
        declared, positional, named = list(parameters), [f"{one}, " for one in parameters], []
    else:
        declared, positional, named = ["*args", "**kwargs"], ["*args, "], ["**kwargs"]
    source = (
        "def make(function, trace):\n"
        f"    def call({', '.join(declared)}):\n"
        f"        return trace(function, {settings!r}, ({''.join(positional)}), "
        f"{{{', '.join(named)}}})\n"
        "    return call\n"
    )
    target = underlying(function)[0]
    file = target.__code__.co_filename if isinstance(target, types.FunctionType) else __file__
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, file, "exec"), scope)
    made: types.FunctionType = scope["make"](function, trace)
    if isinstance(target, types.FunctionType):
        # In the user's own globals, which Dynamo finds by the name of their module otherwise.
        own = made.__code__.replace(co_firstlineno=target.__code__.co_firstlineno)
        made = types.FunctionType(own, target.__globals__, made.__name__, None, made.__closure__)
    if signature is not None:
        given = [p for p in signature.parameters.values() if p.default is not p.empty]
        made.__defaults__ = tuple(p.default for p in given if p.kind in _POSITIONAL) or None
        keywords = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}
        made.__kwdefaults__ = keywords or None
    return made


def _signature(function: Any) -> inspect.Signature | None:
    """Return a function's parameters; None where they can't be had, or can't be written.

    Those of libraries' functions have defaults that aren't the same as leaving them out.
    """
    target = underlying(function)[0]
    if not isinstance(target, types.FunctionType) or is_library(target.__module__):
        return None
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return None if _TAKEN & set(found.parameters) else found


def _written(signature: inspect.Signature) -> tuple[list[str], list[str], list[str]]:
    """Return parameters, and Python for the positional and the keyword arguments of a call."""
    declared: list[str] = []
    positional: list[str] = []
    named: list[str] = []
    before: Any = None
    for parameter in signature.parameters.values():
        kind, name = parameter.kind, parameter.name
        if before is parameter.POSITIONAL_ONLY and kind is not before:
            declared.append("/")
        if kind is parameter.KEYWORD_ONLY and before not in (kind, parameter.VAR_POSITIONAL):
            declared.append("*")
        before = kind
        if kind in _POSITIONAL:
            declared.append(name)
            positional.append(f"{name}, ")
        elif kind is parameter.VAR_POSITIONAL:
            declared.append(f"*{name}")
            positional.append(f"*{name}, ")
        elif kind is parameter.KEYWORD_ONLY:
            declared.append(name)
            named.append(f"{name!r}: {name}")
        else:
            declared.append(f"**{name}")
            named.append(f"**{name}")
    if before is inspect.Parameter.POSITIONAL_ONLY:
        declared.append("/")
    return declared, positional, named
