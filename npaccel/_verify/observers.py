"""Observers, which operations of an instrumented function pass through.

`Observer` computes what Python would. The others change results: `Narrowing` as
``default_float="float32"`` does, `Perturbing` by some units in the last place.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from npaccel import _numpy
from npaccel._numpy.core import table
from npaccel._runtime.arguments import with_items
from npaccel._runtime.callables import is_jitted
from npaccel._verify.instrument import Attribute, Site, SourceError, instrument, is_users, site

#: Callback for an operation: site, function, operands, keywords, result.
Listener = Callable[[Site, Any, tuple[Any, ...], dict[str, Any], Any], None]

_WIDE: dict[str, type[np.generic]] = {"f8": np.float32, "c16": np.complex64}
#: NumPy's functions and methods that write to an argument, or return a part of it.
_WRITE = frozenset(
    {
        *("at", "copyto", "fill", "fill_diagonal", "itemset", "partition", "place", "put"),
        *("put_along_axis", "putmask", "resize", "setflags", "shuffle", "sort", "view"),
    }
)


class Observer:
    """Compute every operation as Python does, and tell of it.

    Parameters
    ----------
    root : types.FunctionType
        The function that is run; what it calls of the user's is rewritten too.
    listener : callable, optional
    """

    slice = slice

    def __init__(self, root: types.FunctionType, listener: Listener | None = None) -> None:
        self.root = root
        self.listener = listener
        self.returned: Site | None = None

    def function(self) -> types.FunctionType:
        """Return the root, rewritten for this observer."""
        return instrument(self.root, self)

    def operate(self, index: int, /, *operands: Any) -> Any:
        """Compute an operator."""
        where = site(index)
        return self._run(where, where.function, operands, {})

    def operate_item(self, index: int, target: Any, key: Any, value: Any, /) -> None:
        """Compute ``target[key] op= value``."""
        where = site(index)
        old = self._run(where, operator.getitem, (target, key), {})
        new = self._run(where, where.function, (old, value), {})
        self._run(where, operator.setitem, (target, key, new), {})

    def store(self, index: int, value: Any, target: Any, key: Any, /) -> None:
        """Compute ``target[key] = value``."""
        self._run(site(index), operator.setitem, (target, key, value), {})

    def leave(self, index: int, result: Any, /) -> Any:
        """Note where a function returns; the last to do so is the root."""
        self.returned = site(index)
        return result

    def call(self, index: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a function, a rewritten one in place of the user's own."""
        own = self._users(function)
        if own is not None:
            return own(*args, **kwargs)
        return self._run(site(index), function, args, kwargs)

    def _users(self, function: Any) -> Any:
        """Return the rewritten form of a function of the user's, else None."""
        if is_jitted(function):
            return self._users(function.__wrapped__) or function.__wrapped__
        if isinstance(function, functools.partial):
            inner = self._users(function.func)
            return inner and functools.partial(inner, *function.args, **function.keywords)
        if isinstance(function, types.MethodType):
            inner = self._users(function.__func__)
            return inner and types.MethodType(inner, function.__self__)
        if not isinstance(function, types.FunctionType) or not is_users(function, self.root):
            return None
        try:
            return instrument(function, self)
        except SourceError:
            return None

    def _run(
        self, where: Site, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        asks = function is np.result_type or function is np.can_cast
        if not asks and not any(is_value(x) for x in leaves((operands, keywords))):
            result = function(*operands, **keywords)
            if not is_value(result):
                return result
            result = self.changed(function, operands, keywords, result)
        else:
            result = self.compute(where, function, operands, keywords)
        if self.listener is not None:
            self.listener(where, function, operands, keywords, result)
        return result

    def compute(
        self, where: Site, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Compute an operation on arrays or NumPy scalars."""
        del where
        return self.changed(function, operands, keywords, function(*operands, **keywords))

    def changed(
        self, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any], result: Any
    ) -> Any:
        """Return what this observer makes of a result."""
        del function, operands, keywords
        return result


class Narrowing(Observer):
    """Compute as ``default_float="float32"``: what NumPy invents as 64 bit is 32 bit.

    Parameters
    ----------
    root : types.FunctionType
    listener : callable, optional
    """

    def __init__(
        self,
        root: types.FunctionType,
        listener: Listener | None = None,
    ) -> None:
        super().__init__(root, listener)
        self.narrowed: dict[Site, Any] = {}

    def _run(
        self, where: Site, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        self._where = where
        return super()._run(where, function, operands, keywords)

    def changed(
        self, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any], result: Any
    ) -> Any:
        """Return an invented float in 32 bit, everything else as it is."""
        wide = [part for part in leaves(result) if is_wide(part)]
        if not wide or not invents(function, operands, keywords):
            return result
        if all(not part.ndim for part in wide) and are_numbers(operands, keywords):
            return result
        self.narrowed.setdefault(self._where, function)
        return rebuilt(result, _narrowed)


def _narrowed(part: Any) -> Any:
    with np.errstate(all="ignore"):
        return part.astype(_WIDE[part.dtype.str[1:]]) if is_wide(part) else part


class Perturbing(Observer):
    """Change every float that an operation makes by some units in the last place.

    Parameters
    ----------
    inner : Observer
        Computes the operations.
    seed : int
    """

    def __init__(self, inner: Observer, seed: int, listener: Listener | None = None) -> None:
        super().__init__(inner.root, listener)
        self._inner = inner
        self._rng = np.random.default_rng(seed)
        self._ulps = 1 << (seed % 5)

    def _run(
        self, where: Site, function: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        if _only_reads(function, operands):
            operands = rebuilt(operands, self._perturbed)
            owner = getattr(function, "__self__", None)
            if is_value(owner):
                function = getattr(self._perturbed(owner), function.__name__)
        result = self._inner._run(where, function, operands, keywords)
        if isinstance(result, np.ndarray) and any(result is x for x in operands):
            shaken = self._perturbed(result)  # An operator in place: the array stays the same.
            if shaken is not result and result.flags.writeable:
                result[...] = shaken
        elif not returns_view(function):
            result = rebuilt(result, self._perturbed)
        if self.listener is not None:
            self.listener(where, function, operands, keywords, result)
        return result

    def _perturbed(self, part: Any) -> Any:
        """Return a value a little changed; round numbers are exact and stay."""
        if not is_value(part) or part.dtype.kind not in "fc" or part.base is not None:
            return part
        eps = np.finfo(part.dtype).eps
        with np.errstate(all="ignore"):
            is_round = (part * 8 == np.rint(part * 8)) & (np.abs(part) < 1 << 20)
            change = self._rng.uniform(-self._ulps, self._ulps, np.shape(part)) * eps
            moved = np.where(is_round, part, part * (1 + change)).astype(part.dtype)
        return moved if isinstance(part, np.ndarray) else moved[()]


# -- Values and functions -----------------------------------------------------


def is_value(part: Any) -> bool:
    """Whether it's an array or a NumPy scalar."""
    return isinstance(part, np.ndarray | np.generic)


def is_wide(part: Any) -> bool:
    """Whether it's an array or NumPy scalar of 64-bit floats, or complex numbers of those."""
    return is_value(part) and part.dtype.str[1:] in _WIDE


def leaves(value: Any, depth: int = 3) -> Iterator[Any]:
    """Yield what is in (nested) tuples, lists and dicts."""
    if isinstance(value, tuple | list) and depth:
        for part in value:
            yield from leaves(part, depth - 1)
    elif isinstance(value, dict) and depth:
        yield from leaves(list(value.values()), depth)
    else:
        yield value


def rebuilt(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the parts of a result or of operands."""
    if isinstance(value, tuple | list):
        return with_items(value, [rebuilt(part, function) for part in value])
    return function(value) if is_value(value) else value


def name_of(function: Any) -> str:
    """Return the name of an operation, as the nodes of captured graphs have it."""
    if isinstance(function, Attribute):
        return f"numpy.ndarray.{function.name}"
    name = getattr(function, "__name__", type(function).__name__)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ndarray | np.generic):
        return f"numpy.ndarray.{name}"
    if isinstance(owner, np.random.Generator | np.random.RandomState):
        return f"numpy.random.{type(owner).__name__}.{name}"
    if isinstance(owner, np.ufunc):
        return f"numpy.{owner.__name__}.{name}"
    if isinstance(function, np.ufunc):
        return f"numpy.{name}"
    module = getattr(function, "__module__", "") or ""
    if module == "_operator" or function in (abs, pow, divmod):
        return f"operator.{name}"
    return f"{module}.{name}"


def is_call(function: Any) -> bool:
    """Whether it's written as a call, not as an operator or an attribute."""
    return not isinstance(function, Attribute) and getattr(function, "__module__", "") != (
        "_operator"
    )


def _only_reads(function: Any, operands: Sequence[Any]) -> bool:
    """Whether a call of NumPy's computes with its operands and leaves them alone."""
    if not is_call(function) or not name_of(function).startswith("numpy."):
        return False
    if isinstance(function, np.ufunc) and len(operands) > function.nin:
        return False
    return getattr(function, "__name__", "") not in _WRITE


def returns_view(function: Any) -> bool:
    """Whether a result is (mostly) a view, which has to stay one."""
    return isinstance(function, Attribute) or function is operator.getitem


@functools.cache
def _loaded_table() -> None:
    _numpy.load()


def _is_compiled(function: Any) -> bool:
    """Whether npaccel computes an operation itself, and so decides on its dtype."""
    if name_of(function).startswith("numpy.random."):
        return False  # Draws are NumPy's own, bit for bit.
    _loaded_table()
    row = table.row_named(name_of(function)) or table.row_of(function)
    if row is not None:
        return row.status == "compiled"
    return not is_call(function) or function in (abs, pow, divmod)


def invents(function: Any, operands: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether a 64-bit float result of a call comes from nothing that is 64 bit.

    That is so without arrays of float64 among the operands, and without a dtype that the user
    gave. Scalars of float64 were computed of Python numbers, in a call that narrows.
    """
    owner = getattr(function, "__self__", None)
    given = [*leaves((tuple(operands), keywords)), owner]
    if any((is_wide(part) and part.ndim) or _is_dtype(part) for part in given):
        return False
    named = keywords.get("dtype")
    texts = [part for part in (*operands, named) if isinstance(part, str)]
    if named is not None or any(map(_names_wide, texts)):
        return False
    if isinstance(function, type) and issubclass(function, np.generic):
        return False
    return _is_compiled(function)


def are_numbers(operands: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether a call is given nothing but numbers: of Python, or computed of those."""
    numbers = [
        part for part in leaves((tuple(operands), keywords)) if not isinstance(part, str | None)
    ]
    is_weak = [isinstance(part, int | float | complex) or is_wide(part) for part in numbers]
    return bool(numbers) and all(is_weak) and all(not np.ndim(part) for part in numbers)


def _is_dtype(part: Any) -> bool:
    if isinstance(part, np.dtype):
        return True
    return isinstance(part, type) and issubclass(part, np.generic | float | complex | int)


def _names_wide(text: str) -> bool:
    return text in ("float64", "float", "double", "f8", "d", "complex128", "complex", "c16", "D")
