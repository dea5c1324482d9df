"""List of what isn't compiled, and why.

A call that isn't compiled breaks the graph: NumPy runs it between compiled
subgraphs, and `jit` warns with the reason. Names are NumPy's, without "numpy.";
those that the installed NumPy doesn't have are passed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npaccel._numpy.core.table import Status, leave_out, row_named, row_of

_FILES = "it reads or writes files; call it outside the compiled function"
_TEXT = "it makes text, or reads it; return the arrays and call it on them"
_SETTINGS = "it changes or reads a setting of this process; call it before the compiled function"
_DATES = "torch has no dates; convert them to int64 before the call"
_STRUCTURED = "torch has no structured or object dtypes; pass one array per field"
_EXTENDED = "torch has no extended precision; use float64 or complex128"
_ITERATOR = "it walks over elements in Python; write it with whole arrays"
_PYTHON = (
    "functions that only compute, decide and return are compiled for whole arrays; others NumPy "
    "calls with one element after the other: write them with whole arrays and numpy.where"
)
_OBJECTS = "what it makes returns arrays of Python objects; write it with whole arrays"
_MEMORY = "it asks where arrays lie in memory, which isn't settled while compiling"
_BYTES = "it reads the bytes of the host; call it outside the compiled function"
_ABOUT = "it tells about the installation; call it outside the compiled function"
_SUBCLASS = "subclasses of ndarray aren't compiled; use arrays"
_VALUES = "the dtype of its result depends on array values"
_RANDOM_STATE = (
    "NumPy keeps the state of its random numbers, and advances it itself; make generators and seed "
    "them before the call"
)
_ROOTS = (
    "the roots of real coefficients are real or complex numbers depending on the values; take "
    "numpy.linalg.eigvals of the companion matrix as complex numbers"
)

#: NumPy's own business: it runs between compiled subgraphs.
HOST: dict[str, str] = {
    _FILES: """
        fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed
        ndarray.tofile ndarray.dump""",
    _TEXT: """
        array2string array_repr array_str base_repr binary_repr datetime_as_string
        format_float_positional format_float_scientific fromstring get_printoptions mintypecode
        set_printoptions typename info polynomial.set_default_printstyle""",
    _SETTINGS: "geterr geterrcall getbufsize seterr seterrcall setbufsize",
    _DATES: """
        busday_count busday_offset busdaycalendar datetime64 datetime_data is_busday timedelta64""",
    _ITERATOR: "flatiter ndenumerate ndindex nditer nested_iters broadcast fromiter",
    _PYTHON: "vectorize",
    _OBJECTS: "frompyfunc",
    _MEMORY: """
        from_dlpack isfortran may_share_memory shares_memory
        ndarray.base ndarray.ctypes ndarray.data ndarray.flags ndarray.setflags""",
    _BYTES: "frombuffer ndarray.tobytes ndarray.dumps",
    _ABOUT: "get_include show_config show_runtime test __version__ __array_namespace_info__",
    "it makes Python numbers of array values; return the array and call tolist on it": (
        "ndarray.tolist"
    ),
    "it gives a plan for people to read; call it outside the compiled function": "einsum_path",
    _RANDOM_STATE: """
        random.BitGenerator random.Generator.bit_generator random.Generator.bytes
        random.Generator.spawn random.RandomState.bytes random.RandomState.get_state
        random.RandomState.set_state random.bytes random.get_bit_generator random.get_state
        random.set_bit_generator random.set_state""",
}

#: Computations that compiled code can't do as NumPy does them.
REFUSED: dict[str, str] = {
    "it raises depending on array values; use numpy.asarray": "asarray_chkfinite",
    "how many roots there are, and whether they are complex, depends on the values; call it "
    "outside the compiled function": "roots",
    f"{_VALUES}; use the real part": "real_if_close",
    _EXTENDED: "longdouble clongdouble float96 float128 complex192 complex256",
    _STRUCTURED: """
        bytes_ object_ str_ void record recarray""",
    "it takes bytes out of the middle of elements; use ndarray.view": (
        "ndarray.getfield ndarray.setfield"
    ),
    _SUBCLASS: "asmatrix bmat matrix",
    "it is NumPy's older class of polynomials; calling an object that was made outside is "
    "compiled, for what is made inside use numpy.polyval": "poly1d",
    "objects of polynomials are made outside, and calling them is compiled; else use the "
    "functions such as numpy.polynomial.chebyshev.chebval": """
        polynomial.Polynomial polynomial.Chebyshev polynomial.Legendre polynomial.Hermite
        polynomial.HermiteE polynomial.Laguerre""",
    "it changes the size of an array in place; use numpy.resize": "ndarray.resize",
    "it's an exception; raise it outside the compiled function": "linalg.LinAlgError",
}

#: Prefixes of the functions of numpy.polynomial, by module.
_SERIES_MODULES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "hermite": "herm",
    "hermite_e": "herme",
    "laguerre": "lag",
}


def _object(name: str) -> Any:
    """Return a NumPy object by its name, or None where this NumPy has none."""
    found: Any = np
    for part in name.split("."):
        if part not in dir(found):
            return None
        found = getattr(found, part)
    return found


def _leave_out(name: str, status: Status, reason: str) -> None:
    found = _object(name)
    full = f"numpy.{name}"
    if found is None or row_named(full) is not None:
        return
    is_member = name.startswith(("ndarray.", "random.Generator.", "random.RandomState."))
    if is_member or isinstance(found, str) or row_of(found) is not None:
        leave_out(full, status, reason)
    else:
        leave_out(found, status, reason, name=full)


def _declare() -> None:
    lists: tuple[tuple[Status, dict[str, str]], ...] = (("host", HOST), ("refused", REFUSED))
    for status, reasons in lists:
        for reason, names in reasons.items():
            for name in names.split():
                _leave_out(name, status, reason)
    for module, prefix in _SERIES_MODULES.items():
        _leave_out(f"polynomial.{module}.{prefix}roots", "refused", _ROOTS)


_declare()
