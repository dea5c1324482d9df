"""Dtypes: between NumPy's and torch's, NumPy's promotion, narrowing and casts.

Promotion is always asked of the installed NumPy, so it is that version's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import torch

from npaccel._numpy.core import context
from npaccel._numpy.core.context import settings
from npaccel._runtime.torch.symbolic_sizes import assume, depends_on_data, holds_here

#: A dtype, or the Python type of a weak scalar (NEP 50).
DType: TypeAlias = np.dtype[Any]
OperandDType: TypeAlias = "DType | type"


class UnsupportedDtypeError(TypeError):
    """A dtype that torch has no counterpart for."""


_TORCH: dict[DType, torch.dtype] = {
    np.dtype(name): getattr(torch, name)
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_NUMPY: dict[torch.dtype, DType] = {value: key for key, value in _TORCH.items()}

BOOL = np.dtype(np.bool_)
INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)

_NARROW: dict[DType, DType] = {FLOAT64: FLOAT32, COMPLEX128: COMPLEX64}
#: Attribute of a tensor without dimensions that holds a Python float.
_WEAK_MARK = "_npaccel_is_weak"
#: Type that a number computed of Python numbers has for NEP 50, where floats are narrowed.
_WEAK_TENSORS: dict[torch.dtype, type] = {torch.float64: float, torch.complex128: complex}
_WEAK_VALUE: dict[type, Any] = {bool: False, int: 0, float: 0.0, complex: 0j}


def as_dtype(spec: Any) -> DType:
    """Return the NumPy dtype that a dtype argument means.

    Parameters
    ----------
    spec : str, numpy.dtype, type or torch.dtype
        Whatever NumPy takes as ``dtype=``, or torch's own.

    Raises
    ------
    UnsupportedDtypeError
        If torch has no counterpart (object, str, datetime, long double, ...),
        or the byte order isn't the machine's.
    TypeError
        If NumPy knows no such dtype.
    """
    if isinstance(spec, torch.dtype):
        return to_numpy(spec)
    dtype = np.dtype(spec)
    if dtype not in _TORCH:
        raise UnsupportedDtypeError(_unsupported_text(dtype))
    return _NUMPY[_TORCH[dtype]]


def _unsupported_text(dtype: DType) -> str:
    if not dtype.isnative and dtype.newbyteorder("=") in _TORCH:
        native = dtype.newbyteorder("=")
        return (
            f"dtype {dtype!r} has the byte order of another machine, which can't be compiled; "
            f"convert the array before the call: a.astype({native.name!r})"
        )
    return (
        f"dtype {dtype!r} can't be compiled: torch has only bool, integers, and floats and "
        "complex numbers of up to 64 bit a part; convert the array before the call, "
        "or keep this code outside the compiled function"
    )


def to_torch(dtype: DType) -> torch.dtype:
    """Return torch's counterpart of a NumPy dtype.

    Raises
    ------
    UnsupportedDtypeError
        If there is none.
    """
    found = _TORCH.get(dtype)
    if found is None:
        raise UnsupportedDtypeError(_unsupported_text(dtype))
    return found


def to_numpy(dtype: torch.dtype) -> DType:
    """Return NumPy's counterpart of a torch dtype.

    Raises
    ------
    UnsupportedDtypeError
        If there is none (bfloat16, quantised types, ...).
    """
    found = _NUMPY.get(dtype)
    if found is None:
        raise UnsupportedDtypeError(
            f"NumPy has no counterpart of {dtype}; convert the tensor before the call: "
            "t.to(torch.float32)"
        )
    return found


def is_array(x: Any) -> bool:
    """Whether an operand stands for a NumPy array or a NumPy scalar."""
    return isinstance(x, torch.Tensor)


def weak_type(x: Any) -> type | None:
    """Return bool, int, float or complex for a Python scalar, else None.

    Symbolic sizes count as the Python type they stand for. NumPy's scalars
    aren't weak, though `numpy.float64` derives from float.
    """
    if isinstance(x, np.generic):
        return None
    if isinstance(x, bool | torch.SymBool):
        return bool
    if isinstance(x, int | torch.SymInt):
        return int
    if isinstance(x, float | torch.SymFloat):
        return float
    return complex if isinstance(x, complex) else None


def weak_number(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor that holds a Python float as an operand that is as weak as that is."""
    found = x.view(())
    setattr(found, _WEAK_MARK, True)
    return found


def is_weak_number(x: Any) -> bool:
    """Whether an operand is a tensor that stands for a Python float."""
    return getattr(x, _WEAK_MARK, False)


def is_scalar(x: Any) -> bool:
    """Whether an operand is a Python scalar, symbolic ones included."""
    return weak_type(x) is not None


def dtype_of(x: Any) -> OperandDType:
    """Return an operand's dtype, or the Python type of a weak scalar.

    Where floats are narrowed, a 64-bit float without dimensions is weak: it was computed of
    Python numbers alone, as there are no other 64-bit floats in such a call. Elsewhere those
    are weak that `weak_number` has marked.

    Parameters
    ----------
    x : tensor, Python scalar, or nested list or tuple of those
        A list has the dtype that `numpy.array` would give it.

    Returns
    -------
    numpy.dtype or type
        One of bool, int, float and complex for a Python scalar.
    """
    if isinstance(x, torch.Tensor):
        weak = None if x.ndim else _WEAK_TENSORS.get(x.dtype)
        if weak is not None and (settings().narrow or is_weak_number(x)):
            return weak
        return to_numpy(x.dtype)
    if isinstance(x, np.ndarray | np.generic):
        return as_dtype(x.dtype)
    weak = weak_type(x)
    if weak is not None:
        return weak
    return _list_dtype(x)


def strong(dtype: OperandDType) -> DType:
    """Return the dtype that NumPy gives an array made of such an operand."""
    return dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)


def narrow(dtype: DType, operand_dtypes: Iterable[OperandDType]) -> DType:
    """Return the dtype that a result really gets under ``default_float``.

    A 64-bit float or complex that NumPy would invent, with no array or NumPy
    scalar of 64-bit floats among the operands, becomes 32 bit.
    """
    if not settings().narrow or dtype not in _NARROW:
        return dtype
    if any(isinstance(d, np.dtype) and d in _NARROW for d in operand_dtypes):
        return dtype
    if context.on_narrow is not None:
        context.on_narrow(dtype, _NARROW[dtype])
    return _NARROW[dtype]


def are_numbers(operand_dtypes: Iterable[OperandDType]) -> bool:
    """Whether all operands are weak scalars: what is computed of them isn't narrowed."""
    return all(isinstance(dtype, type) for dtype in operand_dtypes)


def default_float() -> DType:
    """Return the dtype of a float array that is made without a dtype."""
    return narrow(FLOAT64, ())


def result_dtype(*operands: Any) -> DType:
    """Return `numpy.result_type` of the operands, narrowed.

    Parameters
    ----------
    *operands : tensor, Python scalar, list, numpy.dtype, torch.dtype or Python type
        Python scalars and the types bool, int, float, complex are weak (NEP 50).
    """
    dtypes = [_operand_dtype(x) for x in operands]
    weak = [_WEAK_VALUE[d] if isinstance(d, type) else d for d in dtypes]
    return narrow(np.result_type(*weak), dtypes)


def _operand_dtype(x: Any) -> OperandDType:
    if isinstance(x, torch.dtype):
        return to_numpy(x)
    if isinstance(x, np.dtype) or (isinstance(x, type) and x in _WEAK_VALUE):
        return x
    return dtype_of(x)


def as_tensor(x: Any, dtype: DType | None = None) -> torch.Tensor:
    """Return an operand as a tensor, as `numpy.asarray` would.

    Parameters
    ----------
    x : tensor, Python scalar, or nested list or tuple of those
        A tensor is returned as it is, unless `dtype` is another one.
    dtype : numpy.dtype, optional
        None: what `numpy.array` would choose, narrowed.

    Raises
    ------
    ValueError
        If a nested list is ragged.
    OverflowError
        If a Python int doesn't fit the dtype.
    UnsupportedDtypeError
        If NumPy would make an array of objects or strings.
    """
    if isinstance(x, torch.Tensor):
        return x if dtype is None else cast(x, dtype)
    if isinstance(x, np.ndarray | np.generic):
        found = torch.tensor(x.tolist(), dtype=to_torch(as_dtype(x.dtype)))
        return found if dtype is None else cast(found, dtype)
    if dtype is None:
        own = dtype_of(x)
        dtype = narrow(_python_dtype(x) if isinstance(own, type) else own, _list_dtypes(x))
    if isinstance(x, list | tuple):
        return _from_list(x, dtype)
    return full_scalar(x, dtype)


def _python_dtype(x: Any) -> DType:
    """Return the dtype of an array made of one Python scalar."""
    value = _WEAK_VALUE[weak_type(x)] if _is_symbolic(x) else x  # type: ignore[index]
    return as_dtype(np.asarray(value).dtype)


def _is_symbolic(x: Any) -> bool:
    return isinstance(x, torch.SymInt | torch.SymFloat | torch.SymBool)


def fitting(x: Any, dtype: DType) -> Any:
    """Return a number; a symbolic int that a narrow integer can't hold as what it stands for.

    Later calls are guarded to agree, so that NumPy's rules for ints out of
    bounds, which depend on the value, hold for them as well.
    """
    if not isinstance(x, torch.SymInt) or dtype.kind not in "iu" or dtype == np.int64:
        return x
    bounds = np.iinfo(dtype)
    least, most = int(bounds.min), min(int(bounds.max), 2**63 - 1)
    if depends_on_data(x):
        for condition in (x >= least, x <= most):
            assume(condition, f"a Python int is out of bounds for {dtype}")
        return x
    return x if x >= least and x <= most else int(x)


def full_scalar(
    x: Any, dtype: DType, device: torch.device | None = None, shape: tuple[Any, ...] = ()
) -> torch.Tensor:
    """Return a tensor of one Python scalar (symbolic ones included) everywhere.

    Raises
    ------
    OverflowError
        If a Python int doesn't fit the dtype.
    """
    device = settings().device if device is None else device
    x = fitting(x, dtype)
    if not _is_symbolic(x):
        x = np.asarray(x, dtype=dtype).item()
    if _is_symbolic(x) and dtype == BOOL:  # Inductor would go on with the number itself.
        return torch.full(shape, x, dtype=to_torch(_python_dtype(x)), device=device) != 0
    if isinstance(x, int) and x >= 2**63:  # more than torch.full takes
        return torch.tensor(x, dtype=torch.uint64, device=device).expand(shape)
    return torch.full(shape, x, dtype=to_torch(dtype), device=device)


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, list | tuple):
        return [leaf for item in x for leaf in _leaves(item)]
    return [x]


def _list_dtypes(x: Any) -> list[OperandDType]:
    return [dtype_of(leaf) for leaf in _leaves(x)]


def _list_dtype(x: Any) -> DType:
    """Return the dtype of ``numpy.array(x)`` for a nested list or tuple."""
    if not isinstance(x, list | tuple):
        raise UnsupportedDtypeError(
            f"an operand of type {type(x).__name__} can't be compiled; "
            "pass an array, a Python number, or a list of those"
        )
    values, dtypes = [], set()
    for leaf in _leaves(x):
        if is_scalar(leaf):
            values.append(_WEAK_VALUE[weak_type(leaf)] if _is_symbolic(leaf) else leaf)  # type: ignore[index]
        else:
            dtypes.add(strong(dtype_of(leaf)))
    if values or not dtypes:
        dtypes.add(np.array(values).dtype)
    return as_dtype(np.result_type(*dtypes))


def _from_list(x: Any, dtype: DType) -> torch.Tensor:
    if not any(isinstance(leaf, torch.Tensor) or _is_symbolic(leaf) for leaf in _leaves(x)):
        values = np.array(x, dtype=dtype)
        flat = torch.tensor(values.tolist(), dtype=to_torch(dtype), device=settings().device)
        return flat.reshape(values.shape)
    parts = [as_tensor(item, dtype) for item in x]
    for part in parts[1:]:
        if part.ndim != parts[0].ndim or any(
            holds_here(size != first, "the items of a list differ in shape")
            for size, first in zip(part.shape, parts[0].shape, strict=True)
        ):
            raise ValueError(
                "setting an array element with a sequence. The requested array has an "
                f"inhomogeneous shape: one item has shape {tuple(parts[0].shape)}, another "
                f"{tuple(part.shape)}; give all items of the list one shape"
            )
    return torch.stack(parts)


def cast(tensor: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Return a tensor in another dtype, with the values of ``ndarray.astype``.

    Integers wrap, floats are cut towards zero, the imaginary part is dropped.
    The tensor itself is returned where it has the dtype already.

    Raises
    ------
    NotImplementedError
        If an integer is made of a Python float: NumPy raises for some values.
    """
    target = to_torch(dtype)
    if dtype.kind in "iu" and is_weak_number(tensor):
        raise NotImplementedError(f"{dtype} of a Python float that may change")
    if tensor.dtype == target:
        return tensor
    if target == torch.bool:
        return tensor != 0  # Inductor's cast takes twice as long
    if tensor.is_complex() and not target.is_complex:
        real = torch.real(tensor)  # a view: a cast must not share memory
        return real.clone() if real.dtype == target else cast(real, dtype)
    if tensor.dtype.is_floating_point:
        if target in _narrowed_from_32_bits(tensor):
            return _whole(tensor, torch.int32).to(target)  # C's way; torch's differs beyond int32
        if target == torch.uint32:
            return _whole(tensor, torch.int64).to(target)  # Inductor's: 2**32 - 1 for all below 0
        if target == torch.uint64:
            return _as_uint64(tensor)
        if target in (torch.int32, torch.int64):
            return _whole(tensor, target)
    return tensor.to(target)


def _whole(x: torch.Tensor, target: torch.dtype) -> torch.Tensor:
    """Cut floats to int32 or int64; what doesn't fit in, and NaN, is the least, as on x86.

    A GPU has the nearest number that fits in, and 0 for NaN.
    """
    return (x if x.device.type == "cpu" else within(x, target)).to(target)


def within(x: torch.Tensor, target: torch.dtype) -> torch.Tensor:
    """Put the least number of int32 or int64 in the place of floats that don't fit in."""
    x = x.to(torch.float32) if x.dtype == torch.float16 else x
    least = float(torch.iinfo(target).min)
    return torch.where((x >= least) & (x < -least), x, least)


def _narrowed_from_32_bits(tensor: torch.Tensor) -> tuple[torch.dtype, ...]:
    """Return the integers that floats on this device become by way of 32 bits.

    On a GPU numbers outside of a small dtype stay what they are until they are stored.
    """
    unsigned = (torch.uint8, torch.uint16)
    return unsigned if tensor.device.type == "cpu" else (*unsigned, torch.int8, torch.int16)


def _as_uint64(tensor: torch.Tensor) -> torch.Tensor:
    """Cast floats as C does with whole numbers of 64 bits alone: negative ones wrap around.

    The vector instructions of AVX512, that the compiler takes, have 2**64 - 1 for all below 0.
    """
    half = 2.0**63
    large = tensor >= half
    whole = _whole(torch.where(large, tensor - half, tensor), torch.int64)
    return torch.where(large, whole ^ torch.iinfo(torch.int64).min, whole).to(torch.uint64)


def check_cast(source: DType, target: DType, casting: str = "same_kind") -> None:
    """Raise NumPy's TypeError unless one dtype may be cast to another.

    Raises
    ------
    TypeError
        If the rule forbids it.
    ValueError
        If `casting` isn't one of NumPy's rules.
    """
    if not np.can_cast(source, target, casting=casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {source!r} to {target!r} "
            f"according to the rule {casting!r}"
        )
