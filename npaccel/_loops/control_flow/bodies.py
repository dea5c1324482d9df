"""Compiled bodies, which `fori_loop` and the like call inside of a compiled function.

A body is compiled for the structure of its arguments. Their leaves and what it
has from its closure are the parameters of the compiled code, so that numbers
that change from iteration to iteration don't make another artifact.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from npaccel._compiler import fallback
from npaccel._compiler.dispatcher import NO_KEYWORDS, Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.control_flow import carry as control_flow_carry
from npaccel._loops.control_flow import primitives
from npaccel._loops.control_flow.carry import Carry, Leaf, Spec
from npaccel._loops.driver.region import Region
from npaccel._report import Loop
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime.callables import underlying
from npaccel._runtime.containers import is_container
from npaccel._syntax import lambda_lifting, loop_detection
from npaccel._syntax import source as syntax_source
from npaccel._syntax.dataflow import Names
from npaccel._syntax.lambda_lifting import Closure, NotLiftedError
from npaccel._syntax.source import NoSourceError

_LEAF = "_npaccel_{}_{}"
_TYPE = "_npaccel_type{}"


class Drive(Protocol):
    """Maker of the driver of another function that loops."""

    def __call__(
        self,
        function: types.FunctionType,
        node: ast.FunctionDef | None = None,
        varying: frozenset[str] = frozenset(),
        /,
    ) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        """Return what takes the function's arguments by position and by name."""


class PrimitiveCalls:
    """Calls of `fori_loop` and the like, and of inner functions, in a split function.

    Parameters
    ----------
    spec : FunctionSpec
        Of the split function.
    on_wide : callable or None
        Where the function narrows floats: is called where a body meets 64-bit ones.
    drive : Drive
        Makes what runs a body that loops.
    """

    def __init__(
        self, spec: FunctionSpec, on_wide: Callable[[], None] | None, drive: Drive
    ) -> None:
        self.spec = spec
        self.on_wide = on_wide
        self.drive = drive
        self._compiled: dict[Any, _Compiled | str] = {}
        self._reported: dict[tuple[int, str], None] = {}

    def primitive(self, primitive: Any, line: int) -> Callable[..., Any]:
        """Return a primitive that compiles the functions that it's given."""
        if self.spec.options.loops == "python":
            self._report(line, "Python")
            return primitive  # type: ignore[no-any-return]
        signature = inspect.signature(primitive)

        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            in_loop = primitive is not primitives.cond
            bodies = []
            for name in primitives.FUNCTIONS[primitive]:
                given = bound.arguments[name]
                if callable(given):
                    body = self.body(given, name, in_loop=in_loop)
                    bound.arguments[name] = body
                    bodies.append(body)
            why = "; ".join(f"{control_flow_carry.described(b)}: {b.why}" for b in bodies if b.why)
            kind = "compiled body" if in_loop else "compiled branches"
            self._report(line, "Python" if why else kind, why)
            if primitive is primitives.scan:
                wide = self.spec.options.default_float == "float64"
                return primitives.scanned(*bound.args, **bound.kwargs, wide=wide)
            return primitive(*bound.args, **bound.kwargs)

        return call

    def _report(self, line: int, engine: str, detail: str = "") -> None:
        if (line, engine) in self._reported:
            return
        self._reported[line, engine] = None
        filename = self.spec.function.__code__.co_filename
        text = syntax_source.line(filename, line)
        self.spec.log.add_loop(Loop(filename, line, text, engine, detail))

    def body(self, function: Any, role: str, *, in_loop: bool) -> Body:
        """Return what runs a function that a primitive is given, compiled where it can be."""
        made = self._body(function, in_loop)
        if made.why:
            target = made.target
            code = target.__code__ if target is not None else None
            fallback.note(
                self.spec,
                f"{role} {control_flow_carry.described(function)} runs in NumPy, because "
                f"{made.why}",
                "write it as a function, in a file, that only reads names from outside",
                line=code.co_firstlineno if code else 0,
                file=code.co_filename if code else "",
            )
        return made

    def inner(self, function: types.FunctionType) -> Body | None:
        """Return what runs an inner function that loops; None if it needs its closure."""
        made = self._body(function, in_loop=False)
        return None if made.why else made

    def _body(self, function: Any, in_loop: bool) -> Body:
        body = Body(self, function)
        if body.target is None:
            body.why = "it isn't a Python function"
            return body
        try:
            body.closure = lambda_lifting.closure_of(body.target)
            body.compiled = self._compile(body.target, body.closure, in_loop)
        except (NotLiftedError, NoSourceError) as error:
            body.why = str(error)
        return body

    def _compile(self, function: types.FunctionType, closure: Closure, in_loop: bool) -> _Compiled:
        key = (function.__code__, id(function.__globals__), closure.key, in_loop)
        found = self._compiled.get(key)
        if found is None:
            try:
                made: _Compiled | str = _Compiled(self, function, closure, in_loop)
            except (NotLiftedError, NoSourceError) as error:
                made = str(error)
            found = self._compiled.setdefault(key, made)
        if isinstance(found, str):
            raise NotLiftedError(found)
        return found


class Body:
    """A function that runs compiled, with the closure that it has now.

    Parameters
    ----------
    calls : PrimitiveCalls
    function : callable
        The user's.

    Attributes
    ----------
    target, prefix, keywords
        The Python function, and what a `functools.partial` or a bound method
        calls it with.
    closure : Closure or None
    compiled : _Compiled or None
        None where it runs in NumPy.
    why : str
        Why it does; empty where it doesn't.
    """

    def __init__(self, calls: PrimitiveCalls, function: Any) -> None:
        self.__wrapped__ = function
        self.calls = calls
        target, self.prefix, self.keywords = underlying(function)
        self.target = target if isinstance(target, types.FunctionType) else None
        self.closure: Closure | None = None
        self.compiled: _Compiled | None = None
        self.why = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        compiled = self.compiled
        if compiled is None:
            return self._in_numpy(args, kwargs)
        assert self.closure is not None
        args = self.prefix + args
        if len(args) != compiled.binding.arity or self.keywords or kwargs:
            args = tuple(compiled.binding.bind(args, {**self.keywords, **kwargs}))
        return compiled(args, self.closure)

    def npaccel_prepared(self, carry: Carry) -> Callable[..., Any]:
        """Return what calls the function in each iteration.

        Parameters
        ----------
        carry : Carry
            Of the loop: it tells when the structure changes.
        """
        carry.widens = self.calls.spec.options.default_float != "float64"
        compiled, closure = self.compiled, self.closure
        if compiled is None or self.prefix or self.keywords:
            return self
        assert closure is not None
        quick: Callable[..., Any] | None = None
        version = -1

        def iteration(*args: Any) -> Any:
            nonlocal quick, version
            if version == carry.version and quick is not None:
                return quick(*args)
            if len(args) != compiled.binding.arity:
                return self(*args)
            quick = compiled.quick(args, closure)
            version = carry.version
            return quick(*args)

        return iteration

    def _in_numpy(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if runtime_arguments.device_of(args) is None:
            return self.__wrapped__(*args, **kwargs)
        from npaccel._runtime import host_fallback

        def call(values: Sequence[Any]) -> Any:
            return self.__wrapped__(*values, **kwargs)

        return host_fallback.through_host(call, args, self.calls.spec.log)


class _Compiled:
    """The code of a function, compiled for each structure of its arguments."""

    def __init__(
        self, calls: PrimitiveCalls, function: types.FunctionType, closure: Closure, in_loop: bool
    ) -> None:
        self.calls = calls
        self.function = function
        self.binding = lambda_lifting.parameters(function)
        self.in_loop = in_loop
        self.closure_names = tuple(closure.values)
        self._runs: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {}
        # Says now whether it can be had.
        self.definition = functools.partial(lambda_lifting.definition, function, closure)
        self.definition([], [])
        functions = [function, *closure.functions.values()]
        self.loops = any(map(loop_detection.loops, functions))

    def __call__(self, args: Sequence[Any], closure: Closure) -> Any:
        """Call the function with a value for every parameter."""
        return self.quick(args, closure)(*args)

    def quick(self, args: Sequence[Any], closure: Closure) -> Callable[..., Any]:
        """Return what calls the function with arguments of the structure of some."""
        key = tuple(map(_structure, args))
        found = self._runs.get(key)
        if found is None:
            found = self._runs.setdefault(key, self._make(args))
        run, make = found
        return make(run, *closure.values.values())  # type: ignore[no-any-return]

    def _make(self, args: Sequence[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
        used = self._used()
        maker = _Parameters()
        for i, (name, value) in enumerate(zip(self.binding.names, args, strict=True)):
            if name in used:
                maker.add(name, i, value)
        return self._run(maker), maker.caller(len(args), len(self.closure_names))

    def _used(self) -> Names:
        """The parameters that the function reads, or writes."""
        node = self.definition([], [])
        return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))

    def _run(self, maker: _Parameters) -> Callable[..., Any]:
        node = self.definition(maker.bindings, maker.names)
        cells = {name: types.CellType(kind) for name, kind in maker.types.items()}
        code = syntax_source.build([node], self.function, cells)[0]
        function = syntax_source.as_function(code, self.function, cells)
        function.__qualname__ = self.function.__qualname__
        options = dataclasses.replace(self.calls.spec.options, static_argnames=())
        if self.loops:
            return self._driven(function, node, frozenset(maker.numbers))
        indices = _index_names(node)
        varying = frozenset(i for i, name in enumerate(maker.names) if name in maker.numbers)
        indexing = frozenset(
            i for i in varying if maker.names[i] in indices or maker.numbers[maker.names[i]]
        )
        spec = FunctionSpec(
            function,
            options,
            self.calls.spec.log,
            varying=varying,
            label=syntax_source.lines([node]),
            on_wide=self.calls.on_wide,
        )
        dispatcher = Dispatcher(spec, indexing if indices else frozenset())
        if self.in_loop:
            return Region(dispatcher, functools.partial(self._note_choice, spec.label))
        return lambda *values: dispatcher(values, NO_KEYWORDS)

    def _driven(
        self, function: types.FunctionType, node: ast.FunctionDef, varying: frozenset[str]
    ) -> Callable[..., Any]:
        driver = self.calls.drive(function, node, varying)
        return lambda *values: driver(values, NO_KEYWORDS)

    def _note_choice(self, lines: str, choice: str) -> None:
        place = f"{self.function.__code__.co_filename}: {lines}"
        self.calls.spec.log.set_choice(place, choice)


class _Parameters:
    """The parameters of a compiled body, and how those of the user's are made of them.

    Attributes
    ----------
    names, paths : list of str
        With Python for each in the user's arguments ``a0``, ``a1``.
    bindings : list of ast.stmt
    types : dict
        The namedtuples among the user's arguments, by name.
    numbers : dict
        The parameters that are numbers, which may change from call to call,
        and whether each is part of a structure.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.paths: list[str] = []
        self.bindings: list[ast.stmt] = []
        self.types: dict[str, type] = {}
        self.numbers: dict[str, bool] = {}
        self.user = ""

    def add(self, name: str, position: int, value: Any) -> None:
        """Add one parameter of the user's."""
        self.user = name
        spec = control_flow_carry.spec_of(value)
        if isinstance(spec, Leaf):
            self._leaf(name, value, f"a{position}", in_structure=False)
            return
        target = ast.Name(id=name, ctx=ast.Store())
        made = self._part(spec, value, f"a{position}")
        self.bindings.append(ast.Assign(targets=[target], value=made))

    def _leaf(self, name: str, value: Any, path: str, *, in_structure: bool) -> ast.expr:
        self.names.append(name)
        self.paths.append(path)
        if type(value) in (int, float):
            self.numbers[name] = in_structure
        return ast.Name(id=name, ctx=ast.Load())

    def _part(self, spec: Spec, value: Any, path: str) -> ast.expr:
        if isinstance(spec, Leaf):
            name = _LEAF.format(self.user, len(self.names))
            return self._leaf(name, value, path, in_structure=True)
        parts = []
        for place, part in zip(spec.names, spec.parts, strict=True):
            key = ast.unparse(self._constant(place))
            parts.append(self._part(part, value[place], f"{path}[{key}]"))
        if spec.kind is dict:
            keys: list[ast.expr | None] = [self._constant(name) for name in spec.names]
            return ast.Dict(keys=keys, values=parts)
        if spec.kind is list:
            return ast.List(elts=parts, ctx=ast.Load())
        if spec.kind is tuple:
            return ast.Tuple(elts=parts, ctx=ast.Load())
        return ast.Call(func=self._constant(spec.kind), args=parts, keywords=[])

    def caller(self, count: int, free: int) -> Callable[..., Any]:
        """Return a function that makes the user's function of a run and its cells."""
        cells = [f"c{i}" for i in range(free)]
        given = [*self.paths, *(f"{cell}.cell_contents" for cell in cells)]
        arguments = ", ".join(f"a{i}" for i in range(count))
        source = f"lambda {', '.join(['run', *cells])}: lambda {arguments}: run({', '.join(given)})"
        return eval(source, dict(self.types))  # type: ignore[no-any-return]

    def _constant(self, value: Any) -> ast.expr:
        if isinstance(value, str | int | float | bool | None):
            return ast.Constant(value)
        name = _TYPE.format(len(self.types))
        self.types[name] = value
        return ast.Name(id=name, ctx=ast.Load())


def _structure(value: Any) -> Any:
    """Return what of an argument a compiled body depends on."""
    kind = type(value)
    if not is_container(value):
        return kind if kind is int or kind is float else None
    if kind is dict:
        return (dict, *value, *map(_structure, value.values()))
    return (kind, *map(_structure, value))


def _index_names(node: ast.FunctionDef) -> set[str]:
    """The names that are part of an index."""
    return {
        inner.id
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        for inner in ast.walk(part.slice)
        if isinstance(inner, ast.Name)
    }
