"""What becomes of memory that is freed: new memory is slow."""

from __future__ import annotations

import functools

import torch

#: A little less than the largest block for which glibc learns from one that was freed.
_LARGEST = (32 << 20) - (64 << 10)


@functools.cache
def reuse_freed() -> None:
    """Let the C library keep freed blocks of up to 32 MiB for the next ones.

    glibc asks the kernel for each large block and gives it back, until it has seen one freed: from
    then on blocks of that size come from its heap, of which it keeps up to twice as much. The
    kernel's new pages cost more than many an operator that writes into them. So one block, the
    largest from which glibc learns, is taken and given back; it is never touched.
    """
    torch.empty(_LARGEST, dtype=torch.uint8)
