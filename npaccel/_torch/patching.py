"""Replace parts of torch for as long as a block runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


@contextlib.contextmanager
def patched(patches: Sequence[tuple[Any, str, Callable[[Any], Any]]]) -> Iterator[None]:
    """Change attributes of classes and modules, and put them back afterwards.

    Parameters
    ----------
    patches : sequence of (owner, name, change)
        `change` takes what the owner has under that name, a static method as such, and returns
        what takes its place.
    """
    before = [vars(owner)[name] for owner, name, _ in patches]
    for (owner, name, change), original in zip(patches, before, strict=True):
        setattr(owner, name, change(original))
    try:
        yield
    finally:
        for (owner, name, _), original in zip(patches, before, strict=True):
            setattr(owner, name, original)


def known_options(config: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options that a configuration has in this version of torch."""
    return {name: value for name, value in options.items() if name in config._config}


__all__ = ["known_options", "patched"]
