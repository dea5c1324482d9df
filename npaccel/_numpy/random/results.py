"""Results of draws: shape, dtype, and whether it's an array, asked of the installed NumPy.

NumPy is asked with a generator of its own, for parameters that stand for the
real ones and for as few numbers as will do.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from npaccel._numpy.core.dtypes import DType, as_dtype, to_numpy, to_torch

#: Kind of result: an array, a scalar of NumPy's, or a number of Python's.
Kind = Literal["array", "scalar", "python"]

#: Parameters of the methods of Generator and RandomState, in NumPy's order. One that only one
#: of them has stands last.
PARAMETERS = {
    line.split()[0]: tuple(line.split()[1:])
    for line in """
    beta a b size
    binomial n p size
    chisquare df size
    choice a size replace p axis shuffle
    dirichlet alpha size
    exponential scale size
    f dfnum dfden size
    gamma shape scale size
    geometric p size
    gumbel loc scale size
    hypergeometric ngood nbad nsample size
    integers low high size dtype endpoint
    laplace loc scale size
    logistic loc scale size
    lognormal mean sigma size
    logseries p size
    multinomial n pvals size
    multivariate_hypergeometric colors nsample size method
    multivariate_normal mean cov size check_valid tol method
    negative_binomial n p size
    noncentral_chisquare df nonc size
    noncentral_f dfnum dfden nonc size
    normal loc scale size
    pareto a size
    permutation x axis
    permuted x axis out
    poisson lam size
    power a size
    rand
    randint low high size dtype
    randn
    random size dtype out
    random_integers low high size
    random_sample size
    rayleigh scale size
    shuffle x axis
    standard_cauchy size
    standard_exponential size dtype method out
    standard_gamma shape size dtype out
    standard_normal size dtype out
    standard_t df size
    tomaxint size
    triangular left mode right size
    uniform low high size
    vonmises mu kappa size
    wald mean scale size
    weibull a size
    zipf a size
    """.strip().splitlines()
}
#: Names of those in `numpy.random` only.
ALIASES = {"ranf": "random_sample", "sample": "random_sample"}
#: One draw of these has dimensions of its own.
_VECTORS = frozenset(
    {"dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal"}
)
#: Functions that take sizes as arguments.
_SIZES_AS_ARGUMENTS = frozenset({"rand", "randn"})


@dataclasses.dataclass(frozen=True)
class Drawn:
    """Result of a draw.

    Parameters
    ----------
    shape : tuple of int or torch.SymInt
    dtype : numpy.dtype
    kind : {"array", "scalar", "python"}
    """

    shape: tuple[Any, ...]
    dtype: DType
    kind: Kind

    def empty(self, device: torch.device) -> torch.Tensor:
        """Return a tensor of this kind."""
        return torch.empty(self.shape, dtype=to_torch(self.dtype), device=device)


def bound(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a method by name.

    Raises
    ------
    TypeError
        If there are too many, or one twice.
    """
    if name in _SIZES_AS_ARGUMENTS:
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(kwargs))!r}")
        return {"size": tuple(args) if args else None}
    return _signature(name).bind_partial(*args, **kwargs).arguments


@functools.cache
def _signature(name: str) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(word, kind) for word in PARAMETERS[name]])


def result_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, legacy: bool) -> Drawn:
    """Say what a draw gives.

    Parameters
    ----------
    name : str
        The method of Generator or RandomState.
    args, kwargs : sequence and mapping
        Constants, sizes and numbers that may be symbolic, tensors.
    legacy : bool
        Whether it's `RandomState`'s.

    Raises
    ------
    NotImplementedError
        If only the draw itself could tell.
    Exception
        Whatever NumPy raises for such parameters.
    """
    given = bound(name, args, kwargs)
    size = given.pop("size", None)
    if given.get("out") is not None:
        raise NotImplementedError("a draw into `out` isn't compiled; assign to the array instead")
    tensors = {
        word: x
        for word, x in given.items()
        if isinstance(x, torch.Tensor) and not _is_unasked(name, word, x)
    }
    if tensors and name in _VECTORS:
        raise NotImplementedError("parameters of draws of vectors have to be lists of numbers")
    if tensors:
        given |= _VALID_TOGETHER.get(name, {})
    method = functools.partial(_ask, name, legacy, given)
    if size is not None and _sizes(size) == ():
        one = method(())
    else:
        one = method(None)
    kind = _kind(one)
    batch = () if name in _VECTORS else np.shape(one)
    event = np.shape(one) if name in _VECTORS else ()
    if size is not None:
        several = method(batch or (0,)) if _sizes(size) else one
        _check_broadcast([batch, *(t.shape for t in tensors.values())], _sizes(size))
        return Drawn((*_sizes(size), *event), as_dtype(several.dtype), "array")
    shape = _broadcast(batch, *(t.shape for t in tensors.values()))
    if len(shape):
        several = method(batch or (1,))
        return Drawn((*shape, *event), as_dtype(several.dtype), "array")
    dtype = as_dtype(np.asarray(one).dtype)
    return Drawn(event, dtype, kind)


def _kind(one: Any) -> Kind:
    if isinstance(one, np.ndarray):
        return "array"
    return "scalar" if isinstance(one, np.generic) else "python"


def _sizes(size: Any) -> tuple[Any, ...]:
    sizes = tuple(size) if isinstance(size, Sequence) else (size,)
    for n in sizes:
        if isinstance(n, torch.Tensor):
            raise NotImplementedError("a size that is computed from array values")
        if isinstance(n, torch.SymInt):
            known_number(n)
        if isinstance(n, int) and n < 0:
            raise ValueError("negative dimensions are not allowed")
    return sizes


#: Parameters that aren't known are asked for as these, where they have to fit together.
_VALID_TOGETHER: dict[str, dict[str, Any]] = {
    "integers": {"low": 0, "high": 2},
    "randint": {"low": 0, "high": 2},
    "triangular": {"left": 0.0, "mode": 0.5, "right": 1.0},
    "zipf": {"a": 2.0},
}


def _broadcast(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]


def _check_broadcast(shapes: Sequence[Sequence[Any]], size: Sequence[Any]) -> None:
    """Parameters have to broadcast to the size, not the other way round."""
    for shape in shapes:
        found = _broadcast(tuple(shape), tuple(size)) if shape else tuple(size)
        if len(shape) > len(size) or any(a != b for a, b in zip(found, size, strict=True)):
            raise ValueError(
                f"Output size {tuple(size)} is not compatible with broadcast dimensions of inputs "
                f"{tuple(shape)}."
            )


def generator(legacy: bool) -> Any:
    """Return a generator whose numbers nobody needs."""
    return np.random.RandomState(0) if legacy else np.random.Generator(np.random.PCG64(0))


def _ask(name: str, legacy: bool, given: Mapping[str, Any], size: Any) -> Any:
    known = {word: stand_in(x) for word, x in given.items() if not _is_unasked(name, word, x)}
    owner = generator(legacy)
    if name in _SIZES_AS_ARGUMENTS:
        return getattr(owner, name)(*(size or ()))
    return getattr(owner, name)(**known, size=size)


def _is_unasked(name: str, word: str, value: Any) -> bool:
    """Probabilities of `choice` that aren't known have no part in what it gives."""
    return name == "choice" and word == "p" and isinstance(value, torch.Tensor)


def stand_in(value: Any) -> Any:
    """Return a constant in place of a parameter that isn't one.

    Raises
    ------
    NotImplementedError
        For a number that is computed from array values.
    """
    if isinstance(value, torch.Tensor):
        return _STAND_INS.get(to_numpy(value.dtype).kind, 1)
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return known_number(value)
    if isinstance(value, torch.dtype):  # What Dynamo makes of `int` and `float`.
        return PYTHON_TYPES.get(value, to_numpy(value))
    if isinstance(value, list | tuple):
        return type(value)(map(stand_in, value))
    return value


_STAND_INS: dict[str, Any] = {"f": 0.5, "b": True}
#: The types of Python that Dynamo passes as dtypes of torch.
PYTHON_TYPES: dict[torch.dtype, type] = {
    torch.bool: bool,
    torch.int64: int,
    torch.float64: float,
    torch.complex128: complex,
}


def known_number(value: Any) -> Any:
    """Return what a symbolic number is in the call that is being traced.

    Raises
    ------
    NotImplementedError
        If only the data will tell.
    """
    if not value.node.has_hint():
        raise NotImplementedError("a number that is computed from array values")
    hint = value.node.hint
    return int(hint) if isinstance(value, torch.SymInt) else float(hint)
