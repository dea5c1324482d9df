"""A function under one set of options, as all stages of a call take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch

from npaccel._report import Log
from npaccel._report.describe import describe
from npaccel._runtime import arguments
from npaccel._runtime.binding import Binding
from npaccel._runtime.guards import Scope
from npaccel._runtime.options import Options
from npaccel._syntax import wide_data
from npaccel.errors import DeviceNotFoundError


class FunctionSpec:
    """One function under one set of options.

    Parameters
    ----------
    function : types.FunctionType
    options : Options
    log : Log
        Where the report comes from.
    varying : frozenset of int
        Positions of parameters whose numbers differ from call to call. One artifact serves them
        all.
    label : str
        What part of a function this is, for the report.
    on_wide : callable, optional
        Of a part of a function that narrows floats: is called where the part meets 64-bit ones.
        NumPy scalars don't count, which other parts have computed of Python numbers.
    is_transformed : bool
        Whether it's a derivative or a batch of a function, which NumPy can't compute.
    otherwise : callable, optional
        Maker of calls of bound values, where the function doesn't make one small graph.

    Raises
    ------
    TypeError
        If `static_argnames` has a name that isn't a parameter.
    """

    def __init__(
        self,
        function: FunctionType,
        options: Options,
        log: Log,
        *,
        varying: frozenset[int] = frozenset(),
        label: str = "",
        on_wide: Callable[[], None] | None = None,
        is_transformed: bool = False,
        otherwise: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        self.function = function
        self.options = options
        self.log = log
        self.varying = varying if options.dynamic is not False else frozenset()
        self.label = label
        self.on_wide = on_wide
        self.is_transformed = is_transformed
        self.otherwise = otherwise
        self.binding = Binding(function)
        self.scope = Scope(function, self.binding.names)
        self.static = self._static_positions()
        self.varying_names = {f"a_{self.binding.names[i]}" for i in self.varying}
        #: Whether the last capture met 64-bit floats besides the arguments; by kind of call.
        self.captures_wide = False
        self._widths: dict[Any, bool] = {}
        #: Maker of calls with DTensors, once there was one.
        self.sharded_calls: Any = None

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.function.__qualname__

    def _static_positions(self) -> frozenset[int]:
        names = self.options.static_argnames
        unknown = [name for name in names if name not in self.binding.names]
        if unknown:
            raise TypeError(
                f"jit: `static_argnames` has {unknown[0]!r}, which isn't a parameter of "
                f"{self.name}; its parameters are {', '.join(self.binding.names)}"
            )
        return frozenset(self.binding.names.index(name) for name in names)

    def describe(self, values: Sequence[Any]) -> str:
        """Return a call's arguments as text."""
        text = describe(values, self.binding.names)
        return f"{self.label}: {text}" if self.label else text

    def rank_key(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return a call's ranks, dtypes and types, without sizes and varying numbers."""
        return arguments.rank_key(values, self.static, self.varying)

    def device_for(self, values: Sequence[Any]) -> torch.device:
        """Return where a call is computed.

        Raises
        ------
        MixedDevicesError, DeviceNotFoundError
        """
        of_tensors = arguments.device_of(values)
        if of_tensors is not None:
            return of_tensors
        return device_named(self.options.device)

    # -- Whether floats are narrowed ------------------------------------------

    def has_wide(self, values: Sequence[Any]) -> bool:
        """Whether 64-bit floats are among arguments, so that a call narrows none."""
        if self.options.narrow_inputs:
            return False
        return wide_data.has_wide(values, scalars=self.on_wide is None)

    def narrows(self, values: Sequence[Any]) -> bool:
        """Whether invented floats are 32 bit in calls like this one, which was made before."""
        if self.options.default_float == "float64" or self.has_wide(values):
            return False
        return not self._widths.get(self.rank_key(values), self.captures_wide)

    def note_width(self, values: Sequence[Any], captures_wide: bool) -> None:
        """Note whether a call met 64-bit floats besides its arguments."""
        self.captures_wide = captures_wide
        self._widths[self.rank_key(values)] = captures_wide


def device_named(name: str | None) -> torch.device:
    """Return the device of the option ``device``.

    Raises
    ------
    DeviceNotFoundError
        If torch doesn't see it.
    """
    if name is None or name == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if name == "auto":
        return torch.device("cuda:0" if count else "cpu")
    device = torch.device(name)
    index = device.index or 0
    if index < count:
        return torch.device("cuda", index)
    seen = ", ".join(f"cuda:{i}" for i in range(count))
    devices = "device" if count == 1 else "devices"
    advice = f'pass device="{seen.split(",")[0]}"' if count else 'pass device="cpu"'
    raise DeviceNotFoundError(
        f'jit: `device="{name}"` was asked for, but torch sees {count} CUDA {devices}'
        + (f" ({seen})" if count else "")
        + f"; {advice}"
    )
