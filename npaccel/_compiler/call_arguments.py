"""One call's arguments, as the caller has them and as tensors."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from npaccel._compiler.function_spec import FunctionSpec
from npaccel._runtime import arguments, device_transfer
from npaccel._runtime.error_translation import FAILURES, CompiledCodeError, is_out_of_memory
from npaccel._runtime.runner import narrowed
from npaccel._runtime.torch.dtype_views import without_other_base
from npaccel._torch.dynamo import capture as dynamo
from npaccel._torch.dynamo.capture_record import Capture


class InputConverter:
    """Make tensors of arrays, for every call of a captured function.

    Parameters
    ----------
    spec : FunctionSpec
    device : torch.device
    """

    def __init__(self, spec: FunctionSpec, device: torch.device) -> None:
        self.spec = spec
        self.device = device

    def narrows(self, value: Any) -> bool:
        """Whether an argument is cast to 32 bit a part."""
        if not self.spec.options.narrow_inputs:
            return False
        wide = (torch.float64, torch.complex128)
        is_tensor = isinstance(value, torch.Tensor)
        return value.dtype in wide if is_tensor else value.dtype.str[1:] in ("f8", "c16")

    def convert(self, value: Any) -> torch.Tensor:
        """Return an array as a tensor on the device of the call."""
        try:
            return self._as_tensor(value)
        except FAILURES as error:
            if is_out_of_memory(error):
                raise CompiledCodeError(error) from error
            raise

    def _as_tensor(self, value: Any) -> torch.Tensor:
        result = arguments.to_tensor(value)
        if self.narrows(value):
            self.spec.log.add_note("float64 and complex128 arguments are cast to 32 bit a part")
            result = narrowed(result)
        if isinstance(value, torch.Tensor):
            return result if value.ndim == 0 else result.to(self.device)
        if device_transfer.is_host(self.device):
            return result
        self.spec.log.add_note(f"arrays are copied from the host to {self.device} at every call")
        return device_transfer.moved(result, self.device)


class Call:
    """The arguments of one call, as the caller has them and as tensors.

    Parameters
    ----------
    spec : FunctionSpec
    values : sequence
        Of all parameters.
    device : torch.device
    is_copy : bool
        Whether the arrays are copies of the caller's.
    """

    #: Whether ranks have parts of the arrays.
    is_sharded: ClassVar[bool] = False

    def __init__(
        self,
        spec: FunctionSpec,
        values: Sequence[Any],
        device: torch.device,
        *,
        is_copy: bool = False,
    ) -> None:
        self.spec = spec
        self.is_copy = is_copy
        self.values = values
        self.device = device
        self.converter = InputConverter(spec, device)
        self.tensors = arguments.device_of(values) is not None
        self.conversions: dict[str, str] = {}
        self.known: dict[str, Any] = {}
        self.scalars: list[torch.Tensor] = []
        self.restrided: list[torch.Tensor] = []
        names = spec.binding.names
        self.arguments = dict(zip(names, values, strict=True))
        for name, value in self.arguments.items():
            for expression, part in arguments.parts(value, f"a_{name}"):
                self.known[expression] = part
                if arguments.is_array(part):
                    self.conversions[expression] = arguments.conversion_of(part)
        self._alone: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.converted = {
            name: arguments.map_arrays(value, self._converted)
            for name, value in self.arguments.items()
        }

    def _converted(self, value: Any) -> torch.Tensor:
        given = self.converter.convert(value)
        # One for each object, which is kept: another could have its id.
        tensor = self._alone.setdefault(id(given), (given, without_other_base(given)))[1]
        if isinstance(value, np.generic):
            self.scalars.append(tensor)
        elif isinstance(value, np.ndarray) and not arguments.has_strides_of(tensor, value):
            self.restrided.append(tensor)
        return tensor

    def has_wide_numbers(self) -> bool:
        """Whether an argument is an int of more than 64 bits, which can't vary in a graph."""
        numbers = (part for part in self.known.values() if type(part) is int)
        return any(not -(2**63) <= number < 2**63 for number in numbers)

    def release(self) -> None:
        """Release the caller's arrays."""
        self.values = ()
        self.scalars, self.restrided = [], []
        self.arguments, self.converted, self.known, self._alone = {}, {}, {}, {}

    def capture(self, history: Any, dynamic: bool | None) -> Capture:
        """Capture the function for this call."""
        function = self.spec.function
        local_values = dict(self.converted)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                local_values[name] = cell.cell_contents
            except ValueError:  # A cell that isn't filled yet; Dynamo reports its use.
                continue
        return dynamo.capture(
            function,
            local_values,
            history=history,
            dynamic=dynamic,
            scalars=self.scalars,
            restrided=self.restrided,
            is_part=bool(self.spec.label),
            remakes_views=not (self.tensors or self.spec.options.narrow_inputs),
            weak_scalars=self.spec.on_wide is not None,
        )

    def in_key(self, is_dynamic: bool, expression: str, kind: str) -> bool:
        """Whether the signature key holds what a guard would check.

        The key of a dynamic signature has no numbers in it.
        """
        if expression not in self.known or kind in ("DUPLICATE_INPUT", "OBJECT_ALIASING"):
            return False
        part = self.known[expression]
        if type(part) in (int, float) and (is_dynamic or expression in self.spec.varying_names):
            return False
        if isinstance(part, types.FunctionType):
            return kind in ("TYPE_MATCH", "CLOSURE_MATCH")
        by_type = arguments.token(part)[:1] == ("object",)
        return kind == "TYPE_MATCH" or not by_type
