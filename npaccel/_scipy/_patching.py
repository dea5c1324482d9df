"""`npaccel.array_api`: SciPy's own names take tensors.

Public names of SciPy's submodules are replaced while anybody wants it: each by a function that
looks for tensors among its arguments, and is SciPy's function if there are none, or in a thread
that didn't ask. Names that were imported from SciPy before stay what they are.
"""

from __future__ import annotations

import functools
import importlib
import threading
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Self

from npaccel._scipy import _listing
from npaccel._scipy._while_used import WhileUsed

_depth: ContextVar[int] = ContextVar("npaccel_array_api", default=0)
_lock = threading.RLock()
#: By module and name what SciPy has there; empty while nothing is replaced.
_originals: dict[tuple[str, str], Any] = {}
_everywhere = False


class Replaced:
    """A public name of SciPy that takes tensors where that was asked for.

    What else is asked of it is asked of SciPy's object.

    Parameters
    ----------
    original : object
        A function or a distribution.
    module, name : str
        Where it is in SciPy.
    """

    def __init__(self, original: Any, module: str, name: str) -> None:
        functools.update_wrapper(self, original, updated=())
        self._original = original
        self._place = module, name

    @property
    def _npaccel_original(self) -> Any:
        return self._original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or freeze the distribution."""
        return self._current()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__["_original"]
        if name.startswith("__") or _listing.is_function(original):
            return getattr(original, name)
        return getattr(self._current(), name)

    def _current(self) -> Any:
        if not (_everywhere or _depth.get()):
            return self._original
        from npaccel._scipy import _namespace

        return _namespace._public(*self._place)

    def __reduce__(self) -> Any:
        """Pickle by name: what SciPy has there when it's loaded."""
        module, name = self._place
        return _loaded, (module, name)

    def __repr__(self) -> str:
        return repr(self._original)


def _loaded(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"scipy.{module}"), name)


def _replace() -> None:
    from npaccel._scipy import _distributions, _table

    _table.load()
    for module in _listing.SUBMODULES:
        public = importlib.import_module(f"scipy.{module}")
        for name in public.__all__:
            original = getattr(public, name, None)
            wanted = _listing.is_function(original) or _distributions.is_distribution(original)
            if wanted and not isinstance(original, Replaced):
                _originals[module, name] = original
                setattr(public, name, Replaced(original, module, name))


def _put_back() -> None:
    for (module, name), original in _originals.items():
        public = importlib.import_module(f"scipy.{module}")
        if isinstance(getattr(public, name, None), Replaced):
            setattr(public, name, original)
    _originals.clear()


_names = WhileUsed(_replace, _put_back)


class _Block:
    """The block of ``with npaccel.array_api():``."""

    def __init__(self) -> None:
        self._tokens: list[Token[int]] = []

    def __enter__(self) -> Self:
        _names.enter()
        self._tokens.append(_depth.set(_depth.get() + 1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _depth.reset(self._tokens.pop())
        _names.leave()


class ArrayAPI:
    """SciPy's own names take tensors: ``with npaccel.array_api():``, or ``.install()``.

    In the block, and in the thread that entered it, ``scipy.linalg.inv(tensor)`` and all other
    public functions of the submodules that `npaccel.scipy` mirrors take the routes that they take
    there. With NumPy's arrays they are SciPy's functions, unchanged; after the block the names are
    what they were.

    Notes
    -----
    A name that was imported from SciPy before (``from scipy.linalg import inv``) stays SciPy's
    function: call it as ``scipy.linalg.inv``, or import it inside of the block.

    Examples
    --------
    >>> import scipy.linalg, torch, npaccel
    >>> with npaccel.array_api():
    ...     scipy.linalg.inv(2 * torch.eye(2))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """

    def __call__(self) -> _Block:
        """Return a block in which SciPy's names take tensors, in this thread."""
        return _Block()

    def install(self) -> None:
        """Let SciPy's names take tensors in all threads, until `uninstall`."""
        global _everywhere
        with _lock:
            if not _everywhere:
                _names.enter()
                _everywhere = True

    def uninstall(self) -> None:
        """Give SciPy's names back."""
        global _everywhere
        with _lock:
            if _everywhere:
                _everywhere = False
                _names.leave()

    def __repr__(self) -> str:
        return f"<npaccel.array_api: {'installed' if _everywhere else 'not installed'}>"


array_api = ArrayAPI()

__all__ = ["ArrayAPI", "Replaced", "array_api"]
