"""The generalised ufuncs: products over core dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.axes import NO_VALUE, given
from npaccel._numpy.core.dtypes import as_tensor, cast, dtype_of, is_scalar, to_numpy
from npaccel._numpy.host import linalg as host_linalg
from npaccel._numpy.host.registration import usable
from npaccel._numpy.ufuncs.dispatch import (
    Kernel,
    Request,
    broadcast_shape,
    deliver,
    loop_dtypes,
    named,
    out_tuple,
    request_of,
)
from npaccel._numpy.ufuncs.integers import Compute, as_signed, is_integral
from npaccel._runtime.torch.symbolic_sizes import holds_here, surely


def _by_dtype(product: Compute, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Run a product where torch has one; bools are or-ed, float16 summed in float32."""
    dtype = a.dtype
    if dtype == torch.bool:
        found: torch.Tensor = product(a.to(torch.float32), b.to(torch.float32)) != 0
        return found
    if dtype == torch.float16:
        half: torch.Tensor = product(a.to(torch.float32), b.to(torch.float32)).to(dtype)
        return half
    whole: torch.Tensor = product(as_signed(a), as_signed(b))
    return whole.to(as_signed(a).dtype).view(dtype) if is_integral(dtype) else whole


def from_zero(x: torch.Tensor, terms: Any = 1) -> torch.Tensor:
    """Return a sum of products as NumPy adds it, to a zero: -0.0 never comes out of that.

    Parameters
    ----------
    x : torch.Tensor
    terms : int or torch.SymInt
        How many products are in each sum: none has to be corrected where there are several.
    """
    if surely(terms > 1) or not (x.is_floating_point() or x.is_complex()):
        return x
    return x + 0.0


#: Maximum number of multiplications of matrices that are written out, so that they fuse.
_TINY = 64


def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if is_integral(a.dtype) and a.device.type != "cpu":
        # torch multiplies integer matrices on the CPU only
        return _sum_of_products(a, b)
    if host_linalg.vector_usable(a, b):
        product = host_linalg.of_vector if b.ndim == 1 else host_linalg.of_row
        return product(a, b)  # type: ignore[no-any-return]
    if a.ndim > 1 and b.ndim > 1 and a.dtype == b.dtype:
        size = a.shape[-2] * a.shape[-1] * b.shape[-1]
        if host_linalg.product_usable(size, a, b):
            return _sum_of_products(a, b) if size <= _TINY else host_linalg.matmul(a, b)
    return torch.matmul(a, b)


def _sum_of_products(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    left = a.unsqueeze(0) if a.ndim == 1 else a
    right = b.unsqueeze(1) if b.ndim == 1 else b
    found = (left.unsqueeze(-1) * right.unsqueeze(-3)).sum(-2)
    found = found.squeeze(-1) if b.ndim == 1 else found
    return found.squeeze(-1 if b.ndim == 1 else -2) if a.ndim == 1 else found


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply matrices, stacks of them, or vectors."""
    return from_zero(_by_dtype(_matmul, a, b), a.shape[-1])


def _vecdot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (torch.conj(a) * b).sum(-1)


def vecdot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return the dot products over the last axis, the first operand conjugated."""
    return from_zero(_by_dtype(_vecdot, a, b), a.shape[-1])


def _matvec(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.ndim == 2 and b.ndim == 1:  # sums of products here, which fuse
        return _matmul(a, b)
    return _matmul(a, b.unsqueeze(-1)).squeeze(-1)


def matvec(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply matrices with vectors."""
    return from_zero(_by_dtype(_matvec, a, b), a.shape[-1])


def _vecmat(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.ndim == 1 and b.ndim == 2 and not a.is_complex():
        return _matmul(a, b)
    return _matmul(torch.conj(a).unsqueeze(-2), b).squeeze(-2)


def vecmat(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Multiply conjugated vectors with matrices."""
    return from_zero(_by_dtype(_vecmat, a, b), a.shape[-1])


def _core_names(ufunc: np.ufunc, position: int) -> list[str]:
    """Return the core dimensions of an operand, as in ``["n?", "k"]``."""
    text = (ufunc.signature or "").split("->")[0]
    return text.strip("()").split("),(")[position].split(",")


def _core(ufunc: np.ufunc, operands: Sequence[torch.Tensor]) -> list[dict[str, Any]]:
    """Return each operand's core sizes by name, without the optional ones it lacks."""
    found = []
    for position, x in enumerate(operands):
        names = _core_names(ufunc, position)
        needed = [name for name in names if not name.endswith("?")]
        if x.ndim < len(needed):
            raise ValueError(
                f"{ufunc.__name__}: Input operand {position} does not have enough dimensions "
                f"(has {x.ndim}, gufunc core with signature {ufunc.signature} "
                f"requires {len(needed)})"
            )
        kept = names if x.ndim >= len(names) else needed
        sizes = x.shape[x.ndim - len(kept) :]
        found.append(dict(zip([name.strip("?") for name in kept], sizes, strict=True)))
    return found


def check_core(ufunc: np.ufunc, operands: Sequence[torch.Tensor]) -> Any:
    """Check the core dimensions and return the shape that the loops broadcast to.

    Raises
    ------
    ValueError
        If an operand has too few dimensions, or sizes don't match.
    """
    first, second = _core(ufunc, operands)
    for name in first.keys() & second.keys():
        if holds_here(first[name] != second[name], "the lengths differ"):
            raise ValueError(
                f"{ufunc.__name__}: Input operand 1 has a mismatch in its core dimension, with "
                f"gufunc signature {ufunc.signature} "
                f"(size {second[name]} is different from {first[name]})"
            )
    loops = [x.shape[: x.ndim - len(c)] for x, c in zip(operands, (first, second), strict=True)]
    return broadcast_shape(loops)


def _call(
    kernel: Kernel, operands: Sequence[Any], outs: tuple[Any, ...], request: Request
) -> torch.Tensor:
    tensors = [as_tensor(x) for x in operands]
    dtypes = [dtype_of(x if is_scalar(x) else t) for x, t in zip(operands, tensors, strict=True)]
    targets = [None if out is None else to_numpy(out.dtype) for out in outs]
    loop = loop_dtypes(kernel.ufunc, dtypes, targets, request)
    check_core(kernel.ufunc, tensors)
    factors = [cast(x, d) for x, d in zip(tensors, loop, strict=False)]
    out = outs[0]
    if kernel.ufunc is np.matmul and out is not None and _written_by_numpy(out, *factors):
        host_linalg.matmul_to(out, *factors)
        return out  # type: ignore[no-any-return]
    found = kernel.compute(*factors)
    if out is not None and tuple(out.shape) != tuple(found.shape):
        raise ValueError(
            f"non-broadcastable output operand with shape {tuple(out.shape)} doesn't match "
            f"the broadcast shape {tuple(found.shape)}"
        )
    return deliver(cast(found, loop[-1]), out, None)


def _written_by_numpy(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether NumPy's product is the faster one and fits in there."""
    if a.ndim != 2 or b.ndim != 2 or out.dtype != a.dtype:
        return False
    shape = (a.shape[0], b.shape[1])
    return tuple(out.shape) == shape and usable(out) and host_linalg.has_faster_blas(a, b)


def gufunc(kernel: Kernel) -> Compute:
    """Make the table's implementation of a generalised ufunc."""
    ufunc = kernel.ufunc

    def implementation(
        *args: Any,
        out: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = NO_VALUE,
        subok: bool = True,
        signature: Any = NO_VALUE,
        axes: Any = None,
        axis: Any = NO_VALUE,
        keepdims: Any = NO_VALUE,
    ) -> Any:
        operands, positional = list(args[: ufunc.nin]), args[ufunc.nin :]
        if len(operands) < ufunc.nin or len(positional) > ufunc.nout:
            ufunc(*(np.empty((0, 0)) for _ in args))  # NumPy's own TypeError
        if axes is not None:
            raise NotImplementedError(
                f"{ufunc.__name__}: axes= can't be compiled; use np.moveaxis on the operands"
            )
        outs = out_tuple(ufunc, out, positional)
        request = request_of(dtype, casting, signature, order)
        operands = [x if is_scalar(x) else as_tensor(x) for x in operands]
        _check(ufunc, operands, outs, request, given({"axis": axis, "keepdims": keepdims}))
        axis = -1 if axis is NO_VALUE else axis
        if axis != -1:
            operands = [torch.movedim(as_tensor(x), axis, -1) for x in operands]
        if keepdims is NO_VALUE or not keepdims:
            return _call(kernel, operands, outs, request)
        return _keeping(kernel, operands, outs, request, axis)

    return named(implementation, ufunc.__name__)


def _check(
    ufunc: np.ufunc,
    operands: Sequence[Any],
    outs: Sequence[Any],
    request: Request,
    keywords: dict[str, Any],
) -> None:
    """Have NumPy raise what it would raise for these dtypes and numbers of dimensions."""
    probes = [x if is_scalar(x) else np.empty((0,) * x.ndim, to_numpy(x.dtype)) for x in operands]
    (out,) = outs
    if out is not None:
        shape = [0] * out.ndim
        if keywords.get("keepdims") and -out.ndim <= keywords.get("axis", -1) < out.ndim:
            shape[keywords.get("axis", -1)] = 1
        keywords["out"] = np.empty(shape, to_numpy(out.dtype))
    ufunc(*probes, **keywords, **request.keywords())


def _keeping(
    kernel: Kernel, operands: Sequence[Any], outs: tuple[Any, ...], request: Request, axis: int
) -> torch.Tensor:
    out = outs[0]
    target = None if out is None else out.squeeze(axis)
    found = _call(kernel, operands, (target,), request)
    return found.unsqueeze(axis) if out is None else out
