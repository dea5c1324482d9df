"""Bind a call's arguments to a function's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Binding:
    """The parameters of a function.

    Parameters
    ----------
    function : types.FunctionType

    Attributes
    ----------
    names : tuple of str
        Of all parameters, as the code's local variables have them.
    arity : int
        How many positional arguments bind by themselves; -1 if none do.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        code = function.__code__
        self.positional = code.co_varnames[: code.co_argcount]
        keyword_end = code.co_argcount + code.co_kwonlyargcount
        self.keyword_only = code.co_varnames[code.co_argcount : keyword_end]
        rest = list(code.co_varnames[keyword_end:])
        self.var_positional = rest.pop(0) if code.co_flags & inspect.CO_VARARGS else None
        self.var_keyword = rest.pop(0) if code.co_flags & inspect.CO_VARKEYWORDS else None
        extra = tuple(name for name in (self.var_positional, self.var_keyword) if name)
        self.names = (*self.positional, *self.keyword_only, *extra)
        self.arity = -1 if extra or self.keyword_only else len(self.positional)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return one value for every parameter, defaults included.

        Defaults are read from the function at every call, as Python does.

        Raises
        ------
        TypeError
            As the function itself raises it.
        """
        positional = self.positional
        if len(args) > len(positional) and self.var_positional is None:
            self._refuse(args, kwargs)
        values = list(args[: len(positional)])
        left = dict(kwargs)
        defaults = self.function.__defaults__ or ()
        first_default = len(positional) - len(defaults)
        only = self.function.__code__.co_posonlyargcount
        for i in range(len(values), len(positional)):
            if i >= only and positional[i] in left:
                values.append(left.pop(positional[i]))
            elif i >= first_default:
                values.append(defaults[i - first_default])
            else:
                self._refuse(args, kwargs)
        keyword_defaults = self.function.__kwdefaults__ or {}
        for name in self.keyword_only:
            if name in left:
                values.append(left.pop(name))
            elif name in keyword_defaults:
                values.append(keyword_defaults[name])
            else:
                self._refuse(args, kwargs)
        if self.var_positional is not None:
            values.append(tuple(args[len(positional) :]))
        if self.var_keyword is not None:
            values.append(left)
        elif left:
            self._refuse(args, kwargs)
        return values

    def _refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise Python's own error for a call that doesn't fit."""
        self.function(*args, **kwargs)
        inspect.signature(self.function).bind(*args, **kwargs)

    def call(self, values: Sequence[Any], function: Any = None) -> Any:
        """Call the function, or one of the same signature, with bound values."""
        target = self.function if function is None else function
        count = len(self.positional)
        args = tuple(values[:count])
        if len(values) == count:
            return target(*args)
        kwargs = dict(zip(self.keyword_only, values[count:], strict=False))
        rest = list(values[count + len(self.keyword_only) :])
        if self.var_positional is not None:
            args += tuple(rest.pop(0))
        if self.var_keyword is not None:
            kwargs |= rest.pop(0)
        return target(*args, **kwargs)
