"""Leave out what Inductor looks for in neural networks alone.

At the first graph of a process it traces some forty patterns of attention, to find them in graphs:
half a second, and more than all the rest that a small graph takes. NumPy code has no call of them.

Read from torch/_inductor/fx_passes/{joint_graph,fuse_attention}.py and
torch/_inductor/pattern_matcher.py (init_once_fakemode) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from torch._inductor.fx_passes import fuse_attention, joint_graph

from npaccel._torch.patching import Patch, patched


@contextlib.contextmanager
def no_attention_looked_for() -> Iterator[None]:
    """Don't have the patterns of attention traced meanwhile: graphs of the user's own still may."""
    with patched(PATCHES):
        yield


@functools.cache
def _other_patterns(original: Any) -> Callable[..., Any]:
    begin = original.__wrapped__  # Not the one that remembers having been called.

    @functools.cache
    def lazy_init(*args: Any, **kwargs: Any) -> Any:
        with patched(PATCHES_WHILE_TRACED):
            return begin(*args, **kwargs)

    return lazy_init


def _nothing(original: Any) -> Callable[..., None]:
    def no_patterns(*args: Any, **kwargs: Any) -> None:
        pass

    return no_patterns


_WHY = "Inductor traces patterns of attention, which NumPy code doesn't have, for half a second"
_TEST = "tests/torch_layer/test_torch_internals.py"

PATCHES = (Patch(joint_graph, "lazy_init", _other_patterns, _WHY, _TEST),)
#: While Inductor traces what it looks for in graphs.
PATCHES_WHILE_TRACED = (Patch(fuse_attention, "_sfdp_init", _nothing, _WHY, _TEST),)

__all__ = ["no_attention_looked_for"]
