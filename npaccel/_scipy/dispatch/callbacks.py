"""Functions of the user's, for SciPy on the host: they get what they take, tensors or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npaccel._scipy.dispatch import conversion
from npaccel._scipy.dispatch.random_states import RandomStates

#: Errors of a function that is given what it can't take.
_UNSUITED = (TypeError, AttributeError, ValueError, IndexError, RuntimeError)


class Callback:
    """A user's function for SciPy: it gets tensors or arrays, and its results become arrays.

    What it can't take the first time, it gets in the other form. The tensors have the dtype that
    SciPy computes in: differences of float32 say little.

    Parameters
    ----------
    function : callable
    device : torch.device
    arrays : bool
        Whether arrays are tried first.
    """

    def __init__(self, function: Any, device: torch.device, arrays: bool) -> None:
        self.__name__ = getattr(function, "__name__", "call")
        self.__wrapped__ = function  # SciPy looks at its parameters.
        self._device = device
        self._arrays = arrays
        #: Whether there was a call that it could take in neither form.
        self.takes_neither = False
        self._has_run = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; SciPy gets arrays."""
        before = None if self._has_run else RandomStates([self.__wrapped__])
        try:
            found = self._given(args, kwargs)
        except _UNSUITED as error:
            if before is not None:
                before.restore()
            found = self._in_other_form(args, kwargs, error)
        self._has_run = True
        found = conversion.mapped(found, conversion.to_host)
        return found.item() if isinstance(found, np.ndarray) and not found.ndim else found

    def _given(self, args: Any, kwargs: Any) -> Any:
        if self._arrays:
            return self.__wrapped__(*args, **kwargs)
        tensors = [conversion.to_device(value, self._device) for value in args]
        return self.__wrapped__(*tensors, **kwargs)

    def _in_other_form(self, args: Any, kwargs: Any, error: Exception) -> Any:
        """Call it with arrays instead of tensors, or the other way round, from here on.

        Raises
        ------
        Exception
            If it can't take these either: the error that says more.
        """
        if not any(isinstance(value, np.ndarray | np.generic) for value in args):
            raise error
        self._arrays = not self._arrays
        try:
            return self._given(args, kwargs)
        except _UNSUITED as other:
            self._arrays = not self._arrays
            self.takes_neither = True
            is_vague = isinstance(error, TypeError | AttributeError)
            raise (other if is_vague and type(other) is not type(error) else error) from None


def callback(function: Any, device: torch.device, *, arrays: bool) -> Any:
    """Return a function as one for SciPy; functions of NumPy and SciPy get arrays as they are.

    Parameters
    ----------
    function : callable
    device : torch.device
    arrays : bool
        Whether it gets arrays where it takes both, not tensors.
    """
    if hasattr(type(function), "on_host"):  # A spline, say, which is called with places.
        return function.on_host()
    if conversion.is_of_arrays(function):
        return function
    return Callback(function, device, arrays)
