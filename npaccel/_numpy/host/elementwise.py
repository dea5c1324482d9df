"""Long functions of single elements as torch operators, which compile in one piece.

Inductor repeats what computes a tensor wherever the tensor is used, in each of its loops: twenty
rounds of integers that are each used twice take it half a minute. To the compiler such a function
is one operator, and the code of its results is written once from the function itself
(`_torch/inductor/cpp/elementwise_functions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from npaccel._numpy.host.registration import operator


class ElementFunction(NamedTuple):
    """A function of single elements.

    Parameters
    ----------
    function : callable
        Computes with tensors' operators, ``.to``, ``.view`` of another dtype of the same size, and
        `torch.where`, `torch.sqrt` and `torch.full_like`. Returns a tensor or a tuple of them.
    dtypes : tuple of torch.dtype
        Of the results.
    """

    function: Callable[..., Any]
    dtypes: tuple[torch.dtype, ...]


#: Kernels by operator.
ELEMENT_FUNCTIONS: dict[Any, ElementFunction] = {}


def element_function(*dtypes: torch.dtype) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function of tensors an operator ``torch.ops.npaccel.<name>``.

    Parameters
    ----------
    *dtypes : torch.dtype
        Of the results, which have the shape that the arguments broadcast to.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        code = function.__code__
        takes = ", ".join(f"Tensor {name}" for name in code.co_varnames[: code.co_argcount])
        gives = ", ".join(["Tensor"] * len(dtypes))
        schema = f"{function.__name__}({takes}) -> ({gives})"
        tags = (torch.Tag.pt2_compliant_tag,)

        def fake(*args: torch.Tensor) -> Any:
            shape = torch.broadcast_shapes(*(x.shape for x in args))  # type: ignore[no-untyped-call]
            found = tuple(args[0].new_empty(shape, dtype=dtype) for dtype in dtypes)
            return found if len(dtypes) > 1 else found[0]

        found: Callable[..., Any] = operator(
            schema, function, fake, tags, device="CompositeExplicitAutograd"
        )
        ELEMENT_FUNCTIONS[found] = ElementFunction(function, dtypes)
        return found

    return declare


__all__ = ["ELEMENT_FUNCTIONS", "ElementFunction", "element_function"]
