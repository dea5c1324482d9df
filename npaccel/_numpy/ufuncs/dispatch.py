"""Calls of ufuncs: NumPy chooses the loop, torch computes it.

The installed NumPy is asked, for every call, which loop it would run and
whether it would refuse: the ufunc itself is called on empty arrays of the
operands' dtypes. So errors, promotion and casting are that version's own.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch

from npaccel._numpy.core.axes import NO_VALUE
from npaccel._numpy.core.dtypes import (
    BOOL,
    DType,
    OperandDType,
    are_numbers,
    as_dtype,
    as_tensor,
    cast,
    check_cast,
    dtype_of,
    fitting,
    full_scalar,
    is_scalar,
    narrow,
    to_numpy,
    weak_type,
)
from npaccel._numpy.core.layouts import lying_as_numpys
from npaccel._numpy.host import kernels as host
from npaccel._numpy.ufuncs.integers import SIGNED, Compute, either

_REPRESENTATIVE: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}
_COMPARISONS: dict[np.ufunc, Any] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


@dataclasses.dataclass(frozen=True)
class Kernel:
    """Computation of one ufunc.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The ufunc.
    compute : callable
        Takes tensors in the dtypes of the chosen loop.
    numbers : {"no", "right", "both"}
        Which operand may reach `compute` as a Python number, where torch takes
        one and rounds it as NumPy does.
    tolerance : float or None
        As in the table.
    note : str
        As in the table.
    masked : callable, optional
        Takes the operands and the mask of ``where=``, and returns operands for which `compute`
        raises only where NumPy computes.
    """

    ufunc: np.ufunc
    compute: Compute
    numbers: Literal["no", "right", "both"] = "no"
    tolerance: float | None = None
    note: str = ""
    masked: Callable[..., Sequence[Any]] | None = None


@dataclasses.dataclass(frozen=True)
class Request:
    """The keywords of a ufunc call that choose its loop."""

    dtype: DType | None = None
    casting: str = "same_kind"
    signature: Any = NO_VALUE
    order: Any = "K"

    @property
    def explicit(self) -> bool:
        """Whether the caller named the loop."""
        return self.dtype is not None or self.signature is not NO_VALUE

    def keywords(self) -> dict[str, Any]:
        """Return them as NumPy takes them."""
        found: dict[str, Any] = {"casting": self.casting, "order": self.order}
        if self.dtype is not None:
            found["dtype"] = self.dtype
        if self.signature is not NO_VALUE:
            found["signature"] = self.signature
        return found


def request_of(dtype: Any, casting: str, signature: Any, order: Any) -> Request:
    """Return the keywords of a call; `NO_VALUE` where one wasn't given.

    Raises
    ------
    TypeError
        If the loop is named by both dtype and signature.
    """
    if dtype is not NO_VALUE and signature is not NO_VALUE:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    kind = None if dtype is NO_VALUE or dtype is None else as_dtype(dtype)
    return Request(kind, casting, signature, order)


def is_symbolic(x: Any) -> bool:
    """Whether an operand is a symbolic number of the trace."""
    return isinstance(x, torch.SymInt | torch.SymFloat | torch.SymBool)


def concrete(x: Any) -> Any:
    """Return a number that stands for a symbolic one; others as they are."""
    weak = weak_type(x) if is_symbolic(x) else None
    return x if weak is None else _REPRESENTATIVE[weak]


def check(ufunc: np.ufunc, operands: Sequence[Any], outs: Sequence[Any], request: Request) -> None:
    """Have NumPy raise what it would raise for these dtypes and Python numbers."""
    probes = [_probe(x) for x in operands]
    targets = tuple(None if out is None else _probe(out) for out in outs)
    with np.errstate(all="ignore"):
        if any(target is not None for target in targets):
            ufunc(*probes, out=targets, **request.keywords())
        else:
            ufunc(*probes, **request.keywords())


def _probe(x: Any) -> Any:
    return np.empty(0, to_numpy(x.dtype)) if isinstance(x, torch.Tensor) else concrete(x)


@functools.lru_cache(maxsize=4096)
def _resolve(
    ufunc: np.ufunc, dtypes: tuple[Any, ...], signature: Any, casting: Any
) -> tuple[DType, ...]:
    if signature is NO_VALUE:
        return ufunc.resolve_dtypes(dtypes, casting=casting)
    return ufunc.resolve_dtypes(dtypes, signature=signature, casting=casting)


def loop_dtypes(
    ufunc: np.ufunc,
    dtypes: Sequence[OperandDType],
    outs: Sequence[DType | None],
    request: Request,
) -> tuple[DType, ...]:
    """Return the dtypes of the loop: inputs, then results, narrowed.

    A loop is narrowed as a whole where a result that NumPy would invent as
    64-bit float or complex becomes 32 bit. Loops whose results are bools or
    integers keep the width that makes them right, and so do loops of numbers alone.
    """
    signature = request.signature
    if request.dtype is not None:
        signature = (None,) * ufunc.nin + (request.dtype,) * ufunc.nout
    asked = tuple(np.dtype(bool) if d is bool else d for d in dtypes)
    loop = _resolve(ufunc, (*asked, *outs), signature, request.casting)
    if request.explicit or are_numbers(dtypes):
        return loop
    known = (*dtypes, *(out for out in outs if out is not None))
    if not any(narrow(d, known) != d for d in loop[ufunc.nin :]):
        return loop
    return tuple(narrow(d, known) for d in loop)


def call(
    kernel: Kernel,
    operands: Sequence[Any],
    outs: Sequence[torch.Tensor | None],
    where: Any,
    request: Request,
) -> Any:
    """Compute an elementwise ufunc.

    Parameters
    ----------
    kernel : Kernel
        The ufunc.
    operands : sequence of tensor, Python scalar or nested list
        One for each input.
    outs : sequence of tensor or None
        One for each result; where a tensor stands, it's written and returned.
    where : tensor of bool, or True
        Where to compute; elsewhere `outs` keep their values, new results are 0.
    request : Request
        Dtype, casting and signature.

    Returns
    -------
    tensor, or tuple of tensors where the ufunc has several results

    Raises
    ------
    ValueError
        If the shapes don't broadcast.
    TypeError
        If NumPy has no loop for the dtypes, or casting forbids it.
    OverflowError
        If a Python int doesn't fit its loop's dtype.
    """
    operands = [x if is_scalar(x) else as_tensor(x) for x in operands]
    check(kernel.ufunc, operands, outs, request)
    mask = None if where is True else _mask(where)
    tensors = [x for x in (*operands, mask) if isinstance(x, torch.Tensor)]
    _check_shapes(tensors, outs)
    if mask is not None and kernel.masked is not None:
        operands = kernel.masked(*operands, mask)
    if not any(isinstance(x, torch.Tensor) or is_symbolic(x) for x in operands):
        found = _constant(kernel.ufunc, operands, request)
    else:
        found = compute(kernel, operands, outs, request)
    parts = (found,) if kernel.ufunc.nout == 1 else found
    seen = [*tensors, *(out for out in outs if out is not None)]
    delivered = tuple(
        lying_as_numpys(deliver(part, out, mask), seen, request.order)
        if out is None
        else deliver(part, out, mask)
        for part, out in zip(parts, outs, strict=True)
    )
    return delivered[0] if kernel.ufunc.nout == 1 else delivered


def compute(
    kernel: Kernel,
    operands: Sequence[Any],
    outs: Sequence[torch.Tensor | None] = (None,),
    request: Request | None = None,
) -> Any:
    """Choose the loop, cast the operands and run the kernel."""
    request = request or Request()
    ufunc = kernel.ufunc
    out_dtypes = tuple(None if out is None else to_numpy(out.dtype) for out in outs)
    dtypes = [dtype_of(x) for x in operands]
    loop = loop_dtypes(ufunc, dtypes, out_dtypes, request)
    operands = [fitting(x, dtype) for x, dtype in zip(operands, loop, strict=False)]
    beyond = _out_of_bounds(ufunc, operands, loop)
    if beyond is not None:
        return beyond
    name, first = getattr(kernel.compute, "by_numpy", None), operands[0]
    if name and loop[1] == np.float64 and host.ufunc_usable(name, first, True):
        return host.ufunc(first, name)  # of integers: NumPy casts them piece by piece
    found = kernel.compute(*_prepared(kernel, operands, loop))
    results = loop[ufunc.nin :]
    if ufunc.nout == 1:
        return cast(found, results[0])
    return tuple(cast(part, dtype) for part, dtype in zip(found, results, strict=True))


def _mask(where: Any) -> torch.Tensor:
    mask = as_tensor(where)
    check_cast(to_numpy(mask.dtype), BOOL, "safe")
    return mask


def _constant(ufunc: np.ufunc, operands: Sequence[Any], request: Request) -> Any:
    """Compute a call on nothing but Python numbers with NumPy itself."""
    with np.errstate(all="ignore"):
        found = ufunc(*operands, **request.keywords())
    parts = found if isinstance(found, tuple) else (found,)
    arrays = [np.asarray(part) for part in parts]
    tensors = [full_scalar(array.item(), as_dtype(array.dtype)) for array in arrays]
    return tuple(tensors) if isinstance(found, tuple) else tensors[0]


def _out_of_bounds(
    ufunc: np.ufunc, operands: Sequence[Any], loop: Sequence[DType]
) -> torch.Tensor | None:
    """Return the result of comparing with a Python int that no element can reach."""
    if ufunc not in _COMPARISONS or loop[0].kind not in "iu":
        return None
    pairs = list(zip(operands, loop, strict=False))
    values = [x if _exceeds(x, dtype) else 0 for x, dtype in pairs]
    if not any(values):
        return None
    array = next(x for x in operands if isinstance(x, torch.Tensor))
    return torch.full_like(array, _COMPARISONS[ufunc](*values), dtype=torch.bool)


def _exceeds(x: Any, dtype: DType) -> bool:
    if not isinstance(x, int) or isinstance(x, bool):
        return False
    bounds = np.iinfo(dtype)
    return not bounds.min <= x <= bounds.max


def _prepared(kernel: Kernel, operands: Sequence[Any], loop: Sequence[DType]) -> list[Any]:
    """Cast operands to the loop's dtypes; a Python number stays one where it may."""
    tensors = [
        cast(x, d) if isinstance(x, torch.Tensor) else None
        for x, d in zip(operands, loop, strict=False)
    ]
    prepared: list[Any] = []
    for position, (x, dtype) in enumerate(zip(operands, loop, strict=False)):
        tensor = tensors[position]
        if isinstance(x, complex) and dtype.kind != "c":  # casting="unsafe" drops a part
            x = bool(x) if dtype.kind == "b" else x.real
        if tensor is not None:
            prepared.append(tensor)
        elif _stays_number(kernel, position, operands, tensors, dtype):
            prepared.append(x if is_symbolic(x) else _as_number(x, dtype))
        else:
            device = next((t.device for t in tensors if t is not None), None)
            prepared.append(full_scalar(x, dtype, device))
    return prepared


def _stays_number(
    kernel: Kernel,
    position: int,
    operands: Sequence[Any],
    tensors: Sequence[torch.Tensor | None],
    dtype: DType,
) -> bool:
    """Whether torch rounds a Python number here as NumPy does, in the same dtype."""
    if kernel.numbers == "no" or (kernel.numbers == "right" and position == 0):
        return False
    if dtype.kind == "c" and is_symbolic(operands[position]):
        return False  # torch makes a complex number of it at once.
    other = next((t for t in tensors if t is not None), None)
    if other is None or other.dtype in SIGNED or other.dtype == torch.float16:
        return False
    return to_numpy(other.dtype) == dtype


def _as_number(x: Any, dtype: DType) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype=dtype).item()


def broadcast_shape(shapes: Sequence[Any]) -> Any:
    """Return the shape that these shapes broadcast to.

    Raises
    ------
    ValueError
        If they don't.
    """
    try:
        return torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # a size that isn't known while tracing
            raise
        listed = " ".join(str(tuple(shape)).replace(" ", "") for shape in shapes)
        raise ValueError(
            f"operands could not be broadcast together with shapes {listed}"
        ) from error


def _check_shapes(tensors: Sequence[torch.Tensor], outs: Sequence[torch.Tensor | None]) -> None:
    targets = [out for out in outs if out is not None]
    if len(tensors) > 1 or targets:
        shape = broadcast_shape([t.shape for t in (*tensors, *targets)])
        for out in targets:
            if tuple(out.shape) != tuple(shape):
                raise ValueError(
                    f"non-broadcastable output operand with shape {tuple(out.shape)} doesn't "
                    f"match the broadcast shape {tuple(shape)}"
                )


def deliver(
    found: torch.Tensor, out: torch.Tensor | None, mask: torch.Tensor | None
) -> torch.Tensor:
    """Write a result where ``out=`` and ``where=`` say, and return it."""
    if out is None:
        return found if mask is None else either(mask, found, torch.zeros_like(found))
    value = cast(found, to_numpy(out.dtype))
    if mask is not None:
        value = either(mask, value, out)
    out.copy_(value)
    return out


def out_tuple(ufunc: np.ufunc, out: Any, positional: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return ``out=`` as one entry per result, checked as NumPy checks it.

    Raises
    ------
    TypeError
        If it's given twice, or isn't an array.
    ValueError
        If a tuple has the wrong length.
    """
    if positional:
        if out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        out = (*positional, *(None,) * (ufunc.nout - len(positional)))
    if out is None:
        return (None,) * ufunc.nout
    if not isinstance(out, tuple):
        if ufunc.nout > 1:
            raise TypeError("'out' must be a tuple of arrays")
        out = (out,)
    if len(out) != ufunc.nout:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    if not all(part is None or isinstance(part, torch.Tensor) for part in out):
        raise TypeError("return arrays must be of ArrayType")
    return tuple(out)


def elementwise(kernel: Kernel) -> Compute:
    """Make the table's implementation of an elementwise ufunc."""
    ufunc = kernel.ufunc

    def implementation(
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = NO_VALUE,
        subok: bool = True,
        signature: Any = NO_VALUE,
    ) -> Any:
        operands, positional = args[: ufunc.nin], args[ufunc.nin :]
        if len(operands) < ufunc.nin or len(positional) > ufunc.nout:
            ufunc(*(np.empty(0) for _ in args))  # NumPy's own TypeError
        outs = out_tuple(ufunc, out, positional)
        request = request_of(dtype, casting, signature, order)
        return call(kernel, operands, outs, where, request)

    return named(implementation, ufunc.__name__)


def named(function: Compute, name: str, module: str = "npaccel._numpy.ufuncs.ufuncs") -> Compute:
    """Give a generated function the name under which a graph prints it."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function
