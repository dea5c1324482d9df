"""Whether 64-bit floats take part in a call, so that none are narrowed there.

``default_float="float32"`` narrows only calls in which nothing is a 64-bit float or complex
number: no argument, no array or NumPy scalar from outside, none that the code makes. Of a
function that is one graph the capture tells. Of one that is split or broken into several it's
decided before the first part runs, from what its names lead to.
"""

from __future__ import annotations

import ast
import dis
import functools
import itertools
import math
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from npaccel._runtime import arguments
from npaccel._runtime.callables import is_jitted
from npaccel._runtime.kinds import ARRAYS, WIDE_CODES
from npaccel._syntax import loop_detection, source

#: Dtypes of 64 bits a part.
DTYPES = frozenset({np.dtype(np.float64), np.dtype(np.complex128)})
TENSOR_DTYPES = frozenset({torch.float64, torch.complex128})
#: Names that NumPy has for them.
_DTYPE_NAMES = frozenset(
    name for name, scalar in np.sctypeDict.items() if np.dtype(scalar) in DTYPES
)


#: Names that stand for such a dtype in code.
_NAMES = frozenset({"float64", "double", "complex128", "cdouble", "longdouble", "clongdouble"})
#: Builtins that do where they're an argument: ``a.astype(float)``.
_BUILTINS = frozenset({"float", "complex"})
#: Methods by which NumPy draws such floats.
_DRAWS = frozenset(
    {
        *("beta", "chisquare", "dirichlet", "exponential", "f", "gamma", "gumbel", "laplace"),
        *("logistic", "lognormal", "multivariate_normal", "noncentral_chisquare", "noncentral_f"),
        *("normal", "pareto", "power", "rand", "randn", "random", "random_sample", "rayleigh"),
        *("standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal"),
        *("standard_t", "triangular", "uniform", "vonmises", "wald", "weibull"),
    }
)
#: The most frequent types that hold nothing.
PLAIN = frozenset({bool, int, float, complex, str, type(None)})
#: Maximum number of elements of a container that are looked at.
LOOKED_AT = 1000


#: Cause and advice where a call can't be restarted.
FOUND_LATE = (
    "64-bit floats turn up after others of the same call were made 32 bit, so its results may be "
    "exact to 32 bits only",
    'decorate it with default_float="float64", or pass the 64-bit data as arguments',
)


class WideDataError(BaseException):
    """64-bit floats were met after others of the same call had been narrowed.

    It isn't an error of the user's, so that no handler in the function sees it: the call is
    made again, with nothing narrowed.
    """


def is_wide(value: Any) -> bool:
    """Whether a value is an array, tensor or NumPy scalar of 64-bit floats or complex numbers."""
    if isinstance(value, ARRAYS):
        return value.dtype.char in WIDE_CODES
    return isinstance(value, torch.Tensor) and value.dtype in TENSOR_DTYPES


def has_wide(values: Iterable[Any], *, scalars: bool = True) -> bool:
    """Whether 64-bit floats are among arguments, or in their containers.

    Parameters
    ----------
    values : iterable
    scalars : bool
        Whether NumPy scalars and arrays without dimensions count. They don't where another part
        of the same function has computed them of Python numbers.
    """
    for value in values:
        for _, part in arguments.parts(value, ""):
            if is_wide(part) and (scalars or part.ndim):
                return True
    return False


def holds_wide(value: Any) -> bool:
    """Whether an argument holds arrays of 64-bit floats, looked for one level deep.

    It goes into containers, and into the attributes of the user's objects.
    """
    if type(value) in PLAIN:
        return False
    if isinstance(value, np.ndarray | np.generic | torch.Tensor):
        return is_wide(value)
    if isinstance(value, list | tuple):
        parts: Iterable[Any] = value[:LOOKED_AT]
    elif isinstance(value, dict):
        parts = itertools.islice(value.values(), LOOKED_AT)
    elif is_users_object(value):
        parts = getattr(value, "__dict__", {}).values()
    else:
        return False
    return any(is_wide(part) and part.ndim for part in parts)


def function_of(value: Any) -> types.FunctionType | None:
    """Return the user's function that a value is, or that a jitted one wraps."""
    if is_jitted(value):
        value = value.__wrapped__
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    return value if loop_detection.is_users(value) else None


@functools.lru_cache(maxsize=4096)
def is_users_class(kind: type) -> bool:
    """Whether a class is none of a library's."""
    return not loop_detection.is_library(kind.__module__)


def is_users_object(value: Any) -> bool:
    """Whether an object is of a class of the user's."""
    kind: Any = type(value)
    return not isinstance(value, type | types.ModuleType) and is_users_class(kind)


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of globals and attributes in a function's code, and in code within it."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return tuple(dict.fromkeys((*code.co_names, *(name for c in inner for name in names_of(c)))))


@functools.lru_cache(maxsize=4096)
def code_makes_wide(code: types.CodeType) -> bool:
    """Whether a function's code asks for 64-bit floats, or draws them."""
    names = names_of(code)
    if _NAMES & set(names):
        return True
    if not (_DRAWS | _BUILTINS) & set(names) and not any(map(_is_dtype, _constants_of(code))):
        return False
    cells = tuple(types.CellType() for _ in code.co_freevars)
    try:
        node: ast.AST = source.node_of(types.FunctionType(code, {}, closure=cells))
    except source.NoSourceError:
        return bool(_DRAWS & set(names)) or _passes_builtin(code)
    return any(isinstance(call, ast.Call) and _asks(call) for call in ast.walk(node))


def _asks(call: ast.Call) -> bool:
    """Whether a call has such a dtype as an argument, or draws random floats."""
    is_method = isinstance(call.func, ast.Attribute)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _DRAWS:
        return True
    for word in call.keywords:
        if word.arg in ("dtype", "signature") and _names_dtype(word.value):
            return True
    return is_method and any(map(_names_dtype, call.args))


def _names_dtype(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _BUILTINS
    return isinstance(node, ast.Constant) and _is_dtype(node.value)


@functools.lru_cache(maxsize=1024)
def _is_dtype_text(text: str) -> bool:
    if "a" in text and text.lstrip("<>=|") not in _DTYPE_NAMES:
        return False  # Any text of the program comes here, and NumPy warns of `a` for bytes.
    try:
        return np.dtype(text).newbyteorder("=") in DTYPES
    except (SyntaxError, TypeError, ValueError):
        return False


def _is_dtype(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 12 and _is_dtype_text(value)


def _constants_of(code: types.CodeType) -> tuple[Any, ...]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    names = (n for c in code.co_consts if isinstance(c, tuple) for n in c)
    return (*code.co_consts, *names, *(value for c in inner for value in _constants_of(c)))


def _passes_builtin(code: types.CodeType) -> bool:
    """Whether bytecode reads ``float`` or ``complex`` as a value; a call pushes NULL besides."""
    found = any(
        i.opname == "LOAD_GLOBAL" and i.argval in _BUILTINS and not (i.arg or 0) & 1
        for i in dis.get_instructions(code)
    )
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return found or any(map(_passes_builtin, inner))


def reaches_jitted(function: types.FunctionType) -> bool:
    """Whether a function may call a jitted one, by what its names lead to."""
    found = [loop_detection.cell_contents(cell) for cell in function.__closure__ or ()]
    found += [function.__globals__.get(name) for name in names_of(function.__code__)]
    found += function.__defaults__ or ()
    return not all(_is_plain_or_library(value) for value in found)


def _is_plain_or_library(value: Any) -> bool:
    if type(value) in PLAIN or isinstance(value, np.ndarray | np.generic | np.ufunc):
        return True
    owner = "__name__" if isinstance(value, types.ModuleType) else "__module__"
    return loop_detection.is_library(getattr(value, owner, None)) and not is_jitted(value)


# -- Functions of numbers --------------------------------------------------------

#: Builtins that make numbers of numbers.
_OF_NUMBERS = frozenset(
    {
        *("abs", "bool", "complex", "divmod", "float", "int", "len", "max", "min", "pow"),
        *("range", "round"),
    }
)
#: Opcodes that make containers, of which NumPy would make arrays.
_BUILDS = frozenset({"BUILD_LIST", "BUILD_SET", "BUILD_MAP", "LIST_EXTEND", "BUILD_CONST_KEY_MAP"})


def is_of_numbers(function: types.FunctionType) -> bool:
    """Whether a function makes no array of numbers: it has ufuncs, `math` and arithmetic alone.

    NumPy computes such functions in 64 bit, and compiled code does too.
    """
    return _is_of_numbers(function, ())


def _is_of_numbers(function: types.FunctionType, outer: tuple[Any, ...]) -> bool:
    code = function.__code__
    if code in outer:
        return True
    if any(isinstance(part, types.CodeType) for part in code.co_consts) or _builds(code):
        return False
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    found = {name: loop_detection.cell_contents(cell) for name, cell in cells.items()}
    for name in code.co_names:
        if name in function.__globals__:
            found[name] = function.__globals__[name]
        elif name not in _OF_NUMBERS and not _is_numpys(name):
            return False
    return all(_is_number_or_its(value, (*outer, code)) for value in found.values())


@functools.lru_cache(maxsize=4096)
def _builds(code: types.CodeType) -> bool:
    return any(i.opname in _BUILDS for i in dis.get_instructions(code))


def _is_numpys(name: str) -> bool:
    """Whether a name is that of a ufunc or number of NumPy's, or of `math`."""
    found = getattr(np, name, None)
    return isinstance(found, np.ufunc | float | int) or hasattr(math, name)


def _is_number_or_its(value: Any, outer: tuple[Any, ...]) -> bool:
    if type(value) in PLAIN or value is np or value is math or isinstance(value, np.ufunc):
        return True
    function = function_of(value)
    return function is not None and _is_of_numbers(function, outer)
