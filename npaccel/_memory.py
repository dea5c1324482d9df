"""New memory is slow: keep what is freed, and ask for large pages."""

from __future__ import annotations

import torch

from npaccel._torch_internals import huge_pages

#: A little less than the largest block for which glibc learns from one that was freed.
_LARGEST = (32 << 20) - (64 << 10)


def prepare() -> None:
    """Have torch's new memory on the CPU cost less from now on, in all of the process.

    glibc asks the kernel for each large block and gives it back, until it has seen one freed: from
    then on blocks of that size come from its heap, of which it keeps up to twice as much. The
    kernel's new pages cost more than many an operator that writes into them. So one block, the
    largest from which glibc learns, is taken and given back; it is never touched. Larger blocks
    still come from the kernel, in huge pages.
    """
    huge_pages.switch_on()
    torch.empty(_LARGEST, dtype=torch.uint8, device="cpu")
