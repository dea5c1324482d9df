"""One call of random numbers that the graph computes, while it is traced.

Read from torch/_dynamo/exc.py of 2.11 and 2.13.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.exc import Unsupported
from torch._dynamo.variables.tensor import SymNodeVariable

from npaccel._numpy.random import device_rng, functions
from npaccel._numpy.random.results import Drawn
from npaccel._torch.dynamo.numpy.calls import emit, refuse
from npaccel._torch.dynamo.numpy.operations import IN_PLACE, SCALAR, Operation
from npaccel._torch.dynamo.numpy.rng_calls import Draw, is_array, shape_of
from npaccel.errors import NotOnDeviceError

_NOT_OFFERED = (
    'jit: {what} isn\'t offered with rng="device"; pass rng="numpy" for this function, or draw '
    "before the call and pass the numbers"
)


class DeviceDraw(Draw):
    """One call of a method that draws, with ``rng="device"``."""

    def call(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Draw a key on the host; compute the numbers in the graph."""
        if self.name not in device_rng.OFFERED:
            raise NotOnDeviceError(_NOT_OFFERED.format(what=self.full))
        words = self.drawn([], {}, "key_words", functions.words_of_key)[0]
        try:
            return self._computed(words, args, kwargs)
        except Unsupported as error:
            text = str(error).split("Explanation:")[-1].splitlines()[0].split("in npaccel: ")[-1]
            what = f"{self.full} ({text.strip()})"
            raise NotOnDeviceError(_NOT_OFFERED.format(what=what)) from error

    def _computed(self, words: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        arrange = {
            "choice": self._choice,
            "permutation": self._permutation,
            "permuted": self._permuted,
            "shuffle": self._shuffle,
        }
        if self.name in arrange:
            return arrange[self.name](words, self.given(args, kwargs))
        found: list[Drawn] = []

        def compute(key: torch.Tensor, *values: Any, **named: Any) -> torch.Tensor:
            numbers, drawn = device_rng.drawn(key, self.name, self.legacy, values, named)
            found.append(drawn)
            return numbers

        operation = Operation(self.full, compute, lambda node, flags: False)
        variable = emit(self.tx, operation, [words, *args], kwargs)
        if found[-1].kind == "scalar":
            variable.as_proxy().node.meta[SCALAR] = True
        return self.number(variable) if found[-1].kind == "python" else variable

    def _check_size(self, variable: Any) -> None:
        if isinstance(variable, SymNodeVariable):
            return
        if not (variable.is_python_constant() and isinstance(variable.as_python_constant(), int)):
            refuse(f"this call of {self.full}", "", "pass an array or a size")

    def _permutation(self, words: Any, given: dict[str, Any]) -> Any:
        x, axis = given.get("x"), self.axis(given) or 0
        if not is_array(x):
            self._check_size(x)
            return self.emit(lambda key, n: device_rng.order(key, (n,), 0), [words, x])
        return self.emit(
            lambda key, a: functions.taken(axis)(a, _order_on_device(key, a, axis)), [words, x]
        )

    def _shuffle(self, words: Any, given: dict[str, Any]) -> Any:
        x, axis = given.get("x"), self.axis(given) or 0
        if not is_array(x):
            return refuse(f"this call of {self.full}", "", "pass an array")
        order = self.emit(lambda key, a: _order_on_device(key, a, axis), [words, x])
        self.emit(functions.reordered_in_place(axis), [x, order], suffix=f".{IN_PLACE}")
        return self.build(None)

    def _permuted(self, words: Any, given: dict[str, Any]) -> Any:
        axis = self.axis(given) if "axis" in given else None
        if not is_array(given.get("x")) or "out" in given:
            return refuse(f"this call of {self.full}", "", "pass an array, and no `out`")
        return self.emit(lambda key, a: device_rng.permuted(key, a, axis), [words, given["x"]])

    def _choice(self, words: Any, given: dict[str, Any]) -> Any:
        a, axis = given.pop("a"), self.axis(given) or 0
        given.pop("axis", None)
        if not is_array(a):
            self._check_size(a)
        n = self.shape_variable(a).items[axis] if is_array(a) else a
        operation = Operation(self.full, device_rng.choice, lambda node, flags: False)
        positions = emit(self.tx, operation, [words, n], given)
        size = given.get("size")
        one = size is None or (size.is_python_constant() and size.as_python_constant() is None)
        if is_array(a):
            scalar = one and len(shape_of(a)) == 1
            return self.emit(functions.taken(axis), [a, positions], scalar=scalar)
        return self.number(positions) if one else positions


def _order_on_device(key: torch.Tensor, a: torch.Tensor, axis: int) -> torch.Tensor:
    return device_rng.order(key, (a.shape[axis],), 0)
