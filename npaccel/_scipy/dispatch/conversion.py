"""Tensors as NumPy's arrays and back, wherever they stand in arguments and results."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from npaccel._runtime.arguments import to_array
from npaccel._scipy.dispatch import listing
from npaccel.errors import MixedDevicesError

#: Functions of these packages take NumPy's arrays, not tensors.
_OF_ARRAYS = ("numpy", "scipy", "builtins")
#: Dtypes of torch's that NumPy doesn't have.
_WIDENED = {torch.bfloat16: torch.float32}


def tensors(value: Any) -> list[torch.Tensor]:
    """Return the tensors in a value: in tuples, lists and dicts too.

    Of an object that computes on tensors, like a spline, an empty one stands for it.
    """
    found: list[torch.Tensor] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[torch.Tensor]) -> None:
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, tuple | list):
        for part in value:
            _collect(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _collect(part, found)
    elif hasattr(type(value), "on_host"):
        found.append(value.stand_in())


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with its leaves changed; what is in tuples, lists and dicts."""
    if isinstance(value, tuple | list):
        parts = [mapped(part, change) for part in value]
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return type(value)._make(parts)
        return tuple(parts) if isinstance(value, tuple) else parts
    if type(value) is dict:
        return {name: mapped(part, change) for name, part in value.items()}
    return change(value)


def device_of(name: str, found: list[torch.Tensor]) -> torch.device:
    """Return the device of all tensors; those without dimensions may be on the CPU.

    Raises
    ------
    MixedDevicesError
        If they are on more than one.
    """
    devices = {t.device for t in found if t.ndim} or {t.device for t in found}
    if len(devices) > 1:
        devices -= {t.device for t in found if not t.ndim}
    if len(devices) > 1:
        listed = " and ".join(sorted(map(str, devices)))
        raise MixedDevicesError(
            f"{name}: its tensors are on {listed}; move them to one device: tensor.to(...)"
        )
    return devices.pop() if devices else found[0].device


def to_host(value: Any) -> Any:
    """Return a tensor as NumPy's array, on the CPU without a copy; splines as SciPy's."""
    if not isinstance(value, torch.Tensor):
        return value.on_host() if hasattr(type(value), "on_host") else value
    tensor = value.detach()
    tensor = tensor.to(_WIDENED.get(tensor.dtype, tensor.dtype))
    if tensor.is_sparse:
        tensor = tensor.to_dense()
    return to_array(tensor)


def to_device(value: Any, device: torch.device | None) -> Any:
    """Return NumPy's array or scalar as a tensor; other values as they are."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        if not value.dtype.isnative or any(step < 0 for step in value.strides):
            value = np.array(value, value.dtype.newbyteorder("="), order="C")
        if not value.flags.writeable:
            value = value.copy()
        return torch.from_numpy(_known(value)).to(device)
    if isinstance(value, np.number | np.bool_):
        return torch.from_numpy(_known(np.asarray(value))).to(device)
    return value


def as_array(value: Any, device: torch.device | None) -> Any:
    """Return an argument as a tensor; Python's numbers and None as they are."""
    if isinstance(value, tuple | list):
        if tensors(value):
            parts = [
                as_array(part, device)
                if isinstance(part, tuple | list)
                else torch.as_tensor(part, device=device)
                for part in value
            ]
            return torch.stack(torch.broadcast_tensors(*parts))
        array = np.asarray(value)
        # Also where a graph is traced, which `from_numpy` is no part of.
        return torch.tensor(_known(array), device=device) if array.dtype.kind in "biufc" else array
    if isinstance(value, torch.Tensor):
        return value.to(device)
    return to_device(value, device)


def _known(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array of a dtype that torch has."""
    if value.dtype.char == "g":
        return value.astype(np.float64)
    return value.astype(np.complex128) if value.dtype.char == "G" else value


def _is_long(tensor: torch.Tensor) -> bool:
    dtype = tensor.dtype
    integers = not (dtype.is_floating_point or dtype.is_complex)
    return integers and dtype.itemsize >= torch.float32.itemsize


def _is_wide(dtype: Any) -> bool:
    """Whether a value names a dtype of 64 bits."""
    if isinstance(dtype, torch.dtype):
        return dtype in (torch.float64, torch.complex128)
    if not isinstance(dtype, str | type | np.dtype):
        return False
    try:
        return np.dtype(dtype).char in "dD"
    except TypeError:  # SciPy says what is wrong with it.
        return False


class Width:
    """Width of the floats of a result: that of the widest float that was given.

    Parameters
    ----------
    given : list of torch.Tensor
        The tensors of the call.
    default : torch.dtype
        For calls without any float among them; float64 also where NumPy adds in 64 bits.
    asked : dict
        Keyword arguments, for `heed`.

    Attributes
    ----------
    narrow : bool
        Whether 64 bits are too wide.
    """

    def __init__(
        self,
        given: list[torch.Tensor],
        default: torch.dtype,
        asked: Mapping[str, Any] = types.MappingProxyType({}),
    ) -> None:
        wide = (torch.float64, torch.complex128)
        floats = [t.dtype for t in given if t.dtype.is_floating_point or t.dtype.is_complex]
        self.narrow = not any(dtype in wide for dtype in floats)
        if not floats:
            self.narrow = default is torch.float32
        elif default is torch.float64:  # NumPy adds integers and floats of 32 bits in 64.
            self.narrow = self.narrow and not any(map(_is_long, given))
        self.heed(asked)

    def heed(self, asked: Mapping[str, Any]) -> None:
        """Be wide where arguments ask for it: `dtype` and `output` may name a dtype."""
        if any(_is_wide(asked.get(name)) for name in ("dtype", "output")):
            self.narrow = False

    def stand_in(self, device: torch.device) -> torch.Tensor:
        """Return an empty tensor of this width."""
        return torch.empty(0, dtype=torch.float32 if self.narrow else torch.float64, device=device)

    def kept(self, value: torch.Tensor) -> torch.Tensor:
        """Return a result in that width."""
        narrower = {torch.float64: torch.float32, torch.complex128: torch.complex64}
        target = narrower.get(value.dtype)
        return value.to(target) if self.narrow and target is not None else value


def restored(value: Any, device: torch.device, width: Width) -> Any:
    """Return a result of SciPy with tensors for arrays, on a device and in a width.

    Parameters
    ----------
    value : object
        Arrays, tensors, scalars, and tuples, lists, dicts and result objects of them.
    device : torch.device
    width : Width
    """
    if isinstance(value, torch.Tensor):
        return width.kept(value if value.device == device else value.to(device))
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        found = to_device(value, device)
        return width.kept(found) if isinstance(found, torch.Tensor) else found

    def part(inner: Any) -> Any:
        return restored(inner, device, width)

    if isinstance(value, np.ndarray) and value.dtype == object:
        return _of_objects(value, part)
    if isinstance(value, tuple) and type(value) is not tuple:
        return _named_tuple(value, part)
    if isinstance(value, tuple | list):
        return type(value)(map(part, value))
    if isinstance(value, dict):
        changed = copy.copy(value)
        for key in changed:
            changed[key] = part(changed[key])
        return changed
    module = type(value).__module__
    if module.startswith("scipy."):
        restore = _objects.get(".".join(module.split(".")[:2]))
        if restore is not None:
            return restore(value, device, width)
    return _restored_object(value, part)


#: Makers of objects on a device from SciPy's own, by subpackage.
_objects: dict[str, Callable[[Any, torch.device, Width], Any]] = {}


def restore_objects_of(package: str, restore: Callable[[Any, torch.device, Width], Any]) -> None:
    """Have the objects of a subpackage of SciPy's restored so, as in ``"scipy.interpolate"``."""
    _objects[package] = restore


def _of_objects(value: np.ndarray[Any, Any], part: Callable[[Any], Any]) -> Any:
    """Return an array of arrays as one of tensors."""
    found = np.empty(value.shape, object)
    for place in np.ndindex(value.shape):
        found[place] = part(value[place])
    return found


def _restored_object(value: Any, part: Callable[[Any], Any]) -> Any:
    """Return what isn't a container of Python's."""
    if isinstance(value, types.GeneratorType):
        return map(part, value)
    if _is_result(value):
        changed = copy.copy(value)
        for name, inner in vars(value).items():
            if not callable(inner):
                object.__setattr__(changed, name, part(inner))
        return changed
    return value


def _named_tuple(value: Any, part: Callable[[Any], Any]) -> Any:
    """Return a named tuple of SciPy, which may have more attributes than items."""
    found = tuple.__new__(type(value), map(part, value))
    for name, inner in getattr(value, "__dict__", {}).items():
        found.__dict__[name] = part(inner) if not callable(inner) else inner
    return found


def _is_result(value: Any) -> bool:
    """Whether an object only holds the results of a function: a dataclass of SciPy's, say."""
    kind = type(value)
    ours = kind.__module__.startswith("scipy.") and kind.__name__.endswith(("Result", "Results"))
    return ours and hasattr(value, "__dict__")


def is_of_arrays(function: Any) -> bool:
    """Whether a function is NumPy's or a public one of SciPy's, which take arrays, or a class."""
    # What is written in C may name no module; a function of Python's without one is the user's.
    is_python = isinstance(function, types.FunctionType)
    module = getattr(function, "__module__", None) or ("" if is_python else "numpy")
    if is_python and module.startswith("scipy."):  # SciPy's copy of array-api-compat, say.
        return listing.is_public(function)
    return isinstance(function, type) or module.partition(".")[0] in _OF_ARRAYS


def hashable(value: Any) -> Any:
    """Return a value that a key can hold: lists and arrays as tuples, NumPy's scalars as numbers.

    Raises
    ------
    TypeError
        If there is none.
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return tuple(map(hashable, value))
    if isinstance(value, Mapping):
        raise TypeError("a dict can't be part of a key")
    if isinstance(value, types.FunctionType | types.MethodType):
        raise TypeError("a function can't be part of what is compiled")
    hash(value)
    return value
