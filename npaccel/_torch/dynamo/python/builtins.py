"""Trace Python's own functions of numbers where they get NumPy's: `min`, `round`, `math.sqrt`.

Read from torch/_dynamo/variables/{builtin,torch,lists,functions}.py and
torch/_dynamo/{utils,symbolic_convert}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch._dynamo.utils as dynamo_utils
import torch._dynamo.variables.lists as dynamo_lists
from torch._dynamo import symbolic_convert
from torch._dynamo.exc import raise_observed_exception
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._dynamo.variables.builtin import BuiltinVariable
from torch._dynamo.variables.constant import ConstantVariable
from torch._dynamo.variables.functions import (
    LocalGeneratorObjectVariable,
    PolyfilledFunctionVariable,
)
from torch._dynamo.variables.lists import BaseListVariable, ListVariable, TupleVariable
from torch._dynamo.variables.tensor import (
    NumpyNdarrayVariable,
    SymNodeVariable,
    supported_comparison_ops,
)
from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

from npaccel._numpy.core import python_functions
from npaccel._numpy.core.dtypes import to_numpy
from npaccel._process import thread_warnings
from npaccel._runtime.torch.symbolic_sizes import depends_on_data
from npaccel._torch.dynamo.numpy.calls import (
    emit,
    example_of,
    is_answer,
    is_scalar_variable,
    refuse,
)
from npaccel._torch.dynamo.numpy.operations import VALUE, Operation
from npaccel._torch.dynamo.python.scalars import is_in_region, number
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Operators that Python has for complex numbers.
_ARITHMETIC = frozenset(
    getattr(operator, f"{prefix}{name}")
    for prefix in ("", "i")
    for name in ("add", "sub", "mul", "truediv", "pow")
)
#: Operators that repeat sequences as often as an integer says, NumPy's as well.
_REPEATS = frozenset({operator.mul, operator.imul})
_SEQUENCES = (list, tuple, str, bytes)
#: Operators for which Python refuses a divisor of zero.
_DIVISIONS = frozenset(
    getattr(operator, f"{prefix}{name}")
    for prefix in ("", "i")
    for name in ("truediv", "floordiv", "mod")
) | {divmod}
_POWERS = frozenset({operator.pow, operator.ipow})
#: Operators that Dynamo writes in Python with others that do something else with arrays.
_OF_SEQUENCES = frozenset({operator.concat, operator.countOf, operator.iconcat})
_SHIFTS = frozenset({operator.lshift, operator.rshift, operator.ilshift, operator.irshift})
#: Other operators of numbers.
_OTHERS = frozenset(
    getattr(operator, name)
    for name in (
        *("floordiv", "mod", "lshift", "rshift", "and_", "or_", "xor", "neg", "pos", "invert"),
        *("ifloordiv", "imod", "ilshift", "irshift", "iand", "ior", "ixor"),
        *("abs", "lt", "le", "eq", "ne", "gt", "ge", "is_", "is_not"),
    )
) | {abs, divmod}


#: Operators of what has items: Python's numbers have none.
_OF_ITEMS = frozenset({operator.getitem, operator.setitem, operator.delitem, operator.contains})


def _operation(name: str, function: Callable[..., Any], scalar: bool) -> Operation:
    return Operation(f"python.{name}", function, lambda node, flags: scalar)


def _arrays(values: Sequence[Any]) -> bool:
    return bool(active.depth) and any(
        isinstance(value.realize(), NumpyNdarrayVariable) for value in values
    )


def _call_function(original: Any) -> Any:
    """Take numbers of Python's for what they are.

    Dynamo has no symbols for complex numbers, and raises TypeError. So code of ``2j * n`` is
    compiled for each n. What `np.allclose` gives is a bool of Python's: two of them add up to 2.
    """

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if self.fn is round and active.depth:
            found = _rounded_to_digits(tx, *args, **kwargs)
            return original(self, tx, args, kwargs) if found is None else found
        if active.depth and args and self.fn in _OF_ITEMS and is_answer(args[0].realize()):
            return refuse(f"`{self.fn.__name__}` of a Python number", "", "NumPy raises")
        if not active.depth or not 0 < len(args) <= 2 or kwargs:
            return original(self, tx, args, kwargs)
        if self.fn in _ARITHMETIC or self.fn in _OTHERS:
            args = [arg.realize() for arg in args]
            if any(map(_is_complex, args)):
                args = [_as_constant(arg) for arg in args]
            if any(map(_may_change, args)) and self.fn not in (operator.is_, operator.is_not):
                args = [_as_whole(arg) for arg in args]
            if any(map(is_answer, args)) and all(map(_is_number, args)):
                if self.fn not in _ARITHMETIC or any(map(_is_complex, args)):
                    return refuse(f"`{self.fn.__name__}` of a Python number that is computed", "")
                args = [_as_number(tx, arg) for arg in args]
            found, args = _of_numbers(tx, self.fn, args)
            if found is not None:
                return found
            if self.fn in _REPEATS and _sequences(args):
                args = _repeated(args)
        return original(self, tx, args, kwargs)

    return call_function


def _repeated(args: list[Any]) -> list[Any]:
    """Take how often a sequence is repeated as it is in this call: torch does, from 2.13 on."""
    if any(map(is_scalar_variable, args)):
        refuse("a sequence times a NumPy scalar", "", "Python repeats it")
    return [_as_constant(arg) for arg in args]


def _of_numbers(tx: Any, function: Any, args: list[Any]) -> tuple[Any, list[Any]]:
    """Return what an operator gives for Python's numbers, or None and what Dynamo is to take."""
    if not all(map(_is_number, args)):
        return None, args
    if function in _DIVISIONS:
        return None, [args[0], _divisor(tx, args[1])]
    if function in _POWERS and any(map(_is_computed, args)):
        return _power(tx, *args), args
    if function in _SHIFTS and _is_computed(args[1]):
        refuse(f"`{function.__name__}` by a number of bits that is computed", "")
    return None, args


def _divisor(tx: Any, variable: Any) -> Any:
    """Return a number to divide by; compiled code stops where one that is computed is zero."""
    if not isinstance(variable, SymNodeVariable) or not depends_on_data(variable.sym_num):
        return variable
    if variable.python_type() is not float:
        unequal = BuiltinVariable(operator.ne)
        is_fit = unequal.call_function(tx, [variable, ConstantVariable.create(0)], {})
        TorchInGraphFunctionVariable(torch._check).call_function(tx, [is_fit], {})
        return variable
    element = emit(tx, _operation("divisor", python_functions.divisor, False), [variable], {})
    return number(tx, element, VALUE, refuse)


def _power(tx: Any, base: Any, exponent: Any) -> Any:
    """Return a power of numbers of which one is computed; None: let Dynamo compute it."""
    if float not in (base.python_type(), exponent.python_type()):
        if not isinstance(exponent, ConstantVariable):
            return refuse("an int to a power that is computed", "", "it's a float or an int")
        if exponent.value >= 0:
            return None
    operation = _operation("power", python_functions.power, False)
    return number(tx, emit(tx, operation, [base, exponent], {}), VALUE, refuse)


def _rounded_to_digits(tx: Any, x: Any, ndigits: Any = None) -> Any:
    """Return a float rounded to decimals, as Python does; None: let Dynamo compute it.

    Dynamo's symbols multiply by a power of ten, round, and multiply by another: 0.7000000000000001.
    """
    x, ndigits = x.realize(), None if ndigits is None else ndigits.realize()
    is_float = isinstance(x, SymNodeVariable) and x.python_type() is float
    if not is_float or ndigits is None or ndigits.is_python_constant() is False:
        return None
    digits = ndigits.as_python_constant()
    if not isinstance(digits, int):
        return None
    compute = functools.partial(python_functions.round_to_digits, digits=digits)
    return number(tx, emit(tx, _operation("round", compute, False), [x], {}), VALUE, refuse)


def _compare_handlers(original: dict[str, Any]) -> dict[str, Any]:
    """Have ``a < b`` and ``a is b`` go through the patches of `BuiltinVariable`."""
    bound = {
        sign: BuiltinVariable(compare).call_function
        for sign, compare in supported_comparison_ops.items()
    }
    return {**original, **bound}


def _sequences(variables: Sequence[Any]) -> bool:
    return any(variable.python_type() in _SEQUENCES for variable in variables)


def _is_complex(variable: Any) -> bool:
    return isinstance(variable, ConstantVariable) and isinstance(variable.value, complex)


def _as_constant(variable: Any) -> Any:
    """Return a number as it is in the traced call, to which later calls are guarded to agree."""
    if not isinstance(variable, SymNodeVariable) or depends_on_data(variable.sym_num):
        return variable
    return ConstantVariable.create(variable.evaluate_expr())


def _may_change(variable: Any) -> bool:
    return isinstance(variable, SymNodeVariable) and variable.python_type() is not bool


def _as_whole(variable: Any) -> Any:
    """Return a constant bool as an int: Dynamo's symbols can't be compared with bools."""
    if isinstance(variable, ConstantVariable) and isinstance(variable.value, bool):
        return ConstantVariable.create(int(variable.value))
    return variable


def _call_sum(original: Any) -> Any:
    """Add bools as ints, which they are once 0 is added; leave to NumPy what arrays don't have."""

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if self.fn in _OF_SEQUENCES and _arrays(args):
            refuse(f"operator.{self.fn.__name__} of arrays", "")
        if self.fn is sum and active.depth and len(args) == 1 and not kwargs:
            items = args[0].realize()
            if isinstance(items, ListVariable | TupleVariable):
                args = [TupleVariable([_as_whole(item.realize()) for item in items.items])]
        return original(self, tx, args, kwargs)

    return call_function


def _is_number(variable: Any) -> bool:
    """Whether a variable stands for a number of Python's."""
    if isinstance(variable, ConstantVariable):
        return isinstance(variable.value, int | float | complex)
    return isinstance(variable, SymNodeVariable) or is_answer(variable)


def _as_number(tx: Any, variable: Any) -> Any:
    if not is_answer(variable):
        return variable
    if variable.python_type() is bool:
        return rounded(tx, int, variable)
    return number(tx, variable, VALUE, refuse)


def _call_extreme(original: Any) -> Any:
    """Trace ``min(...)`` and ``max(...)``."""

    def call(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        if not _arrays([*args, *kwargs.values()]):
            return original(self, tx, *args, **kwargs)
        if kwargs:
            return refuse(f"{self.fn.__name__}() with {', '.join(kwargs)} of an array", "")
        if len(args) == 1:
            return emit(tx, _extreme(python_functions.extreme_of, self.fn), list(args), {})
        return original(self, tx, *args)

    return call


def _call_extreme_of_two(original: Any) -> Any:
    """Trace ``min(a, b)`` and ``max(a, b)``."""

    def call_pair(self: Any, tx: Any, a: Any, b: Any) -> Any:
        if a is None or b is None or not active.depth:
            return original(self, tx, a, b)
        if not _arrays([a, b]):
            chosen = _chosen(self.fn, tx, a.realize(), b.realize())
            return original(self, tx, a, b) if chosen is None else chosen
        if any(map(is_answer, (a.realize(), b.realize()))):
            return _extreme_answer(self.fn, tx, a.realize(), b.realize())
        if active.is_subgraph and (a.is_python_constant() or b.is_python_constant()):
            refuse(f"{self.fn.__name__}() of an array and a Python number", "", "its type varies")
        return emit(tx, _extreme(python_functions.extreme, self.fn), [a, b], {})

    return call_pair


def _extreme_answer(function: Any, tx: Any, a: Any, b: Any) -> Any:
    """Return `min` or `max` of bools of Python's, of which NumPy computed one or both."""
    for x in (a, b):
        if not (is_answer(x) or (isinstance(x, ConstantVariable) and isinstance(x.value, bool))):
            refuse(f"{function.__name__}() of a Python bool and another", "", "its type varies")
    compute = functools.partial(python_functions.extreme_bool, function)
    operation = Operation(
        f"python.{function.__name__}",
        compute,
        lambda node, flags: True,
        of_python=lambda node: True,
    )
    return emit(tx, operation, [a, b], {})


def _chosen(function: Any, tx: Any, a: Any, b: Any) -> Any:
    """Return the one of two numbers that `min` or `max` gives; None: let Dynamo compute it.

    Dynamo gives a float where one of them is a float. Which one it is becomes a part of the
    signature.
    """
    pair = (a, b)
    if not all(isinstance(x, SymNodeVariable | ConstantVariable) for x in pair):
        return None
    values = [x.value for x in pair if isinstance(x, ConstantVariable)]
    if len(values) == 2 or not all(isinstance(value, int | float) for value in values):
        return None
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        return a  # NaN is beyond nothing.
    kinds, computed = [x.python_type() for x in pair], any(map(_is_computed, pair))
    if computed and kinds[0] is not kinds[1]:
        first, second = (kind.__name__ for kind in kinds)
        refuse(f"{function.__name__}() of {first} and {second}", "", "its type depends on the data")
    if computed and float in kinds:  # Dynamo gives NaN where there is one.
        compute = functools.partial(python_functions.extreme_of_numbers, function)
        element = emit(tx, _operation(function.__name__, compute, False), [a, b], {})
        return number(tx, element, VALUE, refuse)
    if computed or kinds[0] is kinds[1]:
        return None
    compare = operator.lt if function is min else operator.gt
    beyond = BuiltinVariable(compare).call_function(tx, [b, a], {})
    is_beyond = beyond.evaluate_expr() if isinstance(beyond, SymNodeVariable) else beyond.value
    return b if is_beyond else a


def _extreme(compute: Callable[..., Any], function: Any) -> Operation:
    return _operation(function.__name__, functools.partial(compute, function), True)


def rounded(tx: Any, function: Any, x: Any) -> Any:
    """Return the Python int that `round`, `int` or `math.floor` gives for a NumPy scalar."""
    compute = functools.partial(python_functions.to_int, function)
    element = emit(tx, _operation(function.__name__, compute, False), [x], {})
    return number(tx, element, VALUE, refuse)


@functools.cache
def _error_of_arrays(function: Any) -> TypeError | None:
    """Return what `float`, `int` or `operator.index` raises for an array that has dimensions."""
    with thread_warnings.ignored():  # NumPy before 2.4 warns.
        try:
            function(np.ones(1, np.int64))
        except TypeError as error:
            return error
    return None


def _check_dimensions(tx: Any, function: Any, x: Any) -> None:
    if not (active.depth and isinstance(x, NumpyNdarrayVariable) and example_of(x).ndim):
        return
    error = _error_of_arrays(function)
    if error is not None:
        raise_observed_exception(TypeError, tx, args=list(error.args))


def _call_converter(function: Any, original: Any) -> Any:
    """Trace ``float(a)``, ``operator.index(a)``."""

    def call(self: Any, tx: Any, arg: Any) -> Any:
        x = arg.realize()
        _check_dimensions(tx, function, x)
        is_array = function is float and active.depth and isinstance(x, NumpyNdarrayVariable)
        if is_array and is_in_region(tx) and example_of(x).is_floating_point():
            return number(tx, x, VALUE, refuse)
        return original(self, tx, arg)

    return call


def _call_int(original: Any) -> Any:
    """Trace ``int(a)``."""

    def call_int(self: Any, tx: Any, arg: Any, base: Any = None) -> Any:
        if base is not None:
            return original(self, tx, arg, base)
        x = arg.realize()
        _check_dimensions(tx, int, x)
        if active.depth and isinstance(x, NumpyNdarrayVariable):
            example = x.as_proxy().node.meta["example_value"]
            on_host = example.device.type == "cpu" and not example.ndim
            if on_host and to_numpy(example.dtype).kind in "bf":
                return rounded(tx, int, x)
        return original(self, tx, arg)

    return call_int


def _call_pow(original: Any) -> Any:
    """Trace ``pow(a, b)``."""

    def call_pow(self: Any, tx: Any, a: Any, b: Any, c: Any = None) -> Any:
        if c is not None or not _arrays([a, b]):
            return original and original(self, tx, a, b, c)  # None: Dynamo goes on by itself.
        return BuiltinVariable(operator.pow).call_function(tx, [a, b], {})

    return call_pow


def _call_math(original: Any) -> Any:
    """Trace functions of `math`."""

    def call_function(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if getattr(self.value, "__module__", "") != "math" or not active.depth:
            return original(self, tx, args, kwargs)
        computed = any(_is_computed(arg.realize()) for arg in [*args, *kwargs.values()])
        if not computed:
            return original(self, tx, args, kwargs)
        return _math(tx, self.value, list(args), kwargs)

    return call_function


def _is_computed(variable: Any) -> bool:
    """Whether a number depends on the data; sizes of arrays are Dynamo's business."""
    if isinstance(variable, SymNodeVariable):
        return depends_on_data(example_of(variable))
    return isinstance(variable, NumpyNdarrayVariable)


def _math(tx: Any, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = f"math.{function.__name__}"
    known = function in python_functions.MATH or function in python_functions.TO_INT
    if not known or kwargs or not python_functions.takes(function, len(args)):
        return refuse(f"{name} of numbers that are computed", "")
    if function is math.trunc and not _is_float(args[0]):
        return refuse(f"{name} of what has no __trunc__", "", "Python raises")
    if function in python_functions.TO_INT:
        return rounded(tx, function, args[0])
    compute = functools.partial(python_functions.math_function, function)
    element = emit(tx, _operation(name, compute, False), args, {})
    return number(tx, element, VALUE, refuse)


def _is_float(variable: Any) -> bool:
    """Whether a variable is one of Python's floats: NumPy's float64 is."""
    if not isinstance(variable.realize(), NumpyNdarrayVariable):
        return True
    return is_scalar_variable(variable) and issubclass(variable.python_type(), float)


def _iter_contains(original: Any) -> Any:
    """Break the graph at ``x in [...]``."""

    @functools.wraps(original)
    def iter_contains(items: Any, search: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        listed = list(items)
        if _arrays([search, *listed]):
            refuse("whether a number that is computed is in a list", "", "it decides on values")
        return original(listed, search, tx, *args, **kwargs)

    return iter_contains


def _call_count(original: Any) -> Any:
    """Break the graph at ``[...].count(x)``."""

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name == "count" and _arrays([*args, *self.items]):
            refuse("how often a number that is computed is in a list", "", "it decides on values")
        return original(self, tx, name, args, kwargs)

    return call_method


def _reconstruct_generator(original: Any) -> Any:
    """Break the graph where a generator leaves a frame in something else."""

    def reconstruct(self: Any, codegen: Any) -> None:
        if active.depth:
            _refuse_generator()
        original(self, codegen)

    return reconstruct


def _return_generator(original: Any) -> Any:
    """Break the graph where a generator is returned."""

    def replace_generator(self: Any) -> None:
        if active.depth and self.stack and isinstance(self.stack[-1], LocalGeneratorObjectVariable):
            _refuse_generator()
        original(self)

    return replace_generator


def _refuse_generator() -> None:
    refuse("a generator that the function returns", "", "compiled code can't go on with it")


_AS_TENSORS = "Dynamo has these functions of tensors, and of sizes"
_DIMENSIONS = "Dynamo takes arrays with one element for numbers"
_ON_VALUES = "Dynamo adds up and decides on the answers of `==`, which are NumPy's bools here"
_TO_THE_END = "Dynamo runs a generator to its end, and gives an iterator"
_NUMBERS = "tests/torch_layer/dynamo/test_numbers.py"
_PYTHON = "tests/torch_layer/dynamo/test_python_functions.py"

PATCHES = (
    Patch(
        BuiltinVariable, "call_function", _call_function,
        "Dynamo has no symbols for complex numbers, and rounds in another way", _NUMBERS,
    ),
    Patch(BuiltinVariable, "_call_min_max_binary", _call_extreme_of_two, _AS_TENSORS, _PYTHON),
    Patch(BuiltinVariable, "call_min", _call_extreme, _AS_TENSORS, _PYTHON),
    Patch(BuiltinVariable, "call_max", _call_extreme, _AS_TENSORS, _PYTHON),
    Patch(BuiltinVariable, "call_int", _call_int, _DIMENSIONS, _PYTHON),
    Patch(
        BuiltinVariable, "call_float", functools.partial(_call_converter, float),
        _DIMENSIONS, _PYTHON,
    ),
    Patch(
        BuiltinVariable, "call_index", functools.partial(_call_converter, operator.index),
        _DIMENSIONS, _PYTHON,
    ),
    Patch(
        BuiltinVariable, "call_pow", _call_pow,
        "Dynamo has no `pow` of arrays", _PYTHON, only="2.11-2.13", is_new=True,
    ),
    Patch(BuiltinVariable, "call_pow", _call_pow, _AS_TENSORS, _PYTHON, only="2.14-"),
    Patch(TorchInGraphFunctionVariable, "call_function", _call_math, _AS_TENSORS, _PYTHON),
    Patch(dynamo_utils, "iter_contains", _iter_contains, _ON_VALUES, _PYTHON),
    Patch(dynamo_lists, "iter_contains", _iter_contains, _ON_VALUES, _PYTHON),
    Patch(BaseListVariable, "call_method", _call_count, _ON_VALUES, _PYTHON),
    Patch(
        PolyfilledFunctionVariable, "call_function", _call_sum,
        "symbols of sizes can't be added to bools", _PYTHON,
    ),
    Patch(
        LocalGeneratorObjectVariable, "reconstruct", _reconstruct_generator,
        _TO_THE_END, _PYTHON,
    ),
    Patch(
        InstructionTranslator, "replace_tos_if_return_is_generator", _return_generator,
        _TO_THE_END, _PYTHON,
    ),
)  # fmt: skip

#: Patches after all those of `BuiltinVariable.call_function`, which they hold.
LAST_PATCHES = (
    Patch(
        symbolic_convert, "compare_op_handlers", _compare_handlers,
        "the table has methods from before they were patched", _NUMBERS,
    ),
)  # fmt: skip

__all__ = ["LAST_PATCHES", "PATCHES", "rounded"]
