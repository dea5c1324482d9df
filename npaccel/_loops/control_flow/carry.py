"""Carry of a loop: structure, shapes and dtypes stay the same from iteration to iteration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from npaccel._runtime.arguments import is_array
from npaccel._runtime.containers import is_container

_NUMBERS: dict[type, str] = {bool: "b", int: "iu", float: "f", complex: "c"}


class Leaf:
    """The kind of one part of a carry.

    Parameters
    ----------
    value : object
        An array, NumPy scalar, tensor or number, or any other object, which
        is known by its type only.

    Attributes
    ----------
    dtype, shape
        None for what isn't an array. A number of Python's has neither: it's weak.
    """

    __slots__ = ("dtype", "kind", "shape")

    def __init__(self, value: Any) -> None:
        self.kind = type(value)
        known = is_array(value)
        self.dtype = value.dtype if known else None
        self.shape = tuple(value.shape) if known else None

    @property
    def is_number(self) -> bool:
        """Whether it's a number of Python's."""
        return self.kind in _NUMBERS

    @property
    def text(self) -> str:
        """Description for messages."""
        if self.dtype is None:
            return "None" if self.kind is type(None) else self.kind.__qualname__
        return f"{_name(self.dtype)}[{', '.join(map(str, self.shape or ()))}]"


class Node:
    """The kind of a tuple, list, dict or namedtuple: the kinds of its parts."""

    __slots__ = ("kind", "names", "parts")

    def __init__(self, value: Any) -> None:
        self.kind = type(value)
        self.names = list(value) if self.kind is dict else list(range(len(value)))
        self.parts = [spec_of(value[name]) for name in self.names]

    @property
    def text(self) -> str:
        """Description for messages."""
        inner = [part.text for part in self.parts]
        if self.kind is dict:
            pairs = zip(self.names, inner, strict=True)
            return "{" + ", ".join(f"{name!r}: {part}" for name, part in pairs) + "}"
        if self.kind is list:
            return f"[{', '.join(inner)}]"
        name = "" if self.kind is tuple else self.kind.__qualname__
        return f"{name}({', '.join(inner)}{',' if not name and len(inner) == 1 else ''})"

    def step(self, name: Any) -> str:
        """Return the Python that reaches a part."""
        fields = getattr(self.kind, "_fields", None)
        return f".{fields[name]}" if fields else f"[{name!r}]"


Spec = Leaf | Node


def spec_of(value: Any) -> Spec:
    """Return the kind of a carry."""
    return Node(value) if is_container(value) else Leaf(value)


def leaves(spec: Spec, value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value that has a kind, with Python for where they are."""
    if isinstance(spec, Leaf):
        yield path, value
        return
    for name, part in zip(spec.names, spec.parts, strict=True):
        yield from leaves(part, value[name], path + spec.step(name))


def mapped(spec: Spec, values: Iterator[Any]) -> Any:
    """Return a value of a kind with other leaves, taken in order."""
    if isinstance(spec, Leaf):
        return next(values)
    parts = [mapped(part, values) for part in spec.parts]
    return rebuilt(spec, parts)


def rebuilt(spec: Node, parts: list[Any]) -> Any:
    """Return a container of a kind with other parts."""
    if spec.kind is dict:
        return dict(zip(spec.names, parts, strict=True))
    if spec.kind in (tuple, list):
        return spec.kind(parts)
    return spec.kind(*parts)


def part_code(spec: Spec, value: str) -> Iterator[tuple[Spec, str]]:
    """Yield the parts of a kind, from the whole to the leaves, with Python for each."""
    yield spec, value
    if isinstance(spec, Node):
        for name, part in zip(spec.names, spec.parts, strict=True):
            yield from part_code(part, f"{value}[{name!r}]")


def checker(spec: Spec) -> Callable[[Any], bool]:
    """Return a quick test of values for a kind; False says that one has to look closer.

    Python for it is generated: a call of a function for each part takes longer
    than the iterations of some loops.
    """
    tests: list[str] = []
    constants: list[Any] = []
    for part, value in part_code(spec, "v"):
        here = len(constants)
        if isinstance(part, Leaf) and part.dtype is not None:
            tests += [f"{value}.dtype is c[{here}]", f"{value}.shape == c[{here + 1}]"]
            constants += [part.dtype, part.shape]
            continue
        tests.append(f"type({value}) is c[{here}]")
        constants.append(part.kind)
        if isinstance(part, Node):
            simple = all(isinstance(name, int | str) for name in part.names)
            tests.append(f"len({value}) == {len(part.parts)}" if simple else "False")
            if part.kind is dict and simple:
                tests.append(f"{value}.keys() == c[{here + 1}]")
                constants.append(dict.fromkeys(part.names).keys())
    return _checker(" and ".join(tests))(constants)  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1024)
def _checker(test: str) -> Any:
    source = f"def make(c):\n def same(v):\n  try:\n   return {test}\n"
    source += "  except AttributeError:\n   return False\n return same"
    namespace: dict[str, Any] = {}
    exec(compile(source, "<npaccel carry>", "exec"), namespace)
    return namespace["make"]


class _OtherKindError(Exception):
    """A part of a carry isn't what it was."""

    def __init__(self, path: str, before: Spec, after: Spec) -> None:
        super().__init__(path)
        self.path = path
        self.before = before
        self.after = after


class Carry:
    """Checks that a function gives back what it got, in kind.

    Parameters
    ----------
    primitive : str
        Whose carry it is, for messages.
    role : str
        The name of the function's parameter of the primitive.
    function : callable
    start : str
        The name of the parameter that the first value came by.
    value : object
        The first value.
    what : str
        What the value is called in messages.
    """

    def __init__(
        self, primitive: str, role: str, function: Any, start: str, value: Any, what: str = "carry"
    ) -> None:
        self.primitive = primitive
        self.role = role
        self.function = function
        self.start = start
        self.what = what
        self.spec = spec_of(value)
        #: Changes when a number becomes an array without dimensions.
        self.version = 0
        #: Whether a float may become a wider one: one that NumPy would have started so.
        self.widens = False
        self._is_same = checker(self.spec)

    def checked(self, value: Any) -> Any:
        """Return a later value; its numbers in the dtypes that they had.

        Raises
        ------
        TypeError
            If it has another structure, shape or dtype.
        """
        if self._is_same(value):
            return value
        try:
            new = self._part(self.spec, value, "", self._set_spec)
        except _OtherKindError as error:
            raise TypeError(self._message(error)) from None
        self.version += 1
        self._is_same = checker(self.spec)
        return new

    def _set_spec(self, spec: Spec) -> None:
        self.spec = spec

    def _part(self, spec: Spec, value: Any, path: str, replace: Callable[[Spec], None]) -> Any:
        if isinstance(spec, Leaf):
            return _changed(spec, value, path, replace, self.widens)
        if type(value) is not spec.kind or len(value) != len(spec.parts):
            raise _OtherKindError(path, spec, spec_of(value))
        new = []
        same = True
        for i, name in enumerate(spec.names):
            if spec.kind is dict and name not in value:
                raise _OtherKindError(path, spec, spec_of(value))
            part = value[name]

            def put(part: Spec, i: int = i) -> None:
                spec.parts[i] = part

            new.append(self._part(spec.parts[i], part, path + spec.step(name), put))
            same = same and new[-1] is part
        return value if same else rebuilt(spec, new)

    def _message(self, error: _OtherKindError) -> str:
        before, after = error.before, error.after
        where = f" at {self.start}{error.path}" if error.path else ""
        return (
            f"{self.primitive}: {self.role} {described(self.function)} changed the "
            f"{self.what}{where}: "
            f"it was {before.text} and became {after.text}. The {self.what} keeps its structure, "
            f"shapes and dtypes: {_advice(before, after, self.start + error.path)}"
        )


_WIDER = {"float32": "float64", "complex64": "complex128"}


def _changed(
    spec: Leaf, value: Any, path: str, replace: Callable[[Spec], None], widens: bool
) -> Any:
    """Allow what is the same under another type: numbers and arrays without dimensions."""
    new = spec_of(value)
    if isinstance(new, Leaf):
        same = new.dtype == spec.dtype and new.shape == spec.shape
        if same and (spec.dtype is not None or new.kind is spec.kind):
            return value
        if spec.is_number and new.shape == () and _kind(new.dtype) in _NUMBERS[spec.kind]:
            replace(new)
            return value
        weak = new.is_number and spec.shape == ()
        if weak and _kind(spec.dtype) in _NUMBERS[new.kind] and new.kind is type(value):
            return _as_dtype(value, spec)
        same_shape = spec.shape is not None and spec.shape == new.shape
        names = _name(spec.dtype), _name(new.dtype)
        if same_shape and (names[0] == names[1] or (widens and _WIDER.get(names[0]) == names[1])):
            replace(new)
            return value
    raise _OtherKindError(path, spec, new)


def _as_dtype(value: Any, spec: Leaf) -> Any:
    if isinstance(spec.dtype, torch.dtype):
        return torch.tensor(value, dtype=spec.dtype)
    assert spec.dtype is not None
    return spec.dtype.type(value)


def _name(dtype: Any) -> str:
    if dtype is None:
        return ""
    return str(dtype).removeprefix("torch.") if isinstance(dtype, torch.dtype) else dtype.name


def _kind(dtype: Any) -> str:
    if not isinstance(dtype, torch.dtype):
        return str(dtype.kind)
    if dtype is torch.bool:
        return "b"
    return "c" if dtype.is_complex else "f" if dtype.is_floating_point else "i"


def _advice(before: Spec, after: Spec, start: str) -> str:
    if isinstance(before, Node) or isinstance(after, Node) or before.kind is after.kind is None:
        return "return the structure that the function was given"
    if after.kind is type(None):
        return "return it"
    if before.dtype is None and not before.is_number:
        return "return an object of the same type"
    if after.dtype is None and not after.is_number:
        return "return arrays and numbers"
    if (before.shape or ()) != (after.shape or ()):
        shape = after.shape or ()
        dtype = _name(after.dtype) if after.dtype is not None else after.kind.__name__
        return f"start {start} with the shape {shape} and dtype {dtype}, or write into its parts"
    if before.is_number:
        return f"start {start} as {_scalar(after)}(...), or convert it back: {before.text}(...)"
    back = f".astype(np.{_name(before.dtype)})"
    return f"start {start} as {_scalar(after)}, or end the function with {back}"


def _scalar(leaf: Leaf) -> str:
    return leaf.text if leaf.dtype is None else f"np.{_name(leaf.dtype)}"


def described(function: Any) -> str:
    """Return a function's name and where it stands."""
    plain = inspect.unwrap(function) if callable(function) else function
    while hasattr(plain, "func"):  # functools.partial
        plain = inspect.unwrap(plain.func)
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__qualname__", None) or repr(plain)
    short = name.rpartition("<locals>.")[2]
    return f"`{short}` ({code.co_filename}:{code.co_firstlineno})" if code else f"`{short}`"
