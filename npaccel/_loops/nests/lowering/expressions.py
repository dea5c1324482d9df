"""Expressions of a loop nest, typed and written as steps on single numbers."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from npaccel._loops.nests.intrinsics import Intrinsic
from npaccel._loops.nests.lowering import (
    array_access,
    operators,
    range_refinement,
    rng,
    sequences,
)
from npaccel._loops.nests.lowering import builtins as lowering_builtins
from npaccel._loops.nests.lowering.code_builder import Program, Unreachable, shortened
from npaccel._loops.nests.lowering.expression_writer import ExpressionWriter, Result, Static
from npaccel._loops.nests.lowering.types import (
    DTYPES,
    MAX,
    PY_BOOL,
    TOO_LONG,
    Array,
    Draws,
    Items,
    List,
    NotSupportedError,
    One,
    Other,
    Py,
    Text,
    Value,
    constant,
    integer,
)

TRUE, FALSE = Value((One(PY_BOOL, "True"),)), Value((One(PY_BOOL, "False"),))
#: Stand-in for a name that a namespace doesn't have.
MISSING = object()


class FirstFound(Mapping[str, Any]):
    """View of a namespace in which each name goes on meaning what it did when it was asked for.

    Other threads may rebind it meanwhile, and code is made in several passes.

    Parameters
    ----------
    namespace : mapping
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            self._found[name] = self._namespace.get(name, MISSING)
        if self._found[name] is MISSING:
            raise KeyError(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._namespace)

    def __len__(self) -> int:
        return len(self._namespace)


class Scope:
    """Scope in which a function's other names are looked up, and what was found.

    Parameters
    ----------
    *namespaces : mapping
        Searched in this order, then the builtins.

    Attributes
    ----------
    guards : list of (mapping, str, object)
        What compiled code relies on. It holds while each lookup gives the same.
    """

    def __init__(self, *namespaces: Mapping[str, Any]) -> None:
        self.namespaces = namespaces
        self.guards: list[tuple[Mapping[str, Any], str, Any]] = []
        self._views: dict[int, FirstFound] = {}

    def find(self, name: str, line: int) -> Any:
        """Return what a name means.

        Raises
        ------
        NotSupportedError
            If nothing is called so.
        """
        for namespace in self.namespaces:
            found = self._look_up(namespace, name)
            if found is not MISSING:
                return found
        if not hasattr(builtins, name):
            raise NotSupportedError(f"the name `{name}` isn't defined", line)
        return getattr(builtins, name)

    def member(self, module: types.ModuleType, name: str, line: int) -> Any:
        """Return an attribute of a module."""
        found = self._look_up(vars(module), name)
        if found is MISSING:
            found = getattr(module, name, MISSING)
        if found is MISSING:
            raise NotSupportedError(f"`{module.__name__}` has no `{name}`", line)
        return found

    def _look_up(self, namespace: Mapping[str, Any], name: str) -> Any:
        view = self._views.setdefault(id(namespace), FirstFound(namespace))
        found = view.get(name, MISSING)
        self.guards.append((namespace, name, found))
        return found


class Caller(Protocol):
    """Writer of calls of a user's function."""

    def __call__(
        self, code: Expressions, function: types.FunctionType, arguments: Any, node: ast.Call
    ) -> Result:
        """Return the value of the call."""


class Expressions(ExpressionWriter):
    """Code of a function, written from expressions.

    Parameters
    ----------
    program : Program
    scope : Scope
    local_names : set of str
    call_user : callable
    file : str
    """

    def __init__(
        self,
        program: Program,
        scope: Scope,
        local_names: set[str],
        call_user: Caller,
        file: str = "",
    ) -> None:
        super().__init__(program, local_names, file)
        self.scope = scope
        self.call_user = call_user
        #: Parameters that are never assigned to: tuples, and what isn't a number.
        self.tuples: dict[str, Items] = {}
        self.statics: Mapping[str, Static] = {}
        self._temporaries: dict[int, str] = {}

    def condition(self, node: ast.expr) -> str:
        """Write an expression and return code for whether it counts as true."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _negated(self.condition(node.operand))
        if isinstance(node, ast.BoolOp):
            return self._short_circuit(node.values, isinstance(node.op, ast.And))
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            return self.truth(self._chain(node), node)
        result = self.expression(node)
        if isinstance(result, Items):
            return str(bool(result.items))
        if isinstance(result, Static):
            return str(bool(result.value))
        return self.truth(result, node)

    def truth(self, value: Value, node: ast.expr) -> str:
        """Return code for whether a value counts as true."""
        if all(isinstance(kind, Other) and kind.is_none for kind in value.types):
            return "False"
        if sequences.is_sequence(value):
            return sequences.truth(self, value).ones[0].code
        value = self.as_number(value, node)
        truth = self.combine(lambda one: One(PY_BOOL, operators.truth(one, node.lineno)), value)
        return truth.ones[0].code

    def _short_circuit(self, parts: Sequence[ast.expr], all_of: bool) -> str:
        first, *rest = parts
        condition = self.condition(first)
        if not rest or condition == str(not all_of):
            return condition
        if condition == str(all_of):
            return self._short_circuit(rest, all_of)
        name = self.new("c")
        self.put(f"{name} = {condition}")

        def then() -> None:
            range_refinement.refine(self, first, all_of)
            self.put(f"{name} = {self._short_circuit(rest, all_of)}")

        self.branch(name if all_of else f"not {name}", then, _nothing)
        return name

    # Names and constants

    def _constant(self, node: ast.Constant) -> Result:
        if isinstance(node.value, int | float | complex | np.generic):
            return self._number(node.value, node)
        return Static(node.value)

    def _number(self, number: Any, node: ast.expr) -> Value:
        try:
            return constant(number)
        except OverflowError:
            raise NotSupportedError(TOO_LONG, node.lineno) from None

    def _name(self, node: ast.Name) -> Result:
        if node.id in self.tuples:
            return self.tuples[node.id]
        if node.id in self.statics:
            return self.statics[node.id]
        if node.id in self.locals:
            return self.read(node.id, node.lineno)
        return self.known(self.scope.find(node.id, node.lineno), node)

    def known(self, found: Any, node: ast.expr) -> Result:
        """Return what an object from outside is to the code."""
        is_number = type(found) in (bool, int, float, complex) or (
            isinstance(found, np.generic) and isinstance(found, np.number | np.bool)
        )
        if is_number:
            if isinstance(found, np.generic) and found.dtype not in DTYPES:
                raise NotSupportedError(f"a {found.dtype.name}", node.lineno)
            return self._number(found, node)
        if type(found) is tuple:
            items = [self.known(item, node) for item in found]
            if all(isinstance(item, Value) for item in items):
                return Items(tuple(item for item in items if isinstance(item, Value)))
        return Static(found)

    def _attribute(self, node: ast.Attribute) -> Result:
        owner = self.expression(node.value)
        if isinstance(owner, Static) and isinstance(owner.value, types.ModuleType):
            return self.known(self.scope.member(owner.value, node.attr, node.lineno), node)
        if not isinstance(owner, Value):
            raise NotSupportedError(f"`{shortened(node)}` isn't scalar code", node.lineno)
        if any(isinstance(kind, Array) for kind in owner.types):
            return self._of_array(owner, node)
        if node.attr in ("real", "imag"):
            owner = self.as_number(owner, node.value)
            return self.combine(
                lambda one: lowering_builtins.attribute(self, node.attr, one, node.lineno), owner
            )
        raise NotSupportedError(f"the attribute `{node.attr}` of a number", node.lineno)

    def _of_array(self, owner: Value, node: ast.Attribute) -> Result:
        array = array_access.array(owner, node.value)
        kind = array.ones[0].type
        assert isinstance(kind, Array)
        if node.attr == "ndim":
            return constant(kind.ndim)
        if node.attr == "shape":
            sizes = (array_access.size(self, array, axis) for axis in range(kind.ndim))
            return Items(tuple(sizes))
        if node.attr == "size":
            return self.combine(lambda one: self.one(integer(0, MAX), f"{one.code}.size"), array)
        if node.attr == "dtype":
            return Static(kind.dtype)
        raise NotSupportedError(f"the attribute `{node.attr}` of an array", node.lineno)

    # Operators

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.number(node.left), self.number(node.right)
        return self.operate(node.op, left, right, node)

    def operate(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Write a binary operator."""
        ufunc = operators.UFUNCS.get(type(op))
        line: int = getattr(node, "lineno", 0)
        if ufunc is None:
            raise NotSupportedError("`@` isn't scalar code", line)
        return self.combine(lambda x, y: operators.binary(self, ufunc, x, y, line), left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value((One(PY_BOOL, _negated(self.condition(node.operand))),))
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, int | float | complex) and not isinstance(value, bool):
                return self._number(-value, node)
        ufunc = operators.UFUNCS[type(node.op)]
        operand = self.number(node.operand)
        return self.combine(lambda one: operators.unary(self, ufunc, one, node.lineno), operand)

    def _compare(self, node: ast.Compare) -> Value:
        if len(node.ops) > 1:
            return self._chain(node)
        return self._pair(node.left, self.expression(node.left), node.ops[0], node.comparators[0])

    def _pair(self, first: ast.expr, left: Result, op: ast.cmpop, second: ast.expr) -> Value:
        """Write one comparison; the left side is written already."""
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identity(left, self.expression(second), isinstance(op, ast.Is), second)
        if isinstance(op, ast.In | ast.NotIn):
            return self._membership(left, first, second, isinstance(op, ast.In))
        right = self.expression(second)
        one, other = (side.value if isinstance(side, Static) else side for side in (left, right))
        compared = sequences.compare(self, one, other, op, second.lineno)
        if compared is not None:
            return compared
        if isinstance(left, Static):
            return self._compare_static(left, op, right, second)
        if not isinstance(left, Value):
            raise NotSupportedError(f"`{shortened(first)}` isn't a number", first.lineno)
        ufunc = operators.UFUNCS[type(op)]
        if not isinstance(right, Value):
            raise NotSupportedError(f"`{shortened(second)}` isn't a number", second.lineno)
        left, right = self.as_number(left, first), self.as_number(right, second)
        return self.combine(
            lambda x, y: operators.binary(self, ufunc, x, y, second.lineno), left, right
        )

    def _compare_static(self, left: Static, op: ast.cmpop, right: Result, node: ast.expr) -> Value:
        """Compare strings and dtypes, which are known."""
        known = isinstance(right, Static) and isinstance(left.value, str | np.dtype | type)
        if not known or not isinstance(op, ast.Eq | ast.NotEq):
            raise NotSupportedError(f"a comparison with `{shortened(node)}`", node.lineno)
        assert isinstance(right, Static)
        return TRUE if (left.value == right.value) == isinstance(op, ast.Eq) else FALSE

    def _identity(self, left: Result, right: Result, same: bool, node: ast.expr) -> Value:
        """Write ``x is None``: what it gives must follow from types."""
        if not (isinstance(right, Static) and right.value is None):
            raise NotSupportedError("`is` with another operand than None", node.lineno)
        if not isinstance(left, Value):
            is_none = isinstance(left, Static) and left.value is None
            return TRUE if is_none == same else FALSE
        found = {isinstance(kind, Other) and kind.is_none for kind in left.types}
        if len(found) > 1:
            ones = [o for o in left.ones if isinstance(o.type, Other) and o.type.is_none]
            tags = " or ".join(f"{left.tag} == {self.program.tag(o.type)}" for o in ones)
            return Value((self.one(PY_BOOL, tags if same else f"not ({tags})"),))
        return TRUE if found.pop() == same else FALSE

    def _membership(self, left: Result, first: ast.expr, second: ast.expr, inside: bool) -> Value:
        text = second.value if isinstance(second, ast.Constant) else None
        if isinstance(left, Value) and isinstance(text, str):
            found = sequences.is_in(self, left, text, second.lineno)
            return found if inside else Value((One(PY_BOOL, f"(not {found.ones[0].code})"),))
        if not isinstance(left, Value) or not isinstance(second, ast.Tuple | ast.List | ast.Set):
            raise NotSupportedError("`in` with something that isn't a tuple", second.lineno)
        tests = []
        for item in second.elts:
            text = item.value if isinstance(item, ast.Constant) else None
            same = sequences.compare(self, left, text, ast.Eq(), second.lineno)
            if same is not None:
                tests.append(same.ones[0].code)
                continue
            left = self.as_number(left, first)
            right = self.number(item)
            equal = self.combine(
                lambda x, y: operators.binary(self, np.equal, x, y, second.lineno),
                left,
                right,
            )
            tests.append(equal.ones[0].code)
        text = " or ".join(tests) or "False"
        return Value((self.one(PY_BOOL, text if inside else f"not ({text})"),))

    def _chain(self, node: ast.Compare) -> Value:
        """Write ``a < b < c``, which stops at the first that is false."""
        name = self._temporary_name(node)
        sides = [node.left, *node.comparators]

        def write(k: int, left: Result) -> None:
            pair = self._pair(sides[k], left, node.ops[k], sides[k + 1])
            self.assign(name, pair, node.lineno)
            if k + 1 < len(node.ops):
                right = self._results[id(sides[k + 1])]
                truth = self.truth(self.read(name, node.lineno), node)
                self.branch(truth, lambda: write(k + 1, right), _nothing)

        write(0, self.expression(node.left))
        return self.read(name, node.lineno)

    def _temporary_name(self, node: ast.AST) -> str:
        """Return the name of a variable that the user doesn't see, always the same for a node."""
        return self._temporaries.setdefault(id(node), f"0{len(self._temporaries)}")

    def _boolop(self, node: ast.BoolOp) -> Value:
        """Write ``a and b`` where its value counts, which is that of one of them."""
        name = self._temporary_name(node)
        all_of = isinstance(node.op, ast.And)

        def write(k: int) -> None:
            value = self.number(node.values[k])
            self.assign(name, value, node.lineno)
            if k + 1 < len(node.values):
                truth = self.truth(value, node)
                self.branch(truth if all_of else _negated(truth), lambda: write(k + 1), _nothing)

        write(0)
        return self.read(name, node.lineno)

    def _ifexp(self, node: ast.IfExp) -> Value:
        name = self._temporary_name(node)

        def part(branch: ast.expr) -> Callable[[], None]:
            return lambda: self.assign(name, self.value(branch), node.lineno)

        self.branch(self.condition(node.test), part(node.body), part(node.orelse))
        if self.env is None:
            raise Unreachable
        return self.read(name, node.lineno)

    def _tuple(self, node: ast.Tuple) -> Items:
        return Items(tuple(self.value(item) for item in node.elts))

    # Elements

    def _subscript(self, node: ast.Subscript) -> Value | Items:
        if isinstance(node.value, ast.Attribute | ast.Name):
            owner = self.expression(node.value)
            if isinstance(owner, Items):
                return self._item(owner, node)
            if sequences.is_sequence(owner):
                place, index = self.item_place(node)
                return sequences.load(self, place, index, node.lineno)
        return array_access.load(self, array_access.place(self, node))

    def _item(self, owner: Items, node: ast.Subscript) -> Value | Items:
        index = self.number(node.slice).ones
        kind = index[0].type
        if len(index) == 1 and isinstance(kind, Py) and kind.kind is int and kind.low == kind.high:
            if -len(owner.items) <= kind.low < len(owner.items):
                return owner.items[kind.low]
            raise NotSupportedError("tuple index out of range", node.lineno)
        raise NotSupportedError("an item of a tuple whose number isn't constant", node.lineno)

    def is_item(self, node: ast.Subscript) -> bool:
        """Whether a subscript is an item of a list or string."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self.locals:
            return False
        types = (self.env or {}).get(node.value.id, ())
        return any(isinstance(kind, List | Text) for kind in types)

    def item_place(self, node: ast.Subscript) -> tuple[Value, Value]:
        """Write what a list or string is indexed with; return both."""
        if isinstance(node.slice, ast.Slice):
            raise NotSupportedError("a slice of a list or string", node.lineno)
        owner = self.value(node.value)
        if not sequences.is_sequence(owner):
            raise NotSupportedError(f"`{shortened(node.value)}` of several types", node.lineno)
        return owner, self.number(node.slice)

    # Calls

    def _call(self, node: ast.Call) -> Result:
        if isinstance(node.func, ast.Attribute):
            owner = self.expression(node.func.value)
            if isinstance(owner, Value):
                return self._method(node, node.func, owner)
        target = self.expression(node.func)
        if not isinstance(target, Static):
            raise NotSupportedError(f"a call of `{shortened(node.func)}`", node.lineno)
        special = _SPECIAL.get(target.value) if _hashable(target.value) else None
        if special is not None:
            return special(self, node)
        function = lowering_builtins.find(target.value)
        if function is None:
            return self._user(target.value, node)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise NotSupportedError(f"keywords of `{shortened(node.func)}`", node.lineno)
        long = lowering_builtins.of_long_int(target.value, node.args)
        if long is not None:
            return long
        operands = [self.number(argument) for argument in node.args]
        try:
            return self.apply(function, node, *operands)
        except TypeError as error:
            if "positional argument" not in str(error):
                raise
            text = f"these arguments of `{shortened(node.func)}`"
            raise NotSupportedError(text, node.lineno) from None

    def _user(self, target: Any, node: ast.Call) -> Result:
        if not isinstance(target, types.FunctionType) or hasattr(target, "__wrapped__"):
            text = f"a call of `{shortened(node.func)}`, which isn't scalar code"
            raise NotSupportedError(text, node.lineno)
        return self.call_user(self, target, self._arguments(node, self.expression), node)

    def _arguments(self, node: ast.Call, write: Callable[[ast.expr], Any]) -> tuple[Any, Any]:
        """Write the arguments of a call: by position, and by name."""
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            raise NotSupportedError("a call with `*`", node.lineno)
        return list(map(write, node.args)), {str(k.arg): write(k.value) for k in node.keywords}

    def _method(self, node: ast.Call, function: ast.Attribute, owner: Value) -> Value:
        if isinstance(owner.types[0], Draws):
            given = self._arguments(node, self.number)
            return rng.draw(self, owner, function.attr, given, node.lineno)
        if sequences.is_sequence(owner):
            positional, named = self._arguments(node, self.number)
            if named:
                raise NotSupportedError(f"keywords of `{function.attr}`", node.lineno)
            return sequences.call(self, owner, function.attr, positional, node.lineno)
        owner = self.as_number(owner, function.value)
        if function.attr == "astype" and len(node.args) == 1 and not node.keywords:
            target = self.expression(node.args[0])
            written = lowering_builtins.find(target.value) if isinstance(target, Static) else None
            if (
                written is not None
                and isinstance(target, Static)
                and issubclass(target.value, np.generic)
            ):
                return self.apply(written, node, owner)
        if node.args or node.keywords:
            raise NotSupportedError(f"the method `{function.attr}`", node.lineno)
        return self.combine(
            lambda one: lowering_builtins.method(self, function.attr, one, node.lineno), owner
        )

    def _extremum(self, node: ast.Call, ufunc: np.ufunc) -> Value:
        """Write Python's ``min`` or ``max``, whose result is one of the arguments."""
        if node.keywords or len(node.args) < 2:
            raise NotSupportedError("`min` and `max` other than of numbers", node.lineno)
        values = [self.number(argument) for argument in node.args]
        name = self._temporary_name(node)
        self.assign(name, values[0], node.lineno)
        for value in values[1:]:
            best = self.read(name, node.lineno)
            test = self.combine(
                lambda x, y: operators.binary(self, ufunc, x, y, node.lineno), value, best
            )

            def replace(value: Value = value) -> None:
                self.assign(name, value, node.lineno)

            self.branch(self.truth(test, node), replace, _nothing)
        return self._refined_extremum(self.read(name, node.lineno), values, ufunc)

    def _refined_extremum(self, best: Value, values: list[Value], ufunc: np.ufunc) -> Value:
        """Narrow the bounds of the greatest or least of several Python ints."""
        kinds = [kind for value in values for kind in value.types]
        if not all(isinstance(kind, Py) and kind.kind is int for kind in kinds):
            return best
        choose = max if ufunc is np.greater else min
        low = choose(kind.low for kind in kinds if isinstance(kind, Py))
        high = choose(kind.high for kind in kinds if isinstance(kind, Py))
        return Value((One(integer(low, high), best.ones[0].code),))

    def _len(self, node: ast.Call) -> Value:
        if len(node.args) != 1 or node.keywords:
            raise NotSupportedError("`len` takes one argument", node.lineno)
        owner = self.expression(node.args[0])
        if isinstance(owner, Items):
            return constant(len(owner.items))
        if not isinstance(owner, Value):
            raise NotSupportedError(f"`len` of `{shortened(node.args[0])}`", node.lineno)
        if sequences.is_sequence(owner):
            return sequences.length(self, owner)
        array = array_access.array(owner, node.args[0])
        kind = array.ones[0].type
        assert isinstance(kind, Array)
        if not kind.ndim:
            raise NotSupportedError("`len` of an array without dimensions", node.lineno)
        return array_access.size(self, array, 0)

    def _divmod(self, node: ast.Call) -> Items:
        if len(node.args) != 2 or node.keywords:
            raise NotSupportedError("`divmod` takes two arguments", node.lineno)
        operands = [self.number(argument) for argument in node.args]
        return Items(tuple(self.apply(part, node, *operands) for part in lowering_builtins.DIVMOD))


def _ord(code: Expressions, node: ast.Call) -> Value:
    if len(node.args) != 1 or node.keywords:
        raise NotSupportedError("`ord` takes one argument", node.lineno)
    given = code.expression(node.args[0])
    if isinstance(given, Static) and isinstance(given.value, str) and len(given.value) == 1:
        return constant(ord(given.value))
    return sequences.number_of(code, given, node)


_SPECIAL: dict[Any, Callable[[Expressions, ast.Call], Result]] = {
    builtins.min: lambda code, node: code._extremum(node, np.less),
    builtins.max: lambda code, node: code._extremum(node, np.greater),
    builtins.len: lambda code, node: code._len(node),
    builtins.ord: _ord,
    builtins.divmod: lambda code, node: code._divmod(node),
    Intrinsic.INDEX: array_access.bound,
    Intrinsic.PLACE: array_access.checked_place,
    Intrinsic.FLOAT: array_access.as_float64,
}


def _nothing() -> None:
    """Do nothing: the other branch of an if statement without one."""


def _negated(condition: str) -> str:
    if condition in ("True", "False"):
        return str(condition == "False")
    return f"(not {condition})"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
