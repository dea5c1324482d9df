"""Errors of Python or NumPy at a place of a nest, raised with the user's line."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from npaccel._loops.nests.lowering.code_builder import Site

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_KINDS: dict[str, Callable[[int], Any]] = {"int": int, "float": float, "complex": complex}


def raise_at(
    site: Site, ints: Any, floats: Any, filename: str, namespace: Mapping[str, Any]
) -> None:
    """Raise what Python raises at a place.

    Parameters
    ----------
    site : Site
    ints, floats : ndarray
        The operands, from index 1 on.
    filename : str
        Of the nest.
    namespace : mapping
        Where the names of a raise statement are looked up.

    Raises
    ------
    Exception
        Always. The traceback ends at the user's line.
    """
    error = exception(site, [int(i) for i in ints[1:3]], [float(x) for x in floats[1:3]], namespace)
    text = "\n" * (site.line - 1) + "raise error"
    names = {"error": error}
    try:
        exec(compile(text, site.file or filename, "exec"), names)
    finally:
        names.clear()  # or the exception and its traceback would keep each other, and arrays
        del error


def exception(
    site: Site, ints: list[int], floats: list[float], namespace: Mapping[str, Any]
) -> BaseException:
    """Return the exception of a place, made by doing again what raised it."""
    again = _AGAIN[site.kind]
    try:
        with np.errstate(all="ignore"):
            again(site.detail, ints, floats, namespace)
    except Exception as error:  # noqa: BLE001 - it is what the user's code raises
        return error.with_traceback(None)
    text = f"line {site.line}: {site.kind} {site.detail!r} with {ints}, {floats} raised nothing"
    return RuntimeError(f"{text}; please report this as a bug of npaccel")


def _bail(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    raise OverflowError(
        f"{detail}, after too many steps for the loop to be run again by Python; "
        "run it outside of jit"
    )


def _unbound(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    raise UnboundLocalError(
        f"cannot access local variable '{detail}' where it is not associated with a value",
        name=detail,
    )


def _index(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    index, size = ints
    shape = (1,) * detail + (size,)
    np.broadcast_to(np.False_, shape).item((0,) * detail + (index,))


def _long_index(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    np.zeros(1).__getitem__(np.uint64(2**64 - 1))


def _readonly(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    array = np.zeros(1)
    array.flags.writeable = False
    array[0] = 0


def _zero(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    symbol, kind = detail
    _OPERATORS[symbol](_KINDS[kind](1), _KINDS[kind](0))


def _shift(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    _OPERATORS[detail](1, -1)


def _store(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    how, source, target = detail
    if source == "int":
        value = ints[0]
    elif source == "float":
        value = floats[0]
    else:
        dtype = np.dtype(source)
        value = dtype.type(floats[0]) if dtype.kind == "f" else np.int64(ints[0]).astype(dtype)
    if how == "store":
        np.zeros(1, target)[0] = value
    else:
        np.dtype(target).type(value)


def _power(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    operator.pow(np.int64(2), np.int64(-1))


def _math(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    if detail == "int":
        int(floats[0])
    elif detail == "pow operator":
        operator.pow(*floats)
    elif detail in ("pow", "fmod", "hypot"):
        getattr(math, detail)(*floats)
    else:
        getattr(math, detail)(floats[0])


def _abs(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    abs(complex(1.7e308, 1.7e308))


def _range(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    range(0, 1, 0)


def _statement(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    exec(detail, {**vars(builtins), **namespace})


def _item(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    owner, how = detail
    empty: Any = "" if owner == "string" else []
    if how == "write":
        empty[0] = 0
    operator.getitem(empty, 0)


def _empty_list(detail: Any, ints: Any, floats: Any, namespace: Any) -> None:  # noqa: ARG001
    [].pop()


_AGAIN: dict[str, Callable[..., None]] = {
    "abs": _abs,
    "bail": _bail,
    "empty list": _empty_list,
    "index": _index,
    "item": _item,
    "long index": _long_index,
    "math": _math,
    "power": _power,
    "range": _range,
    "readonly": _readonly,
    "shift": _shift,
    "store": _store,
    "statement": _statement,
    "unbound": _unbound,
    "zero": _zero,
}
