"""Replace parts of torch, for good or for as long as a block runs.

What is replaced is declared as a `Patch`, beside the function that makes the replacement, in the
tuple ``PATCHES`` of its module. `npaccel._torch.patches` collects them all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import torch

from npaccel._torch import is_tested, release_of, signatures
from npaccel.errors import UnsupportedTorchError

_MISSING: Any = object()
#: Names that an untested release was asked for.
_seen: set[str] = set()


@dataclasses.dataclass(frozen=True)
class Patch:
    """An attribute of a class or module that is replaced.

    Parameters
    ----------
    owner : type, module or str
        Whose attribute it is; as a dotted name where only some releases have the owner, or where
        importing it takes long.
    name : str
    change : callable
        Takes what the owner has under that name and returns what takes its place: functions for
        functions, whether they are static, class or other methods, which they stay. `given` may
        pass arguments before that.
    why : str
        What is wrong with the original.
    test : str
        The test file that fails without the replacement, from the root of the repository.
    read : str
        The releases in which the original was read.
    only : str
        The releases that are patched, such as ``"2.11-2.12"`` or ``"2.13-"``; empty for all.
    is_new : bool
        Whether torch has no such attribute.
    """

    owner: Any
    name: str
    change: Callable[..., Any]
    why: str
    test: str
    read: str = "2.11, 2.13"
    only: str = ""
    is_new: bool = False

    @property
    def is_applied(self) -> bool:
        """Whether the installed release is patched."""
        return not self.only or is_release(self.only)

    @property
    def module(self) -> str:
        """Name of the module that has the attribute or its class."""
        if isinstance(self.owner, str):
            return self.owner if self.owner in sys.modules else self.owner.rpartition(".")[0]
        is_class = isinstance(self.owner, type)
        return str(self.owner.__module__ if is_class else self.owner.__name__)

    @property
    def target(self) -> str:
        """Dotted name of what is replaced."""
        if isinstance(self.owner, str):
            return f"{self.owner}.{self.name}"
        of_class = f".{self.owner.__qualname__}" if isinstance(self.owner, type) else ""
        return f"{self.module}{of_class}.{self.name}"

    @property
    def file(self) -> str:
        """File of the module, as it lies in its package."""
        package = sys.modules[self.module.partition(".")[0]]
        path = getattr(sys.modules.get(self.module), "__file__", None)
        if path is None:  # A release without it.
            return self.module.replace(".", "/") + ".py"
        return Path(path).relative_to(Path(str(package.__file__)).parents[1]).as_posix()

    def given(self, *args: Any) -> Patch:
        """Return the patch with arguments that `change` takes before the original."""
        return dataclasses.replace(self, change=functools.partial(self.change, *args))

    def row(self) -> dict[str, str]:
        """Return what there is to tell, as text."""
        return {
            "target": self.target,
            "file": self.file,
            "read": self.read,
            "only": self.only,
            "why": self.why,
            "test": self.test,
        }


@functools.cache
def is_release(releases: str) -> bool:
    """Whether the installed torch is one of some: ``"2.11"``, ``"2.11-2.12"``, ``"2.13-"``."""
    low, dash, high = releases.partition("-")
    installed = _release(torch.__version__)
    if installed < _release(low):
        return False
    return installed <= _release(high) if high else bool(dash) or installed == _release(low)


def _release(version: str) -> tuple[int, int]:
    found = release_of(version)
    if found is None:
        raise ValueError(f"{version!r} isn't a release of torch")
    return found


def apply(patches: Iterable[Patch], undo: contextlib.ExitStack) -> None:
    """Replace attributes one after another.

    Parameters
    ----------
    patches : iterable of Patch
        Of two for one attribute the second is given what the first has put there.
    undo : contextlib.ExitStack
        Puts all back when it's closed.

    Raises
    ------
    UnsupportedTorchError
        If one of them can't be replaced.
    """
    for patch in patches:
        if patch.is_applied:
            _replace(patch, undo)


def originals(patches: Iterable[Patch]) -> dict[str, Any]:
    """Return what the installed release has, before it's replaced, by dotted name.

    Raises
    ------
    UnsupportedTorchError
        If something isn't there.
    """
    found: dict[str, Any] = {}
    for patch in patches:
        if patch.is_applied and not patch.is_new:
            original, _ = _original(patch, _owner(patch))
            found.setdefault(patch.target, original)
    return found


def _original(patch: Patch, owner: Any) -> tuple[Any, Any]:
    """Return what an owner has, from a base class perhaps, and what it has itself."""
    own = vars(owner).get(patch.name, _MISSING)
    original = own
    if original is _MISSING and isinstance(owner, type):
        original = inspect.getattr_static(owner, patch.name, _MISSING)
    if (original is _MISSING) is not patch.is_new:
        has = "has an attribute of its own at" if patch.is_new else "has no"
        raise _error(patch, f"torch {torch.__version__} {has} {patch.target}")
    return original, own


def _check_signature(patch: Patch, original: Any) -> None:
    """Refuse an untested release in which the original has other parameters."""
    if patch.is_new or patch.target in _seen:
        return
    _seen.add(patch.target)  # What is found there from now on may be a replacement.
    expected, found = signatures.newest(patch.target), signatures.signature_of(original)
    if expected != found:
        what = f"torch {torch.__version__} has {found} for {patch.target} instead of {expected}"
        raise _error(patch, what)


def _replace(patch: Patch, undo: contextlib.ExitStack) -> None:
    owner = _owner(patch)
    original, own = _original(patch, owner)
    if not is_tested():
        _check_signature(patch, original)
    try:
        replacement = _changed(patch.change, None if patch.is_new else original)
        undo.callback(_put_back, owner, patch.name, own)
        setattr(owner, patch.name, replacement)
    except Exception as error:
        what = f"{patch.target} of torch {torch.__version__} can't be replaced: {error!r}"
        raise _error(patch, what) from error


def _changed(change: Callable[..., Any], original: Any) -> Any:
    """Return what takes an original's place, as the kind of method that the original is."""
    if isinstance(original, staticmethod | classmethod):
        return type(original)(change(original.__func__))
    return change(original)


def _owner(patch: Patch) -> Any:
    if not isinstance(patch.owner, str):
        return patch.owner
    module, _, name = patch.owner.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        what = f"torch {torch.__version__} has no {patch.owner}"
        raise _error(patch, what) from error


def _error(patch: Patch, what: str) -> UnsupportedTorchError:
    return UnsupportedTorchError(
        f"npaccel: {what}, which npaccel replaces ({patch.why}); it was read in torch "
        f"{patch.read}: install one of those, or report the release that fails"
    )


def _put_back(owner: Any, name: str, own: Any) -> None:
    if own is not _MISSING:
        setattr(owner, name, own)
    elif name in vars(owner):
        delattr(owner, name)


@contextlib.contextmanager
def patched(patches: Iterable[Patch]) -> Iterator[None]:
    """Replace attributes of classes and modules until the block ends.

    Raises
    ------
    UnsupportedTorchError
        If one of them can't be replaced; then none is.
    """
    with contextlib.ExitStack() as undo:
        apply(patches, undo)
        yield


@contextlib.contextmanager
def registered(registry: MutableMapping[Any, Any], entries: Mapping[Any, Any]) -> Iterator[None]:
    """Put entries into a registry of torch's, such as that of lowerings, until the block ends."""
    before = {key: registry.get(key, _MISSING) for key in entries}
    registry.update(entries)
    try:
        yield
    finally:
        for key, entry in before.items():
            if entry is _MISSING:
                del registry[key]
            else:
                registry[key] = entry


__all__ = ["Patch", "apply", "is_release", "originals", "patched", "registered"]
