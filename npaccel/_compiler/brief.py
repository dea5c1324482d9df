"""Brief calls: NumPy's, of functions that take less time than calls of compiled code.

To find the bucket of such a call would take longer than the call itself. So NumPy makes all that
look like those that were timed, and one in some hundred is timed: a function that takes long for
other numbers goes through its tiers again.

Where such calls have arguments of the same types, the decorated function's object gets a method of
its own to be called by, with the function's parameters: it compares types, and calls the function.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import time
import types
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from npaccel._compiler.call_kinds import LOOKED_AT, NUMBERS, Key
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._report.log import Tier
from npaccel._runtime import errstate
from npaccel._runtime import options as runtime_options
from npaccel._runtime.callables import leave_alone
from npaccel._runtime.options import Scope

#: States of such calls in the report, and of those that have become longer.
STATE, STATE_AFTER = "NumPy's, as calls are shorter than those of compiled code", "NumPy's so far"
#: Number of calls for one that is timed.
_CALLS_FOR_ONE = 64
#: Seconds that as many calls in a row may take as `_MOST_LONG`; one may have been interrupted.
_LONG = 30e-6
_MOST_LONG = 2
#: Bits of the sizes of arrays, and of Python's integers, that are small whatever was timed.
_SMALL_BITS = 6
#: Types of NumPy's numbers that aren't 64-bit floats.
_NARROW_SCALARS = frozenset({np.float32, np.int64, np.int32, np.bool_})
_FLOAT64 = np.dtype(np.float64)
#: The most tests of a method's.
_MOST_TESTS = 24
#: Stands for an argument that a call doesn't give.
_MISSING: Any = object()
#: Makes a function's method. In place of "$" stands `_PREFIX`; no parameter's name begins with it.
_TEXT = """
def $make($function, $brief, $scope, $inner, $finish, $meets_wide{constants}):
    $left = $CALLS_FOR_ONE
    def __call__({parameters}):
        nonlocal $left
        if (
            {tests}
            and not $rest
            and ($SCOPE_HERE() or $CONFIG._scope) is $scope
            and $ERRSTATE.current() is $ERRSTATE.harmless
            {last_test}
        ):
            $left -= 1
            if $left > 0:
                {call}
            $left = $CALLS_FOR_ONE
            return $brief.timed({given_as_containers})
        return $brief.otherwise($jitted, ({names}), $rest, {by_name})
    return __call__
"""
#: The call in it, of a function that other scopes make no difference to, and of others.
_CALL = "return {result}"
_CALL_IN_SCOPE = """$token = $SET_SCOPE($inner)
                try:
                    return {result}
                finally:
                    $RESET_SCOPE($token)"""
_PREFIX = "_npaccel_"
_TEXT_NAMES = {
    "CALLS_FOR_ONE": _CALLS_FOR_ONE,
    "CONFIG": runtime_options.config,
    "ERRSTATE": errstate,
    "MISSING": _MISSING,
    "NDARRAY": np.ndarray,
    "RESET_SCOPE": runtime_options._scope.reset,
    "SCOPE_HERE": runtime_options._scope.get,
    "SET_SCOPE": runtime_options._scope.set,
    "len": len,
    "type": type,
}


class Owner(Protocol):
    """A function with tiers: a `npaccel._compiler.tiers.Tiered`."""

    spec: FunctionSpec
    python: Callable[..., Any]

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""

    def is_as_numpy(self, values: Any) -> bool:
        """Whether a call has NumPy's dtypes throughout."""

    def note_long(self) -> None:
        """Have calls come here again."""


class Brief:
    """A function whose calls are shorter than those of compiled code.

    NumPy makes them, as it made those that were timed.

    Parameters
    ----------
    owner : Owner
        Makes calls with other arguments.
    key : tuple
        Kinds of the arguments of calls that were timed.
    tier : Tier
        What the report says of those.
    scope : Scope, optional
        In which the function has to run, if it may call jitted ones.
    finish : callable, optional
        What becomes of results, if any.
    meets_wide : callable, optional
        Whether calls are to be compiled after all, by their arguments by position and by keyword.
    """

    __slots__ = (
        *("function", "has_method", "is_general", "is_wide", "key", "left", "owner", "spec"),
        *("suits_numbers", "_call", "_constants", "_finish", "_largest", "_long"),
        *("_by_keyword", "_by_position"),
        *("_meets_wide", "_scope", "_size", "_tests", "_tier"),
    )

    def __init__(
        self,
        owner: Owner,
        key: Key,
        tier: Tier,
        *,
        scope: Scope | None = None,
        finish: Callable[[Any], Any] | None = None,
        meets_wide: Callable[[tuple[Any, ...], dict[str, Any]], bool] | None = None,
    ) -> None:
        self.owner = owner
        self.spec = owner.spec
        self.function = owner.python
        self.key = key
        self._tier = tier
        self._scope, self._finish, self._meets_wide = scope, finish, meets_wide
        #: Whether calls have NumPy's dtypes, whatever their arguments.
        self.is_wide = self.spec.options.default_float != "float32"
        #: Whether calls with Python's numbers alone have NumPy's dtypes.
        self.suits_numbers = owner.is_as_numpy(())
        #: Number of calls until one is timed.
        self.left = _CALLS_FOR_ONE
        #: Number of timed ones in a row that were long.
        self._long = 0
        ints = [one for one in key if type(one) is int]
        sizes = [one[-1] for one in key if _is_of_array(one)]
        #: The largest integer, and the largest size of an array.
        self._largest = (1 << max([_SMALL_BITS, *ints])) - 1
        self._size = (1 << max([_SMALL_BITS, *sizes])) - 1
        #: Whether calls with small arrays and numbers of other kinds are made here too.
        self.is_general = scope is None and finish is None and self._suits()
        #: Makes a call as if the object had no method of its own.
        self._call: Callable[..., Any] | None = None
        #: Kinds of the arguments by position, and of those by keyword.
        self._by_position, self._by_keyword = _parts(key)
        self._constants: list[Any] = []
        self._tests: list[str] = []
        #: Whether there can be a method for such calls.
        self.has_method = self._has_method()

    def _suits(self) -> bool:
        """Whether calls like those that were timed are among those that `__call__` makes."""
        kinds, has_narrow, is_wide = [_type_of(one) for one in self.key], False, self.is_wide
        for one, of in zip(self.key, kinds, strict=True):
            dtype = one[0] if _is_of_array(one) else one
            if isinstance(dtype, np.dtype) and dtype == _FLOAT64:
                is_wide = True
            else:
                has_narrow = has_narrow or of not in NUMBERS
        return None not in kinds and (is_wide or (self.suits_numbers and not has_narrow))

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, where NumPy makes the call as compiled code would."""
        is_wide, is_narrow, largest = self.is_wide, False, self._largest
        for value in args:  # In place: a call may take less than a microsecond.
            of = type(value)
            if of in NUMBERS:
                if of is int and not -largest <= value <= largest:
                    break
            elif of is np.ndarray and value.size <= self._size:
                if value.dtype is _FLOAT64:
                    is_wide = True
                else:
                    is_narrow = True
            elif of is np.float64:
                is_wide = True
            elif of in _NARROW_SCALARS:
                is_narrow = True
            else:
                break
        else:
            if not kwargs and (is_wide or (self.suits_numbers and not is_narrow)):
                if self.left > 0:
                    self.left -= 1
                    return self.function(*args)
                self.left = _CALLS_FOR_ONE
                return self.timed(args, {})
        return self.owner(args, kwargs)

    def timed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call, and look whether such calls are still short."""
        self._tier.brief += _CALLS_FOR_ONE
        token = None if self._scope is None else runtime_options._scope.set(self._scope)
        start = time.perf_counter()
        try:
            result = self.function(*args, **kwargs)
        finally:
            seconds = time.perf_counter() - start
            if token is not None:
                runtime_options._scope.reset(token)
            self._long = self._long + 1 if seconds > _LONG else 0
            if self._long >= _MOST_LONG:
                self._tier.state = STATE_AFTER
                self.owner.note_long()
        return result if self._finish is None else self._finish(result)

    # -- A method that makes the calls -----------------------------------------------

    def method(self, scope: Scope, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return a method by which an object can be called in place of this.

        Parameters
        ----------
        scope : Scope
            In which this makes the object's calls.
        call : callable
            The method of other objects, for calls with other arguments.

        Returns
        -------
        callable or None
            None where the function takes any number of arguments, or theirs can't be told by types.
        """
        if not self.has_method:
            return None
        code = self.spec.function.__code__
        names, only_by_keyword = self._names()
        given = "".join(f"{name}, " for name in names[: len(self._by_position)])
        keywords = "".join(f"{name}={name}, " for name in self._by_keyword)
        in_dict = ", ".join(f"{name!r}: {name}" for name in self._by_keyword)
        parameters = [f"{name}=$MISSING" for name in names]
        parameters.insert(code.co_posonlyargcount, "/")
        others = [f"{name}=$MISSING" for name in only_by_keyword]
        result = f"$function({given}{keywords})"
        result = result if self._finish is None else f"$finish({result})"
        containers = f"({given}), {{{in_dict}}}"
        text = _TEXT.format(
            constants="".join(f", $K{i}" for i in range(len(self._constants))),
            parameters=", ".join(["$jitted", *parameters, "*$rest", *others]),
            tests=" and ".join(self._tests) or "True",
            last_test="" if self._meets_wide is None else f"and not $meets_wide({containers})",
            call=(_CALL if self._scope is None else _CALL_IN_SCOPE).format(result=result),
            given_as_containers=containers,
            names="".join(f"{name}, " for name in names),
            by_name="{" + ", ".join(f"{name!r}: {name}" for name in only_by_keyword) + "}",
        )
        self._call = call
        parts = (self.function, self, scope, self._scope, self._finish, self._meets_wide)
        made: Any = _maker(text.replace("$", _PREFIX))(*parts, *self._constants)
        made.__qualname__ = self.spec.function.__qualname__
        # As `torch.compiler.disable` marks functions; what that returns would be a frame more.
        made._torchdynamo_disable = True
        return made  # type: ignore[no-any-return]

    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the function's parameters, and those that go by keyword only."""
        code = self.spec.function.__code__
        end = code.co_argcount + code.co_kwonlyargcount
        return code.co_varnames[: code.co_argcount], code.co_varnames[code.co_argcount : end]

    def _has_method(self) -> bool:
        """Find the tests of a method; return whether there can be one."""
        (names, others), count = self._names(), len(self._by_position)
        if self.spec.function.__code__.co_flags & _WITH_OTHERS or count > len(names):
            return False
        if any(name.startswith(_PREFIX) for name in names + others):
            return False
        kinds = dict(zip(names, self._by_position, strict=False)) | self._by_keyword
        self._tests += [f"{name} is $MISSING" for name in names + others if name not in kinds]
        return all(map(self._test, kinds, kinds.values())) and len(self._tests) <= _MOST_TESTS

    def _test(self, what: str, kind: Any) -> bool:
        """Add the tests whether an argument is of a kind; return whether there are such.

        Kinds are those of `npaccel._compiler.call_kinds.kind`. What is smaller is of it too.
        """
        if type(kind) is int:
            largest = (1 << max(kind, _SMALL_BITS)) - 1
            self._tests += [f"$type({what}) is int", f"-{largest} <= {what} <= {largest}"]
        elif _is_of_array(kind):
            self._tests.append(
                f"$type({what}) is $NDARRAY and {what}.dtype is {self._name(kind[0])}"
            )
            self._tests.append(f"{what}.size <= {(1 << max(kind[-1], _SMALL_BITS)) - 1}")
        elif isinstance(kind, np.dtype):
            self._tests.append(f"$type({what}) is {self._name(kind.type)}")
        elif isinstance(kind, type):
            self._tests.append(f"$type({what}) is {self._name(kind)}")
        elif _is_of(kind, str, bytes):
            self._tests += [
                f"$type({what}) is {self._name(kind[0])}",
                f"$len({what}) < {1 << kind[1]}",
            ]
        elif _is_of(kind, list, tuple):
            count = len(kind[2])
            most = count if count < LOOKED_AT else (1 << kind[1]) - 1
            self._tests.append(f"$type({what}) is {self._name(kind[0])}")
            self._tests.append(f"{count} <= $len({what}) <= {most}")
            return all(self._test(f"{what}[{i}]", one) for i, one in enumerate(kind[2]))
        else:
            return False
        return True

    def _name(self, constant: Any) -> str:
        """Return the name of a constant of the method's."""
        self._constants.append(constant)
        return f"$K{len(self._constants) - 1}"

    def otherwise(
        self, jitted: Any, values: tuple[Any, ...], rest: tuple[Any, ...], others: dict[str, Any]
    ) -> Any:
        """Make an object's call that its own method doesn't make.

        Parameters
        ----------
        jitted : object
        values : tuple
            Of the function's parameters; `_MISSING` where the call gives none.
        rest : tuple
            Arguments that are too many.
        others : dict
            Of parameters that go by keyword only.
        """
        assert self._call is not None
        args = tuple(itertools.takewhile(lambda value: value is not _MISSING, values))
        names = self._names()[0][len(args) :]
        others = dict(zip(names, values[len(args) :], strict=True)) | others
        kwargs = {name: value for name, value in others.items() if value is not _MISSING}
        return self._call(jitted, *args, *rest, **kwargs)


_WITH_OTHERS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _parts(key: Key) -> tuple[Key, dict[str, Any]]:
    """Return the kinds of a call's arguments by position, and by keyword.

    See `npaccel._compiler.tiers.Tiered.__call__`: there are names in it only where keywords are.
    """
    names = [one for one in key if isinstance(one, str)]
    return (key[0], dict(zip(names, key[-1], strict=True))) if names else (key, {})


def _is_of_array(kind: Any) -> bool:
    """Whether a kind is that of an array; see `npaccel._compiler.call_kinds.kind`."""
    return type(kind) is tuple and len(kind) == 3 and isinstance(kind[0], np.dtype)


def _is_of(kind: Any, *types: type) -> bool:
    """Whether a kind is that of containers of some types."""
    return type(kind) is tuple and bool(kind) and isinstance(kind[0], type) and kind[0] in types


def _type_of(kind: Any) -> type | None:
    """Return the type that arguments of a kind have; None for those that are looked at further."""
    if _is_of_array(kind):
        return np.ndarray
    if isinstance(kind, np.dtype):
        return kind.type
    of = int if type(kind) is int else kind[0] if type(kind) is tuple and kind else kind
    return of if isinstance(of, type) and of in NUMBERS else None


def holds_objects(key: Key) -> bool:
    """Whether arguments may lead to functions: objects, or containers of them."""
    by_position, by_keyword = _parts(key)
    return any(
        holds_objects(one[2]) if _is_of(one, list, tuple)
        else isinstance(one, type) and one not in NUMBERS
        for one in (*by_position, *by_keyword.values())
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _maker(text: str) -> types.FunctionType:
    """Return what makes methods of a text; they have one code, which Dynamo leaves alone."""
    names = {_PREFIX + name: value for name, value in _TEXT_NAMES.items()}
    exec(compile(text, "<npaccel: a brief call>", "exec"), names)
    make: Any = names[f"{_PREFIX}make"]
    for one in make.__code__.co_consts:
        if isinstance(one, types.CodeType):
            leave_alone(one)
    return make  # type: ignore[no-any-return]


__all__ = ["STATE", "STATE_AFTER", "Brief", "holds_objects"]
