"""`npaccel.array_api`: SciPy's own names take tensors.

Public names of SciPy's submodules are replaced while anybody wants it: each by an object that
looks for tensors among its arguments, and is SciPy's own if there are none, or in a thread
that didn't ask. So are the names under which the user's modules have imported them. What is left
are variables of functions, which nobody else can change: the block names them.
"""

from __future__ import annotations

import dis
import functools
import importlib
import sys
import threading
import warnings
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any, Self

from npaccel._process import fork
from npaccel._scipy.dispatch import listing
from npaccel._scipy.dispatch.refcounted_patch import WhileUsed
from npaccel._scipy.objects.class_stand_in import ClassStandIn
from npaccel._syntax.loop_detection import is_library

_depth: ContextVar[int] = ContextVar("npaccel_array_api", default=0)
_lock = threading.RLock()
fork.hold(_lock)
#: Namespaces and names in which something is replaced, and what was there.
_places: list[tuple[dict[str, Any], str, Any]] = []
#: Stand-ins by the identity of what SciPy has, for good: compiled code asks for them.
_replaced: dict[int, Replaced] = {}
_everywhere = False


class Replaced:
    """A public name of SciPy that takes tensors where that was asked for.

    What else is asked of it is asked of SciPy's object, to which it's equal, and what is set is set
    there.

    Parameters
    ----------
    original : object
        A function, a distribution or another object that computes.
    module, name : str
        Where it is in SciPy.
    """

    def __init__(self, original: Any, module: str, name: str) -> None:
        names = (n for n in functools.WRAPPER_ASSIGNMENTS if hasattr(original, n))
        self.__dict__.update({n: getattr(original, n) for n in names}, __wrapped__=original)
        self.__dict__.update(_original=original, _place=(module, name))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Class of SciPy's, which it passes for."""
        return type(self._original)

    @property
    def _npaccel_original(self) -> Any:
        return self._original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, or freeze the distribution."""
        return self._current()(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self._original is listing.own(other)

    def __hash__(self) -> int:
        return hash(self._original)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._original, name)

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__["_original"]
        if name.startswith("__") or listing.is_function(original):
            return getattr(original, name)
        return getattr(self._current(), name)

    def _current(self) -> Any:
        if not (_everywhere or _depth.get()):
            return self._original
        from npaccel._scipy.dispatch import mirror

        return mirror._public(*self._place)

    def __reduce__(self) -> Any:
        """Pickle by name: what SciPy has there when it's loaded; objects by value, as SciPy's."""
        module, name = self._place
        if listing.is_function(self._original) or isinstance(self._original, type):
            return _loaded, (module, name)
        return _as_it_is, (self._original,)

    def __repr__(self) -> str:
        return repr(self._original)


class ReplacedClass(ClassStandIn, Replaced):
    """The same of a class."""


def _as_it_is(value: Any) -> Any:
    return value


def _loaded(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"scipy.{module}"), name)


def _replace() -> None:
    for namespace, name, original in _public_names():
        if namespace.get(name) is original:
            _put(namespace, name)


@functools.cache
def _public_names() -> list[tuple[dict[str, Any], str, Any]]:
    """Return SciPy's namespaces, names and objects that are replaced; make what stands for them."""
    from npaccel._scipy.dispatch import table
    from npaccel._scipy.objects import classes, distributions

    table.load()
    found = []
    for module in listing.SUBMODULES:
        public = importlib.import_module(f"scipy.{module}")
        for name in public.__all__:
            original = getattr(public, name, None)
            wanted = listing.is_function(original) or distributions.is_distribution(original)
            if wanted or classes.is_offered(original):
                if id(original) not in _replaced:
                    kind = ReplacedClass if isinstance(original, type) else Replaced
                    _replaced[id(original)] = kind(original, module, name)
                found.append((vars(public), name, original))
    return found


def _put(namespace: dict[str, Any], name: str) -> None:
    """Put what stands for SciPy's object under a name that has it."""
    original = namespace[name]
    namespace[name] = _replaced[id(original)]
    _places.append((namespace, name, original))


def _put_back() -> None:
    for namespace, name, original in _places:
        if namespace.get(name) is _replaced[id(original)]:
            namespace[name] = original
    _places.clear()


def _reach(frame: FrameType) -> None:
    """Replace SciPy's names in the user's modules, and say which of a function's stay.

    Parameters
    ----------
    frame : frame
        Of the code that enters the block.
    """
    for namespace in [*_users_namespaces(), frame.f_globals]:
        for name in _names_of_scipys(namespace):
            _put(namespace, name)
    if frame.f_locals is frame.f_globals:
        return
    local = frame.f_locals
    imported = _imported(frame.f_code)
    left = [
        name
        for name in sorted(_names_of_scipys(local))
        if name in imported or name == getattr(local[name], "__name__", "")
    ]
    if left:
        warnings.warn(
            f"npaccel.array_api: {', '.join(left)} in {frame.f_code.co_name} stay SciPy's own and "
            "give arrays, since they were imported before the block; import them in it, at the top "
            "of the module, or call them as in scipy.linalg.inv",
            stacklevel=4,
        )


@functools.lru_cache(maxsize=1024)
def _imported(code: CodeType) -> frozenset[str]:
    """Return the variables that a function's own ``from ... import ...`` fills."""
    found, before = set(), ""
    for line in dis.get_instructions(code):
        if before == "IMPORT_FROM" and line.opname.startswith("STORE"):
            found.add(line.argval)
        before = line.opname
    return frozenset(found)


def _names_of_scipys(namespace: dict[str, Any]) -> list[str]:
    # A copy: another thread may import something meanwhile.
    return [name for name, value in list(namespace.items()) if _stands(value)]


def _stands(value: Any) -> bool:
    found = _replaced.get(id(value))
    return found is not None and found._npaccel_original is value


def _users_namespaces() -> Iterator[dict[str, Any]]:
    for name in sys.modules.keys() - _libraries:
        module = sys.modules.get(name)
        if _is_users(name, module):
            yield vars(module)
        else:
            _libraries.add(name)


#: Names of modules that were found not to be the user's.
_libraries: set[str] = set()


def _is_users(name: str, module: Any) -> bool:
    if is_library(name) or not isinstance(module, ModuleType):
        return False
    file = getattr(module, "__file__", None)
    return not (isinstance(file, str) and ("site-packages" in file or "dist-packages" in file))


_names = WhileUsed(_replace, _put_back)


def _enter(frame: FrameType) -> None:
    """Begin to use the names; a warning that is an error leaves them as they were."""
    _names.enter()
    try:
        with _lock:
            _reach(frame)
    except BaseException:
        _names.leave()
        raise


class _Block:
    """The block of ``with npaccel.array_api():``."""

    def __init__(self) -> None:
        self._tokens: list[Token[int]] = []

    def __enter__(self) -> Self:
        _enter(sys._getframe(1))
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
    public functions and classes of the submodules that `npaccel.scipy` mirrors take the routes that
    they take there. With NumPy's arrays they are SciPy's, unchanged; after the block the names are
    what they were.

    Notes
    -----
    Names that your modules have imported from SciPy before (``from scipy.linalg import inv``) are
    replaced too. Those in variables of the function that enters the block can't be: a warning
    names them. What is in closures, defaults and attributes stays SciPy's own.

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
        """Have SciPy's names take tensors in all threads, until `uninstall`."""
        global _everywhere
        with _lock:
            if not _everywhere:
                _enter(sys._getframe(1))
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
