"""Views that have another dtype than their base.

Where an output is a view of an argument, AOTAutograd makes it from the argument by way of the base
of what the compiled code gave: it lays out the argument, of one dtype, with the sizes of the
base, of the other, and so past the end of the memory. Complex numbers that are computed as pairs
of real ones are such views, and arguments may be.

Read from torch/_functorch/_aot_autograd/functional_utils.py (gen_alias_from_base) of 2.11 and
2.13.
"""

from __future__ import annotations

import torch


def without_other_base(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor on the same memory whose base, if it has one, has its dtype.

    Views with gradients come back as they are: their gradient goes by way of the base.
    """
    base = tensor._base
    if base is None or base.dtype == tensor.dtype or tensor.requires_grad:
        return tensor
    with torch._C._AutoDispatchBelowADInplaceOrView():
        return torch.ops.aten.alias(tensor)  # type: ignore[no-any-return]


__all__ = ["without_other_base"]
