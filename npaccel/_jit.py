"""`npaccel.jit`: the decorator and the object that it makes."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Never, ParamSpec, TypeAlias, TypeVar, overload

from npaccel._compiler import fallback, tiers
from npaccel._compiler.brief import Brief
from npaccel._compiler.dispatcher import Dispatcher
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._loops.make_dispatcher import make_dispatcher
from npaccel._process.imports import load
from npaccel._report import Log, Report
from npaccel._runtime import errstate
from npaccel._runtime import options as runtime_options
from npaccel._runtime.callables import is_jitted, leave_alone, shared_class, underlying
from npaccel._runtime.options import (
    NOT_GIVEN,
    RNG,
    Backend,
    Compile,
    DefaultFloat,
    Loops,
    Options,
    Scope,
    Verify,
)

if TYPE_CHECKING:
    from npaccel._loops.driver.driver import Driver

P = ParamSpec("P")
R = TypeVar("R")
#: Makes a function's calls.
AnyDispatcher: TypeAlias = "Dispatcher | Driver | tiers.Tiered | tiers.Plain"


#: Maximum number of scopes in which a function is known.
_MAX_SCOPES = 64
#: Names that `typing.Generic` gives a class.
_OF_GENERIC = ("__orig_bases__", "__parameters__")
#: Attributes that a class can't have another of for its objects.
_NAMES = ("__name__", "__qualname__", "__type_params__")


class _OfFunction:
    """An attribute that is the wrapped function's; of the class itself it's the class's own."""

    __slots__ = ()
    name = ""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else getattr(instance.__wrapped__, self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        setattr(instance.__wrapped__, self.name, value)


class _Module(_OfFunction, str):
    __slots__ = ()
    name = "__module__"


class _Docstring(_OfFunction, str):
    __slots__ = ()
    name = "__doc__"


class _Annotations(_OfFunction, dict[str, Any]):
    name = "__annotations__"


class _Own:
    """A method that stays, whatever attributes the wrapped function has."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.method if instance is None else types.MethodType(self.method, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        name = self.method.__name__
        raise AttributeError(
            f"jit: {name!r} is a method of what `npaccel.jit` makes; set it on the function "
            f"itself, `{instance._npaccel_name()}.__wrapped__.{name} = ...`"
        )


class Jitted(Generic[P, R]):
    """A compiled function; `npaccel.jit` makes it.

    Called like the function that it wraps, which stays available as
    ``__wrapped__``. Name, docstring, signature and attributes are the function's: one that is set
    on either of them later is seen on the other.
    """

    # What isn't here is in the function's own ``__dict__``.
    __slots__ = (
        *("__wrapped__", "__dict__", "__weakref__", "_npaccel_explicit", "_npaccel_target"),
        *("_npaccel_prefix", "_npaccel_keywords", "_npaccel_binds", "_npaccel_log"),
        *("_npaccel_dispatchers", "_npaccel_direct"),
    )

    _npaccel_jitted = True
    #: Whether the class is one object's, for its calls are made by a method of its own.
    _npaccel_is_own = False

    def __init__(self, function: Callable[P, R], explicit: dict[str, Any]) -> None:
        self.__wrapped__: Callable[P, R] = function
        own = getattr(function, "__dict__", None)
        if isinstance(own, dict):
            self.__dict__ = own
        self._npaccel_explicit = explicit
        self._npaccel_target, self._npaccel_prefix, self._npaccel_keywords = _unwrap(function)
        self._npaccel_binds = bool(self._npaccel_prefix or self._npaccel_keywords)
        self._npaccel_log = Log()
        self._npaccel_dispatchers: dict[Scope, AnyDispatcher | None] = {}
        #: Dispatchers that take a call's arguments as they are. A call reads nothing else here:
        #: `__getattr__` makes that slow.
        self._npaccel_direct: dict[Scope, AnyDispatcher | Brief] = {}
        if "static_argnames" in explicit:
            FunctionSpec(
                self._npaccel_target,
                runtime_options.resolve(explicit, runtime_options.current()),
                Log(),
            )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the compiled function."""
        scope = runtime_options._scope.get() or runtime_options.config._scope
        dispatcher = self._npaccel_direct.get(scope)
        if dispatcher is None:
            return self._npaccel_call(scope, args, kwargs)  # type: ignore[no-any-return]
        if errstate.current() is not errstate.harmless and errstate.have_effect():
            return self._npaccel_under_errstate(dispatcher, args, kwargs)  # type: ignore[no-any-return]
        return dispatcher(args, kwargs)  # type: ignore[no-any-return]

    def _npaccel_call(self, scope: Scope, args: Any, kwargs: Any) -> Any:
        """Make a call in a scope for the first time, or with arguments bound before."""
        dispatcher = self._npaccel_dispatchers.get(scope) or self._npaccel_dispatcher(scope)
        if dispatcher is None:
            return self.__wrapped__(*args, **kwargs)
        if not self._npaccel_binds:
            self._npaccel_direct[scope] = dispatcher
        if errstate.have_effect():
            return self._npaccel_under_errstate(dispatcher, args, kwargs)
        if self._npaccel_binds:
            return dispatcher(self._npaccel_prefix + args, {**self._npaccel_keywords, **kwargs})
        return dispatcher(args, kwargs)

    def _npaccel_under_errstate(
        self, dispatcher: AnyDispatcher | Brief, args: Any, kwargs: Any
    ) -> Any:
        """Run a call in NumPy, which raises where floats overflow, or calls something."""
        values = dispatcher.spec.binding.bind(
            self._npaccel_prefix + args, {**self._npaccel_keywords, **kwargs}
        )
        return fallback.under_errstate(dispatcher.spec, values)

    def _npaccel_dispatcher(self, scope: Scope) -> AnyDispatcher | None:
        """Return the dispatcher of a scope; None where compilation is off."""
        if scope.disabled:
            return None
        options = runtime_options.resolve(self._npaccel_explicit, scope)
        if options.compile == "auto" and not tiers.has_tiers(options):
            options = dataclasses.replace(options, compile="now")
        for dispatcher in list(self._npaccel_dispatchers.values()):
            is_plain = isinstance(dispatcher, tiers.Plain)
            if dispatcher is not None and not is_plain and dispatcher.spec.options == options:
                if len(self._npaccel_dispatchers) >= _MAX_SCOPES:
                    self._npaccel_forget_scopes()
                self._npaccel_dispatchers[scope] = dispatcher
                return dispatcher
        function, log = self._npaccel_target, self._npaccel_log
        if options.compile != "auto":
            return self._npaccel_dispatchers.setdefault(
                scope, make_dispatcher(function, options, log)
            )
        made = tiers.Tiered(function, options, log, scope, make_dispatcher, self._npaccel_settle)
        dispatcher = self._npaccel_dispatchers.setdefault(scope, made)
        if dispatcher is made:
            for own in (made.narrow_scope, made.exact_scope):
                self._npaccel_dispatchers[own] = made.plain
        return dispatcher

    def _npaccel_forget_scopes(self) -> None:
        """Forget scopes that functions have made which call this one: they may be gone."""
        kept: list[AnyDispatcher | None] = []
        for scope, dispatcher in list(self._npaccel_dispatchers.items()):
            is_first = all(dispatcher is not other for other in kept)
            if is_first or isinstance(dispatcher, tiers.Plain) or runtime_options.is_lasting(scope):
                kept.append(dispatcher)
            else:
                self._npaccel_dispatchers.pop(scope, None)
                self._npaccel_direct.pop(scope, None)

    def _npaccel_settle(self, tiered: tiers.Tiered, dispatcher: Any) -> None:
        """Have calls made by a dispatcher without asking its tiers, or by the tiers again."""
        is_brief = isinstance(dispatcher, Brief)
        maker = tiered if is_brief and not dispatcher.is_general else dispatcher
        is_direct = False
        for scope, known in list(self._npaccel_dispatchers.items()):
            if known is tiered and scope in self._npaccel_direct:
                self._npaccel_direct[scope] = maker
                is_direct = True
        call = None
        if is_brief and is_direct:
            call = dispatcher.method(runtime_options.current(), Jitted.__call__)
        of: Any = Jitted if call is None else _called_by(call)
        self.__class__ = of

    @overload
    def __get__(self, instance: None, owner: type) -> Jitted[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """Bind a method to its object."""
        return self if instance is None else types.MethodType(self, instance)

    def report(self, *, measure: bool | Sequence[Any] = False) -> Report:
        """Tell what was compiled, what wasn't, why, and at which line.

        Parameters
        ----------
        measure : bool or sequence, default False
            Also time a call, compiled and in plain NumPy, on copies of arguments: of
            these, or with True of the last call that was compiled or loaded, if the
            caller still has them. The report then says after how many calls
            compiling has paid off.

        Returns
        -------
        Report
            ``str()`` of it is a readable table.

        Raises
        ------
        ValueError
            If there is nothing to measure: no call yet, or its arguments are gone.
        """
        if measure is not False:
            self._npaccel_measure(None if measure is True else measure)
        return Report(self._npaccel_name(), self._npaccel_log, self._npaccel_target.__code__)

    def _npaccel_measure(self, args: Sequence[Any] | None) -> None:
        from npaccel._verify.timing import measured

        dispatcher = self._npaccel_dispatcher(runtime_options.current())
        if dispatcher is None:
            raise ValueError("report: npaccel is switched off here, so there is nothing to measure")
        from npaccel._compiler import call_samples

        values = call_samples.last(self._npaccel_log.calls)
        if args is not None:
            values = dispatcher.spec.binding.bind(
                self._npaccel_prefix + tuple(args), self._npaccel_keywords
            )
        if values is None:
            name = self._npaccel_name()
            raise ValueError(
                f"report: the arguments of the last call of {name} that was compiled are "
                "gone, or there was none; pass arguments: report(measure=(x, y))"
            )
        self._npaccel_log.timing = measured(tiers.dispatcher_of(dispatcher, values), values)

    def warmup(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Compile the function for arguments, and wait for it.

        The call is made with copies of the arguments, and what else the function changes is put
        back: arrays, containers, objects and generators that it can reach. What it prints isn't
        shown. Parts of it that can't be compiled run in NumPy.

        Parameters
        ----------
        *args, **kwargs
            Of a call.

        Examples
        --------
        >>> import numpy as np, npaccel
        >>> @npaccel.jit(backend="eager")
        ... def add(x, y):
        ...     x += y
        >>> x = np.ones(2)
        >>> add.warmup(x, x.copy())
        >>> x
        array([1., 1.])
        """
        dispatcher = self._npaccel_dispatcher(runtime_options.current())
        if dispatcher is not None:
            values = dispatcher.spec.binding.bind(
                self._npaccel_prefix + args, {**self._npaccel_keywords, **kwargs}
            )
            load("npaccel._verify.copies").call_on_copies(
                dispatcher.spec.function, dispatcher.run_unverified, values
            )

    def source(self, *, line: int | None = None) -> str:
        """Return the generated C++ or Triton code.

        Parameters
        ----------
        line : int, optional
            The code behind this line of the function's file. None: of every graph.

        Returns
        -------
        str
            Empty before the first call.

        Raises
        ------
        ValueError
            If `line` isn't compiled.
        """
        with self._npaccel_log.lock:
            graphs = list(self._npaccel_log.graphs)
        if line is not None:
            from npaccel._report.generated_code import behind_line

            return behind_line(graphs, self._npaccel_target.__code__.co_filename, line)
        return "\n\n".join(
            f"# {self._npaccel_name()}({graph.signature})\n{graph.source}" for graph in graphs
        )

    def _npaccel_name(self) -> str:
        return getattr(self.__wrapped__, "__qualname__", type(self.__wrapped__).__qualname__)

    def __getattr__(self, name: str) -> Any:
        """Return a name of the wrapped function."""
        if name in _NAMES:
            return getattr(self.__wrapped__, name)
        raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, of the wrapped function too."""
        if name in _NAMES:
            setattr(self.__wrapped__, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"<npaccel.jit of {self._npaccel_name()}>"

    def __reduce__(self) -> Any:
        """Pickle by the function's name where that leads back here, else by value."""
        module, name = self.__wrapped__.__module__, self._npaccel_name()
        if _found_by_name(self, module, name):
            return _by_name, (module, name)
        import cloudpickle

        return _by_value, (cloudpickle.dumps((self.__wrapped__, self._npaccel_explicit)),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted[P, R]:
        """Return a new object around the same function, with nothing compiled."""
        made: Jitted[P, R] = shared_class(type(self))(self.__wrapped__, self._npaccel_explicit)
        return made

    __copy__ = functools.partialmethod(__deepcopy__, {})


def _called_by(method: Callable[..., Any]) -> type[Jitted[..., Any]]:
    """Return a class for one object, which is called by a method of its own.

    It has the names of the usual one in its own dict, where guards of compiled code look for them.
    """
    made = {name: value for name, value in vars(Jitted).items() if name not in _OF_GENERIC}
    made |= {"__slots__": (), "__call__": method, "_npaccel_is_own": True}
    return type(Jitted.__name__, (Jitted,), made)


def _found_by_name(jitted: Any, module: str | None, name: str) -> bool:
    if module is None or module == "__main__" or "<" in name:
        return False
    try:
        return _by_name(module, name) is jitted
    except (ImportError, AttributeError):
        return False


def _by_name(module: str, name: str) -> Any:
    import importlib

    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    return found


def _by_value(data: bytes) -> Jitted[..., Any]:
    import cloudpickle

    function, explicit = cloudpickle.loads(data)
    return Jitted(function, explicit)


leave_alone(Jitted.__call__.__code__)


def _verified(dispatcher: Dispatcher, values: Sequence[Any], key: Any) -> Any:
    return load("npaccel._verify.verification").verified_call(dispatcher, values, key)


Dispatcher.verifier = staticmethod(_verified)
for _name in ("report", "source", "warmup"):
    setattr(Jitted, _name, _Own(vars(Jitted)[_name]))
Jitted.__module__ = _Module(Jitted.__module__)
Jitted.__doc__ = _Docstring(Jitted.__doc__)
Jitted.__annotations__ = _Annotations()


def _unwrap(
    function: Callable[..., Any],
) -> tuple[types.FunctionType, tuple[Any, ...], dict[str, Any]]:
    """Return the Python function behind a callable, and what it is called with first.

    Raises
    ------
    TypeError
        If there is none.
    """
    target, prefix, keywords = underlying(function)
    if isinstance(target, type) or not callable(target):
        raise TypeError(
            f"jit: {target!r} is a {type(target).__qualname__}, not a function; "
            "put @npaccel.jit on a function or a method"
        )
    # Functions of NumPy's are called, not read: the table has forms for them.
    is_read = isinstance(target, types.FunctionType) and not _is_of_numpy(target)
    return target if is_read else _calling(target), prefix, keywords


def _is_of_numpy(function: types.FunctionType) -> bool:
    """Whether it's a function in one of NumPy's modules; its classes' methods aren't."""
    package = str(function.__module__).partition(".")[0]
    return package == "numpy" and "." not in function.__qualname__


def _calling(function: Callable[..., Any]) -> types.FunctionType:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    assert isinstance(call, types.FunctionType)
    return call


@overload
def jit(
    function: Callable[P, R],
    /,
    *,
    device: str | None = ...,
    default_float: DefaultFloat = ...,
    narrow_inputs: bool = ...,
    strict: bool = ...,
    dynamic: bool | None = ...,
    loops: Loops = ...,
    rng: RNG = ...,
    verify: Verify = ...,
    cache: bool = ...,
    backend: Backend = ...,
    compile: Compile = ...,
    static_argnames: str | Sequence[str] = ...,
) -> Jitted[P, R]: ...
@overload
def jit(
    *,
    device: str | None = ...,
    default_float: DefaultFloat = ...,
    narrow_inputs: bool = ...,
    strict: bool = ...,
    dynamic: bool | None = ...,
    loops: Loops = ...,
    rng: RNG = ...,
    verify: Verify = ...,
    cache: bool = ...,
    backend: Backend = ...,
    compile: Compile = ...,
    static_argnames: str | Sequence[str] = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
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
) -> Any:
    """Compile a NumPy function.

    The result equals what plain NumPy gives: value, shape, dtype (but for
    ``default_float``), scalar or array, mutated arguments, exception class.
    ndarrays go in and out as ndarrays, tensors as tensors on their device.

    Options that aren't given are those of an enclosing `npaccel.options`, or else of
    `npaccel.config`; the defaults below are those of the latter.

    Parameters
    ----------
    function : callable
        A function, method, lambda or `functools.partial` that computes on
        arrays.
    device : str, optional
        Where ndarray arguments are computed: ``"cpu"``, ``"cuda"``,
        ``"cuda:1"``, ``"auto"``. Tensors stay where they are.
    default_float : {"float32", "float64"}, default "float32"
        The dtype of what NumPy would invent as float64, in calls in which nothing is a
        64-bit float: creation functions without ``dtype``, integers promoted to floats.
        Where an argument, an array or NumPy scalar from outside, or a dtype in the code is
        float64 or complex128, and always with ``"float64"``, dtypes are exactly NumPy's.
    narrow_inputs : bool, default False
        Also cast float64 and complex128 arguments to 32 bit a part.
    strict : bool, default False
        Raise `errors.NotCompiledError` where part of the function would run
        uncompiled, instead of warning once per reason.
    dynamic : bool, optional
        None: the first shape is compiled for itself, the second one for all
        shapes. True or False: always or never for all shapes.
    loops : {"auto", "compile", "numba", "unroll", "python"}, default "auto"
        How Python loops over arrays run. ``"compile"``: Python counts, and the
        body is compiled once. ``"numba"``: Numba compiles the loop.
        ``"auto"``: Numba for loops over single elements, else ``"compile"``.
        ``"unroll"``: as torch.compile does it. ``"python"``: uncompiled; only
        what is outside of loops is compiled.
    rng : {"numpy", "device"}, default "numpy"
        Where random numbers come from: NumPy, bit for bit, or a stream that the compiled
        code computes, the same on every device.
    verify : bool or "warn", default False
        Compare the first call per signature with plain NumPy, as
        `npaccel.check` does. True: a difference raises
        `errors.VerificationError`; "warn": it warns, and NumPy answers.
    cache : bool, default True
        Keep artifacts on disk, so that a new process starts warm.
    backend : {"inductor", "aot_eager", "eager"}, default "inductor"
        Who compiles; the others are fast to build and slow to run.
    compile : {"auto", "now", "behind"}, default "auto"
        When calls are compiled. ``"auto"``: NumPy makes them until they have taken as long as
        compiling is likely to take; then they are compiled, and the way that turns out to be
        faster makes them. ``"now"``: before the first one is answered, and compiled code makes
        all of them. ``"behind"``: in a helper thread, while NumPy answers. NumPy and compiled
        code may differ in the last digits of floats.
    static_argnames : str or sequence of str
        Parameters whose values the compiled code may rely on.

    Returns
    -------
    Jitted
        Called like the function; also has ``report()``, ``source()`` and ``warmup()``.

    Raises
    ------
    TypeError
        For an unknown option, or if `function` isn't a function.
    OptionError
        For a value that an option can't have.

    Notes
    -----
    Capture is TorchDynamo's and compilation TorchInductor's [1]_.

    References
    ----------
    .. [1] J. Ansel et al., "PyTorch 2: Faster Machine Learning Through Dynamic
       Python Bytecode Transformation and Graph Compilation", ASPLOS 2024.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit
    ... def nearest(points, means):
    ...     distances = np.linalg.norm(points - means[:, None], axis=2)
    ...     return np.argmin(distances, axis=0)
    >>> points = np.array([[0.0, 0.1], [4.0, 4.2], [0.2, 0.0]])
    >>> nearest(points, np.array([[0.0, 0.0], [4.0, 4.0]]))
    array([0, 1, 0])
    """
    explicit = runtime_options.given(locals(), unknown)
    if function is None:
        return functools.partial(_jitted, explicit=explicit)
    return _jitted(function, explicit)


def _jitted(function: Any, explicit: dict[str, Any]) -> Jitted[..., Any]:
    """Return a callable compiled; what a transform returns stays of its own class."""
    of: Any = shared_class(type(function)) if is_jitted(function) else Jitted
    made: Jitted[..., Any] = of(function, explicit)
    return made


__all__ = ["Jitted", "Options", "jit"]
