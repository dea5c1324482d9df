"""Run a loop nest in Python and through Numba, and compare all that can be seen of it."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import textwrap
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from npaccel._loops.nests import numba_backend


def nest_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function, with the line numbers of its file."""
    lines, first = inspect.getsourcelines(function)
    node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(node, ast.FunctionDef)
    ast.increment_lineno(node, first - 1)
    return node


def function_of(source: str, namespace: dict[str, Any] | None = None) -> Callable[..., Any]:
    """Make the one function of some source; its lines can be found by its file's name."""
    name = f"<nest {abs(hash(source)):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"np": np} if namespace is None else namespace
    exec(compile(source, name, "exec"), names)
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    made: Callable[..., Any] = names[node.name]
    return made


def compiled(
    function: Callable[..., Any],
    *args: Any,
    namespace: Mapping[str, Any] | None = None,
    **options: Any,
) -> numba_backend.CompiledNest:
    """Compile a function that consists of a loop and a return."""
    names = list(inspect.signature(function).parameters)
    return numba_backend.compile_nest(
        nest_of(function),
        dict(zip(names, args, strict=True)),
        function.__globals__ if namespace is None else namespace,
        function.__code__.co_filename,
        **options,
    )


def outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Call a function; return its result, arguments of it by position, and its exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            result = function(*args)
        except Exception as error:  # noqa: BLE001 - whatever it is, both sides must raise it
            return None, error
    found = []
    for item in result:
        places = [i for i, arg in enumerate(args) if arg is item and isinstance(arg, np.ndarray)]
        found.append(("argument", places[0]) if places else item)
    return found, None


def assert_like(got: Any, wanted: Any, where: str, ulps: float = 0) -> None:
    """Fail unless two values are alike: type, dtype, every bit but NaN's."""
    assert type(got) is type(wanted), f"{where}: {type(got)} instead of {type(wanted)}"
    if isinstance(wanted, tuple | str):
        assert got == wanted, where
        return
    a, b = np.asarray(got), np.asarray(wanted)
    assert (a.dtype, a.shape) == (b.dtype, b.shape), where
    if b.dtype.kind in "fc":
        eps = np.finfo(b.dtype).eps
        np.testing.assert_allclose(a, b, rtol=ulps * eps, atol=ulps * eps, err_msg=where)
        if not ulps and b.dtype.kind == "f":
            same = np.signbit(a) == np.signbit(b)
            assert (same | np.isnan(b)).all(), f"{where}: {a} instead of {b}"
    else:
        np.testing.assert_array_equal(a, b, err_msg=where)


def check(
    function: Callable[..., Any],
    *args: Any,
    nest: numba_backend.CompiledNest | None = None,
    ulps: float = 0,
    **options: Any,
) -> numba_backend.CompiledNest:
    """Compare a nest's results, written arguments and exceptions with Python's.

    Parameters
    ----------
    function : callable
        A loop and a return.
    *args
        Copied for each run; arrays that share memory go on sharing it.
    nest : CompiledNest, optional
        Compiled before.
    ulps : float
        How far floats may be from NumPy's.
    **options
        Of `compile_nest`.
    """
    if nest is None:
        nest = compiled(function, *args, **options)
    ours, theirs = copied(args), copied(args)
    wanted, error = outcome(function, theirs)
    got, own_error = outcome(nest, ours)
    if error is not None:
        assert type(own_error) is type(error), f"{own_error!r} instead of {error!r}"
        assert str(own_error) == str(error)
    else:
        if own_error is not None:
            raise own_error
        assert len(got) == len(wanted)
        for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
            assert_like(a, b, f"result {i}", ulps)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(b, np.ndarray):
            assert_like(a, b, f"argument {i}", ulps)
    return nest


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy arguments with their strides, flags and shared memory."""
    bases: dict[int, np.ndarray[Any, Any]] = {}
    return tuple(
        _copied(arg, bases) if isinstance(arg, np.ndarray) else copy.copy(arg) for arg in args
    )


def _copied(array: np.ndarray[Any, Any], bases: dict[int, Any]) -> np.ndarray[Any, Any]:
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    new = bases.setdefault(id(base), base.copy(order="K"))
    assert new.strides == base.strides
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    made = np.ndarray(array.shape, array.dtype, new, offset, array.strides)
    made.flags.writeable = array.flags.writeable
    return made
