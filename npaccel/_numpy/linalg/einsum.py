"""`numpy.einsum`: its two forms of subscripts, checked as NumPy checks them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from npaccel._numpy.core.axes import call, deliver
from npaccel._numpy.core.dtypes import as_dtype, cast, check_cast, to_numpy
from npaccel._numpy.core.layouts import (
    axes_by_stride,
    lying_as_numpys,
    lying_as_summed,
    lying_by_strides,
)
from npaccel._numpy.core.table import implements
from npaccel._numpy.linalg.products import promoted
from npaccel._numpy.ufuncs.gufuncs import from_zero
from npaccel._runtime.torch.symbolic_sizes import is_proven, surely

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _sublist(labels: Sequence[Any]) -> str:
    """Return einsum's letters for its other form, lists of integers."""
    return "".join("..." if i is Ellipsis else _LETTERS[operator.index(i)] for i in labels)


def _einsum_arguments(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return the subscripts and the arrays of either form of the call."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, "
            "or at least one operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs = len(operands) // 2
    text = ",".join(_sublist(operands[2 * i + 1]) for i in range(pairs))
    if len(operands) % 2:
        text += "->" + _sublist(operands[-1])
    return text, [operands[2 * i] for i in range(pairs)]


def _spelled(term: str, ndim: int) -> tuple[list[str], int]:
    """Return an operand's labels with the ellipsis as "0", "1", ... counted from the end."""
    if term.count(".") not in (0, 3) or (("." in term) and "..." not in term):
        raise ValueError("einstein sum subscripts string contains a '.' that is not part of '...'")
    letters = term.replace("...", "")
    for letter in letters:
        if letter not in _LETTERS:
            raise ValueError(
                f"invalid subscript {letter!r} in einstein sum subscripts string, "
                "subscripts must be letters"
            )
    free = ndim - len(letters)
    if free < 0 or (free and "..." not in term):
        raise ValueError(
            f"einstein sum subscripts string {term!r} doesn't fit an operand of {ndim} dimensions"
        )
    if "..." not in term:
        return list(letters), 0
    before, after = term.split("...")
    return [*before, *(str(i) for i in range(free - 1, -1, -1)), *after], free


def _output_labels(text: str | None, terms: list[list[str]], free: int) -> list[str]:
    """Return the labels of the result: given, or each that occurs once, in order."""
    every = [label for term in terms for label in term if not label.isdigit()]
    ellipsis = [str(i) for i in range(free - 1, -1, -1)]
    if text is None:
        return ellipsis + sorted(label for label in set(every) if every.count(label) == 1)
    found: list[str] = []
    letters = text.replace("...", "0" if "..." in text else "")
    for letter in letters:
        if letter == "0":
            found += ellipsis
        elif letter not in every:
            raise ValueError(
                f"einstein sum subscripts string included output subscript {letter!r} "
                "which never appeared in an input"
            )
        elif letter in found:
            raise ValueError(
                f"einstein sum subscripts string includes output subscript {letter!r} "
                "multiple times"
            )
        else:
            found.append(letter)
    if free and "..." not in text:
        raise ValueError(
            "output has an ellipsis missing: the operands broadcast dimensions that it lacks"
        )
    return found


def _check_sizes(terms: list[list[str]], tensors: list[torch.Tensor]) -> None:
    sizes: dict[str, Any] = {}
    for term, tensor in zip(terms, tensors, strict=True):
        for label, size in zip(term, tensor.shape, strict=True):
            known = sizes.setdefault(label, size)
            if surely(known == 1):
                sizes[label] = size
            elif surely(size != 1) and surely(size != known):
                raise ValueError(
                    "operands could not be broadcast together with remapped shapes: "
                    f"subscript {label!r} has lengths {known} and {size}"
                )


def _with_plain_ones(x: torch.Tensor) -> torch.Tensor:
    """Have sizes that must be 1 say so: torch.einsum keeps the axis of a symbol that is."""
    if all(type(size) is int for size in x.shape):
        return x
    return x.reshape([1 if is_proven(size == 1) else size for size in x.shape])


def _einsum_same(terms: list[list[str]], output: list[str], x: list[torch.Tensor]) -> torch.Tensor:
    """Return the sum by torch.einsum, in a dtype that it has kernels for."""
    labels = sorted({label for term in terms for label in term})
    letter = {label: _LETTERS[i] for i, label in enumerate(labels)}
    text = ",".join("".join(letter[i] for i in term) for term in terms)
    text += "->" + "".join(letter[i] for i in output)
    own = x[0].dtype
    x = [_with_plain_ones(part) for part in x]
    if len(x) == 1 and sorted(terms[0]) == sorted(output):  # a view
        return x[0].permute([terms[0].index(label) for label in output])
    if len(x) == 1 and len(set(terms[0])) == len(terms[0]):  # torch.einsum asks which sizes are 1
        left = [label for label in terms[0] if label in output]
        summed = tuple(i for i, label in enumerate(terms[0]) if label not in output)
        found = call(np.sum, x[0], axis=summed, dtype=to_numpy(own))
        found = found.permute([left.index(label) for label in output])
        return from_zero(found, _terms(terms, output, x))
    if x[0].device.type != "cpu" and len(x) > 1 and not (own.is_floating_point or own.is_complex):
        return _einsum_of_integers(terms, output, x)
    if own == torch.bool:  # counts of True, none of which can cancel another
        return torch.einsum(text, *[part.to(torch.float32) for part in x]) != 0
    if own == torch.uint64:
        return torch.einsum(text, *[part.view(torch.int64) for part in x]).view(own)
    if own.is_floating_point or own.is_complex or own == torch.int64 or len(x) == 1:
        found = torch.einsum(text, *x)
        found = found if found.dtype == own else found.to(own)
        is_view = len(x) == 1 and set(terms[0]) == set(output)
        return found if is_view else from_zero(found, _terms(terms, output, x))
    # torch sums other integers in int64, and lacks products of most of them
    return torch.einsum(text, *[part.to(torch.int64) for part in x]).to(own)


def _einsum_of_integers(
    terms: list[list[str]], output: list[str], x: list[torch.Tensor]
) -> torch.Tensor:
    """Return the sum by products that broadcast: CUDA has no products of integer matrices."""
    own = x[0].dtype
    found, labels = _diagonals(_as_int64(x[0]), terms[0])
    for i, part in enumerate(x[1:], 1):
        other, others = _diagonals(_as_int64(part), terms[i])
        every = list(dict.fromkeys([*labels, *others]))
        later = {label for term in terms[i + 1 :] for label in term} | {*output}
        found = _spread(found, labels, every) * _spread(other, others, every)
        summed = [place for place, label in enumerate(every) if label not in later]
        found = found.sum(summed) if summed else found
        labels = [label for label in every if label in later]
    found = found.permute([labels.index(label) for label in output])
    if own == torch.bool:
        return found != 0
    return found.view(own) if own == torch.uint64 else found.to(own)


def _as_int64(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)


def _diagonals(x: torch.Tensor, term: list[str]) -> tuple[torch.Tensor, list[str]]:
    """Return the diagonals of axes that have one label, and the labels that are left."""
    labels = list(term)
    for label in dict.fromkeys(term):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = torch.diagonal(x, 0, first, second)
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
    return x, labels


def _spread(x: torch.Tensor, labels: list[str], every: list[str]) -> torch.Tensor:
    """Return x with an axis for each label, of size 1 for those that it lacks."""
    x = x.permute([labels.index(label) for label in every if label in labels])
    for place, label in enumerate(every):
        x = x if label in labels else x.unsqueeze(place)
    return x


def _terms(terms: list[list[str]], output: list[str], x: list[torch.Tensor]) -> Any:
    """Return how many products are added for each element of the result."""
    sizes = {
        label: size
        for term, part in zip(terms, x, strict=True)
        for label, size in zip(term, part.shape, strict=True)
        if not surely(size == 1)
    }
    return math.prod(size for label, size in sizes.items() if label not in output)


def _small(shape: Sequence[Any], axes: Sequence[int]) -> Any:
    """Return ones, at most two along each axis; the axes lie in memory in an order."""
    sizes = [1 if surely(shape[axis] == 1) else 2 for axis in axes]
    return np.ones(sizes).transpose(np.argsort(axes))


def _kind_of_sum(*operands: Any, optimize: Any = False, **_: Any) -> Literal["scalar", "array"]:
    """Say what `einsum` gives for a number: an array where matrices were multiplied last.

    NumPy says it of arrays with a few elements.
    """
    if optimize is False:
        return "scalar"
    small: list[Any] = [
        _small(one.shape, range(one.ndim)) if isinstance(one, torch.Tensor | np.ndarray) else one
        for one in operands
    ]
    found = np.einsum(*small, optimize=optimize)
    return "array" if isinstance(found, np.ndarray) else "scalar"


@implements(np.einsum, zero_d="scalar", zero_d_of=_kind_of_sum)
def einsum(
    *operands: Any,
    out: torch.Tensor | None = None,
    optimize: Any = False,
    dtype: Any = None,
    casting: str = "safe",
    order: str = "K",
) -> torch.Tensor:
    """`numpy.einsum`; torch chooses the order of the products, whatever `optimize` says.

    Raises
    ------
    ValueError
        If the subscripts don't fit the operands.
    TypeError
        If the operands can't be cast to `dtype`.
    """
    text, arrays = _einsum_arguments(operands)
    tensors = promoted(*arrays)
    if dtype is not None:
        wanted = as_dtype(dtype)
        if not np.can_cast(to_numpy(tensors[0].dtype), wanted, casting):  # type: ignore[arg-type]
            raise TypeError(f"Cannot cast operands to {wanted!r} according to the rule {casting!r}")
        tensors = [cast(x, wanted) for x in tensors]
    elif out is not None:  # NumPy's choice takes it for one of the operands
        wanted = as_dtype(np.result_type(to_numpy(tensors[0].dtype), to_numpy(out.dtype)))
        tensors = [cast(x, wanted) for x in tensors]
    inputs, arrow, result = text.partition("->")
    given = inputs.split(",")
    if len(given) != len(tensors):
        raise ValueError(
            f"{len(given)} terms in the einstein sum subscripts string for {len(tensors)} operands"
        )
    spelled = [_spelled(term, x.ndim) for term, x in zip(given, tensors, strict=True)]
    terms = [labels for labels, _ in spelled]
    output = _output_labels(result if arrow else None, terms, max(free for _, free in spelled))
    _check_sizes(terms, tensors)
    found = _einsum_same(terms, output, tensors)
    if out is not None:
        check_cast(to_numpy(found.dtype), to_numpy(out.dtype), casting)
        return deliver(found, out)
    if len(tensors) == 1 and set(terms[0]) == set(output):  # NumPy gives a view, whatever `order`.
        return found
    if order != "K":
        return lying_as_numpys(found, tensors, order)
    if optimize is False or found.ndim < 2:
        return lying_as_summed(found, terms, output, tensors)
    return lying_by_strides(found, _strides_of_small(text, tensors, optimize))


def _strides_of_small(text: str, tensors: list[torch.Tensor], optimize: Any) -> tuple[int, ...]:
    """Return the strides of what NumPy computes of small arrays, which differ by its release.

    The order of the products is that of arrays of these sizes, where they are known.
    """
    if all(type(size) is int for x in tensors for size in x.shape):
        whole = [np.broadcast_to(0.0, tuple(x.shape)) for x in tensors]
        optimize = np.einsum_path(text, *whole, optimize=optimize)[0]
    small: list[Any] = [_small(x.shape, axes_by_stride(x)) for x in tensors]
    return np.einsum(text, *small, optimize=optimize).strides  # type: ignore[no-any-return]
