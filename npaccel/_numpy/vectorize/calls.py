"""`numpy.vectorize`: a function of numbers, computed for whole arrays.

Branches are computed for all elements and chosen from. The function is evaluated on tensors
while a graph is traced; see `elements` for what its numbers are.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from npaccel._numpy.core.context import settings, tracing
from npaccel._numpy.core.dtypes import DType, as_dtype, as_tensor, cast, is_scalar, narrow, to_numpy
from npaccel._numpy.core.layouts import lying_as_numpys
from npaccel._numpy.vectorize import elements
from npaccel._numpy.vectorize.code import BUILTINS, Code, dotted
from npaccel._numpy.vectorize.elements import Failures, Number
from npaccel._runtime.error_translation import ELEMENTS
from npaccel._runtime.torch.symbolic_sizes import assume, depends_on_data, raise_unless, surely

#: Maximum numbers of parts of a function that are evaluated, of kinds of numbers, of nested calls.
_MAX_PARTS, _MAX_KINDS, _MAX_DEPTH = 4000, 6, 8

_BINARY: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_UNARY: dict[type, Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}

#: Numbers of several kinds, each where its condition holds.
Kinds = list[tuple[torch.Tensor, Number]]
Value = Number | Kinds | tuple[Any, ...]
Names = dict[str, Value]


class _Evaluation:
    """Evaluation of a function of numbers for all elements."""

    def __init__(self) -> None:
        self.failures = Failures()
        self.parts = 0
        self.depth = 0

    def call(self, code: Code, given: Sequence[Value]) -> Value:
        """Call a function with positional arguments."""
        missing = len(code.parameters) - len(given)
        if missing < 0 or missing > code.defaults or self.depth >= _MAX_DEPTH:
            raise NotImplementedError(f"this call of {code.name} isn't compiled here")
        defaults = [self.name(code, f"{name}=", {}) for name in code.parameters[len(given) :]]
        names: Names = dict(zip(code.parameters, [*given, *defaults], strict=True))
        self.depth += 1
        found = self.block(code, code.body, names)
        self.depth -= 1
        if found is None:
            raise NotImplementedError(f"{code.name} may return None")
        return found

    # -- statements

    def block(self, code: Code, body: Sequence[ast.stmt], names: Names) -> Value | None:
        """Run statements; returns None where they don't return."""
        for i, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                return self.returned(code, statement, names)
            if isinstance(statement, ast.If):
                if _returns(statement):
                    return self.branches(code, statement, body[i + 1 :], names)
                self.assigned_in_branches(code, statement, names)
            else:
                self.assign(code, statement, names)
        return None

    def returned(self, code: Code, statement: ast.Return, names: Names) -> Value:
        value = statement.value
        if isinstance(value, ast.Tuple):
            return tuple(self.value(code, item, names) for item in value.elts)
        if value is None:
            raise NotImplementedError(f"{code.name} may return None")
        return self.value(code, value, names)

    def branches(
        self, code: Code, statement: ast.If, rest: Sequence[ast.stmt], names: Names
    ) -> Value | None:
        condition = self.condition(code, statement.test, names)
        sides = ([*statement.body, *rest], [*statement.orelse, *rest])
        a = self.under(condition, lambda: self.block(code, sides[0], dict(names)))
        b = self.under(~condition, lambda: self.block(code, sides[1], dict(names)))
        if a is None or b is None:
            raise NotImplementedError(f"{code.name} may return None")
        return self.choose(condition, a, b)

    def assigned_in_branches(self, code: Code, statement: ast.If, names: Names) -> None:
        condition = self.condition(code, statement.test, names)
        one, other = dict(names), dict(names)
        self.under(condition, lambda: self.block(code, statement.body, one))
        self.under(~condition, lambda: self.block(code, statement.orelse, other))
        names.clear()  # A name that only one branch assigns can't be read afterwards.
        for name in one.keys() & other.keys():
            a, b = one[name], other[name]
            names[name] = a if a is b else self.choose(condition, a, b)

    def assign(self, code: Code, statement: ast.stmt, names: Names) -> None:
        if isinstance(statement, ast.Assign):
            value = self.value(code, statement.value, names)
            for target in statement.targets:
                names[target.id] = value  # type: ignore[attr-defined]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            names[statement.target.id] = self.value(code, statement.value, names)  # type: ignore[union-attr]
        elif isinstance(statement, ast.AugAssign):
            name = statement.target.id  # type: ignore[union-attr]
            old = self.name(code, name, names)
            new = self.value(code, statement.value, names)
            names[name] = self.binary(type(statement.op), old, new)

    # -- expressions

    def value(self, code: Code, node: ast.expr, names: Names) -> Value:
        """Evaluate an expression."""
        self.parts += 1
        if self.parts > _MAX_PARTS:
            raise NotImplementedError("the function has too many ways through it")
        name = dotted(node)
        if name is not None:
            return self.name(code, name, names)
        if isinstance(node, ast.Constant):
            return elements.constant(node.value)
        if isinstance(node, ast.BinOp):
            left, right = (self.value(code, part, names) for part in (node.left, node.right))
            return self.binary(type(node.op), left, right)
        if isinstance(node, ast.UnaryOp):
            return self.unary(code, node, names)
        if isinstance(node, ast.Compare):
            return self.compared(code, node, names)
        if isinstance(node, ast.BoolOp):
            return self.joined(code, type(node.op), node.values, names)
        if isinstance(node, ast.IfExp):
            condition = self.condition(code, node.test, names)
            a = self.under(condition, lambda: self.value(code, node.body, names))
            b = self.under(~condition, lambda: self.value(code, node.orelse, names))
            return self.choose(condition, a, b)
        if isinstance(node, ast.Call):
            return self.called(code, node, names)
        raise NotImplementedError(f"a {type(node).__name__} isn't compiled here")

    def name(self, code: Code, name: str, names: Names) -> Value:
        if name in names:
            return names[name]
        what, meaning = self.meaning(code, name)
        if what == "number":
            return elements.constant(meaning)
        if what == "operand":
            return meaning  # type: ignore[no-any-return]
        raise NotImplementedError(f"{name} isn't a number, or may not be assigned")

    @staticmethod
    def meaning(code: Code, name: str) -> tuple[str, Any]:
        return code.meanings.get(name, ("", None))

    def binary(self, kind: type, a: Value, b: Value) -> Value:
        op = _BINARY.get(kind)
        if op is None:
            raise NotImplementedError(f"{kind.__name__} isn't compiled here")
        return self.spread(lambda x, y: elements.binary(op, x, y, self.failures), a, b)

    def unary(self, code: Code, node: ast.UnaryOp, names: Names) -> Value:
        a = self.value(code, node.operand, names)
        if isinstance(node.op, ast.Not):
            return _truths(~self.truth(a))
        op = _UNARY[type(node.op)]
        return self.spread(lambda x: elements.unary(op, x, self.failures), a)

    def compared(self, code: Code, node: ast.Compare, names: Names) -> Value:
        """Evaluate ``a < b <= c``."""
        left = self.value(code, node.left, names)
        found: Value | None = None
        old = self.failures.mask
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(code, part, names)
            one = self.binary(type(op), left, right)
            if found is None:
                found = one
            else:
                found = self.choose(self.truth(found), one, found)
            self.failures.mask = _both(old, self.truth(found))
            left = right
        self.failures.mask = old
        assert found is not None
        return found

    def joined(self, code: Code, kind: type, parts: Sequence[ast.expr], names: Names) -> Value:
        """Evaluate ``a and b`` or ``a or b``."""
        first = self.value(code, parts[0], names)
        if len(parts) == 1:
            return first
        goes_on = self.truth(first) if kind is ast.And else ~self.truth(first)
        rest = self.under(goes_on, lambda: self.joined(code, kind, parts[1:], names))
        return self.choose(goes_on, rest, first)

    def called(self, code: Code, node: ast.Call, names: Names) -> Value:
        name = dotted(node.func)
        given = [self.value(code, part, names) for part in node.args]
        what, function = self.meaning(code, name or "")
        if what == "code":
            return self.call(function, given)
        if what != "function":
            raise NotImplementedError(f"a call of {name} isn't compiled here")
        return self.applied(function, given)

    def applied(self, function: Any, given: Sequence[Value]) -> Value:
        """Call a function of Python, `math` or NumPy."""
        failures = self.failures
        if function in (min, max) and len(given) > 1:
            op = operator.lt if function is min else operator.gt
            found = given[0]
            for other in given[1:]:
                beyond = self.spread(lambda x, y: elements.binary(op, x, y, failures), other, found)
                found = self.choose(self.truth(beyond), other, found)
            return found
        if len(given) == 1 and function in BUILTINS and function not in (min, max):
            if function is abs:
                return self.spread(lambda x: elements.unary(abs, x, failures), given[0])
            if function is round:
                return self.spread(lambda x: elements.to_int(round, x, failures), given[0])
            return self.spread(lambda x: elements.converted(function, x, failures), given[0])
        if getattr(function, "__module__", "") == "math":
            return self.spread(
                lambda *xs: elements.math_function(function, list(xs), failures), *given
            )
        if function in (np.float64, np.float32) and len(given) == 1:
            return self.spread(lambda x: _as_numpy(function, x), given[0])
        return self.spread(lambda *xs: elements.ufunc(function, list(xs)), *given)

    # -- what is true where

    def truth(self, value: Value) -> torch.Tensor:
        if isinstance(value, tuple):
            raise NotImplementedError("a tuple isn't a number")
        if isinstance(value, Number):
            return elements.truth(value)
        found = value[0][0] & elements.truth(value[0][1])
        for where, number in value[1:]:
            found = found | (where & elements.truth(number))
        return found

    def condition(self, code: Code, node: ast.expr, names: Names) -> torch.Tensor:
        return self.truth(self.value(code, node, names))

    def under(self, condition: torch.Tensor, run: Callable[[], Any]) -> Any:
        """Run something that is computed only where a condition holds."""
        old = self.failures.mask
        self.failures.mask = _both(old, condition)
        found = run()
        self.failures.mask = old
        return found

    def spread(self, function: Callable[..., Number], *values: Value) -> Value:
        """Apply a function of numbers to numbers of several kinds."""
        if any(isinstance(value, tuple) for value in values):
            raise NotImplementedError("a tuple isn't a number")
        if all(isinstance(value, Number) for value in values):
            return function(*values)
        lists: list[Any] = [[(None, v)] if isinstance(v, Number) else v for v in values]
        found: Kinds = []
        for choice in itertools.product(*lists):
            where = None
            for condition, _ in choice:
                where = where if condition is None else _both(where, condition)
            assert where is not None
            numbers = [number for _, number in choice]
            found.append((where, self.under(where, lambda n=numbers: function(*n))))  # type: ignore[misc]
        return _merged(found)

    def choose(self, condition: torch.Tensor, a: Value, b: Value) -> Value:
        """Return a where a condition holds, otherwise b."""
        if isinstance(a, tuple) or isinstance(b, tuple):
            if not (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)):
                raise NotImplementedError("the number of results depends on values")
            return tuple(self.choose(condition, x, y) for x, y in zip(a, b, strict=True))
        sides = ((condition, a), (~condition, b))
        return _merged(
            [
                (where if inner is None else where & inner, number)
                for where, value in sides
                for inner, number in ([(None, value)] if isinstance(value, Number) else value)
            ]
        )


def _merged(kinds: Kinds) -> Value:
    found: Kinds = []
    for where, number in kinds:
        for i, (other_where, other) in enumerate(found):
            if elements.same_kind(number, other):
                found[i] = (other_where | where, elements.chosen(where, number, other))
                break
        else:
            found.append((where, number))
    if len(found) > _MAX_KINDS:
        raise NotImplementedError("the function has results of too many kinds")
    return found[0][1] if len(found) == 1 else found


def _both(a: torch.Tensor | None, b: torch.Tensor) -> torch.Tensor:
    return b if a is None else a & b


def _truths(condition: torch.Tensor) -> Number:
    return Number(bool, bool, condition, 1.0)


def _as_numpy(function: Any, a: Number) -> Number:
    dtype = as_dtype(function)
    if a.dtype.kind == "c":
        raise NotImplementedError("complex numbers are cast to real ones")
    return Number(dtype, dtype, cast(a.tensor(as_dtype(float)), dtype))


def _returns(statement: ast.If) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


# -- the call


@dataclasses.dataclass(frozen=True, eq=False)
class Vectorized:
    """A call of an object that `numpy.vectorize` made.

    Parameters
    ----------
    function : Code or callable
        What it calls: a function of the user, or one of Python, `math` or NumPy.
    otypes : str or None
        The dtypes of the results, where they are given.
    whole : frozenset of int
        Positions of arguments that are handed on as they are.
    codes : tuple of (Code, str)
        Names that stand for the operands that follow the arguments.
    cached : bool
        Whether the first element of the result is what NumPy's scalars give.
    """

    function: Any
    otypes: str | None
    whole: frozenset[int]
    codes: tuple[tuple[Code, str], ...] = ()
    cached: bool = False

    def __call__(self, *operands: Any) -> Any:
        """Compute it.

        Raises
        ------
        NotImplementedError
            If compiled code may not do what Python does.
        ValueError
            If there are no elements and no `otypes`.
        """
        count = len(operands) - len(self.codes)
        values = [
            x if isinstance(x, torch.Tensor) or is_scalar(x) else as_tensor(x) for x in operands
        ]
        split = [values[i] for i in range(count) if i not in self.whole]
        shape = _shape(split)
        _check_elements(shape, self.otypes)
        dtypes = [to_numpy(x.dtype) for x in split if isinstance(x, torch.Tensor)]
        if self.cached and any(d.itemsize < 8 and d.kind != "b" for d in dtypes):
            raise NotImplementedError("the first element is computed in fewer bits with cache=True")
        exact = dataclasses.replace(settings(), default_float="float64")
        with tracing(exact):
            found, failures = self._evaluated(values, count)
            outputs = found if isinstance(found, tuple) else (found,)
            if self.otypes is not None and len(self.otypes) != len(outputs):
                raise NotImplementedError("there are more or fewer results than otypes")
            arrays = [x for x in split if isinstance(x, torch.Tensor)]
            results = [
                lying_as_numpys(self._result(i, v, failures, shape), arrays)
                for i, v in enumerate(outputs)
            ]
        if self.otypes is None:
            results = [cast(r, narrow(to_numpy(r.dtype), dtypes)) for r in results]
        _raise_where(failures)
        return tuple(results) if isinstance(found, tuple) else results[0]

    def _evaluated(self, values: list[Any], count: int) -> tuple[Value, Failures]:
        evaluation = _Evaluation()
        for (code, name), x in zip(self.codes, values[count:], strict=True):
            if isinstance(x, torch.Tensor) and x.ndim:
                raise NotImplementedError(f"{name} isn't one number")
            is_array = isinstance(x, torch.Tensor)
            number = elements.numpy_scalar(x) if is_array else elements.constant(x)
            code.meanings[name] = ("operand", number)
        given = [
            elements.constant(x) if i in self.whole else elements.element(x)
            for i, x in enumerate(values[:count])
        ]
        if isinstance(self.function, Code):
            return evaluation.call(self.function, given), evaluation.failures
        return evaluation.applied(self.function, given), evaluation.failures

    def _result(
        self, place: int, value: Any, failures: Failures, shape: tuple[Any, ...]
    ) -> torch.Tensor:
        kinds: Any = [(None, value)] if isinstance(value, Number) else value
        dtype = self._dtype(place, [number for _, number in kinds])
        found = None
        for where, number in kinds:
            old = failures.mask
            failures.mask = where
            one = elements.stored(number, dtype, failures)
            failures.mask = old
            found = one if found is None else torch.where(where, one, found)
        assert found is not None
        return found.expand(shape).clone(memory_format=torch.contiguous_format)

    def _dtype(self, place: int, numbers: list[Number]) -> DType:
        if self.otypes is not None:
            dtype = as_dtype(self.otypes[place])
        else:
            dtypes = {np.asarray(elements.sample(number.first)).dtype for number in numbers}
            if len(dtypes) > 1:
                names = " or ".join(sorted(str(dtype) for dtype in dtypes))
                raise NotImplementedError(
                    f"the dtype of the result is that of the first element's, {names}; give otypes"
                )
            dtype = as_dtype(dtypes.pop())
        return dtype


def _shape(values: list[Any]) -> tuple[Any, ...]:
    shapes = [x.shape for x in values if isinstance(x, torch.Tensor)]
    try:
        return tuple(torch.broadcast_shapes(*shapes)) if shapes else ()  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        raise ValueError("operands could not be broadcast together") from error


def _check_elements(shape: tuple[Any, ...], otypes: str | None) -> None:
    count: Any = math.prod(shape)
    if otypes is not None:
        return
    if depends_on_data(count):
        assume(count > 0, "numpy.vectorize gets no elements")
    elif surely(count == 0):
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")


def _raise_where(failures: Failures) -> None:
    if failures.found is None:
        return
    if failures.found.device.type != "cpu":
        raise NotImplementedError("code on a GPU can't raise Python's errors")
    text = f"Runtime assertion failed: {ELEMENTS}Python raises, or has another type or longer ints"
    raise_unless(~torch.any(failures.found), text)
