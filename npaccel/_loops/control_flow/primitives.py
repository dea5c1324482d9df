"""Loops and branches as functions: `fori_loop`, `while_loop`, `scan`, `cond`.

What they compute is written here, in Python and NumPy. Inside a compiled
function they are the same functions, called with compiled bodies: Python
counts, and a body is compiled once, see `_loops._bodies`.
"""

from __future__ import annotations

import copy
import operator
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from npaccel._loops.control_flow.carry import Carry, Node, described, leaves, mapped, spec_of
from npaccel._runtime.arguments import is_array
from npaccel._syntax import loop_detection

if TYPE_CHECKING:
    from npaccel._loops.control_flow.checkpoints import LoopCheckpoints

T = TypeVar("T")

_FLOATS = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[int, T], T],
    init_val: T,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
) -> T:
    """Call a function for every integer of a range, each time on what it returned last.

    Means ``for i in range(lower, upper): val = body_fun(i, val)``, with `val`
    starting as `init_val`. Inside of a function under `npaccel.jit`,
    `body_fun` is compiled once, for any number of iterations.

    Parameters
    ----------
    lower, upper : int
        The range, without `upper`. Python's ints, NumPy's, or integer arrays
        without dimensions.
    body_fun : callable
        Called as ``body_fun(i, val)``, with `i` an int of Python's; returns
        the new `val`. Of several values there is a tuple, list, dict or
        namedtuple, nested as you like.
    init_val : object
        The first `val`: arrays, tensors and numbers in such structures.
    checkpoint : path-like, optional
        Folder in which what is carried is saved. A program that begins again goes on from there,
        see Notes.
    every : int, default 1
        After how many iterations there is a checkpoint. There is one after the last, too.

    Returns
    -------
    object
        The last `val`; `init_val` itself if the range is empty.

    Raises
    ------
    TypeError
        If `body_fun` returns another structure, shape or dtype than it was
        given, naming the leaf; if a bound isn't an integer. A number of
        Python's may become a NumPy scalar of its kind (0.0 a ``float32``).
    ValueError
        If `every` is less than 1.

    See Also
    --------
    while_loop : As long as a condition holds.
    scan : Over the items of arrays, and with a result for every iteration.

    Notes
    -----
    As ``jax.lax.fori_loop``, but `body_fun` may write into `val` in place,
    which then writes into the arrays of `init_val`, as in Python. For `checkpoint` see `scan`.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager")
    ... def power(a, n):
    ...     v = np.ones(len(a))
    ...     def body(i, v):
    ...         v = a @ v
    ...         return v / np.sqrt(v @ v)
    ...     return npaccel.fori_loop(0, n, body, v)
    >>> power(np.array([[1.0, 2.0], [2.0, 1.0]]), 50)
    array([0.70710678, 0.70710678])
    """
    _check_callable("fori_loop", "body_fun", body_fun)
    indices = range(_index("lower", lower), _index("upper", upper))
    carry = Carry("fori_loop", "body_fun", body_fun, "init_val", init_val)
    value, body, first = init_val, _prepared(body_fun, carry), 0
    kept = None
    if checkpoint is not None:
        others = {"bounds": (indices.start, indices.stop)}
        kept = _checkpoints("fori_loop", body_fun, init_val, others, checkpoint, every)
        found = kept.load()
        if found is not None:
            value, first = carry.checked(found.value), found.count
    for i in indices[first:]:
        value = carry.checked(body(i, value))
        if kept is not None:
            done = i - indices.start + 1
            if kept.is_due(done, len(indices)):
                kept.save(done, value, ())
    return value


def while_loop(cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T) -> T:
    """Call a function on what it returned last, as long as a condition holds.

    Means ``while cond_fun(val): val = body_fun(val)``, with `val` starting as
    `init_val`. Inside of a function under `npaccel.jit`, both functions are
    compiled once, for any number of iterations.

    Parameters
    ----------
    cond_fun : callable
        Called as ``cond_fun(val)``; returns a truth value: a bool, or a bool
        array without dimensions.
    body_fun : callable
        Called as ``body_fun(val)``; returns the new `val`.
    init_val : object
        The first `val`: arrays, tensors and numbers, also in tuples, lists,
        dicts and namedtuples.

    Returns
    -------
    object
        The first `val` for which `cond_fun` returns false.

    Raises
    ------
    TypeError
        If `body_fun` returns another structure, shape or dtype than it was
        given, naming the leaf; if `cond_fun` returns anything but one truth
        value.

    See Also
    --------
    fori_loop : A known number of iterations.

    Notes
    -----
    As ``jax.lax.while_loop``, but `body_fun` may write in place, see
    `fori_loop`. One truth value is read by the host per iteration.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager")
    ... def root(a):
    ...     def goes_on(x):
    ...         return abs(x * x - a) > 1e-12
    ...     return npaccel.while_loop(goes_on, lambda x: (x + a / x) / 2, a)
    >>> float(root(np.float64(2.0))).hex()[:12]
    '0x1.6a09e667'
    """
    _check_callable("while_loop", "cond_fun", cond_fun)
    _check_callable("while_loop", "body_fun", body_fun)
    carry = Carry("while_loop", "body_fun", body_fun, "init_val", init_val)
    value = init_val
    goes_on, body = _prepared(cond_fun, carry), _prepared(body_fun, carry)
    while _truth(goes_on(value), cond_fun):
        value = carry.checked(body(value))
    return value


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int = 1,
) -> tuple[Any, Any]:
    """Go over the items of arrays with a carry, and stack a result of every iteration.

    Means, for arrays that aren't in structures::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys)

    Inside of a function under `npaccel.jit`, `f` is compiled once, for any
    number of iterations.

    Parameters
    ----------
    f : callable
        Called as ``f(carry, x)``; returns the pair ``(carry, y)``.
    init : object
        The first carry: arrays, tensors and numbers, also in tuples, lists,
        dicts and namedtuples.
    xs : object, optional
        Arrays or tensors that are as long as each other, shape (n, ...), in
        such structures too. None: `x` is None.
    length : int, optional
        The number of iterations; needed where `xs` has no arrays.
    reverse : bool, default False
        Go from the last item to the first. The results of the iterations are in
        the order of the items all the same.
    checkpoint : path-like, optional
        Folder in which what is carried, and recorded, is saved. A program that begins again goes
        on from there, see Notes.
    every : int, default 1
        After how many iterations there is a checkpoint. There is one after the last, too.

    Returns
    -------
    carry : object
        The last one.
    ys : object
        What `f` returned as `y`, with arrays of shape (n, ...) for its
        leaves.

    Raises
    ------
    TypeError
        If `f` doesn't return a pair, or if the carry or `y` change in
        structure, shape or dtype, naming the leaf.
    ValueError
        If the arrays of `xs` aren't as long as each other and as `length`
        says, or if nothing says how long; if `every` is less than 1.
    npaccel.errors.RankMismatchError
        With `checkpoint`: if ranks have other functions or values.

    See Also
    --------
    fori_loop : Without results of the iterations.

    Notes
    -----
    As ``jax.lax.scan``. Each `y` is copied before the next iteration, so that `f`
    may write into its arrays in place. Without items, `f` is called once, on
    copies and on zeros, to find out what `y` looks like; what it computes is
    thrown away.

    Checkpoints are written by `torch.distributed.checkpoint`, and taken where the loop is the same:
    the code of `f` and of functions of yours that it calls, the numbers and arrays that they read,
    `init`, `xs`, `length` and `reverse`. Where they read another value a warning names it, and the
    loop begins anew. What else `f` changes isn't saved: carry a generator of random numbers, for
    one. In a program of several ranks all of them call the function, and see the folder; DTensors
    are saved in parts, and what isn't a DTensor is to be the same on all ranks. Another number of
    ranks may go on. Nothing removes the folder. What is read there is unpickled: let nobody else
    write to it.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager")
    ... def smooth(a):
    ...     def f(mean, x):
    ...         mean = 0.5 * mean + 0.5 * x
    ...         return mean, mean
    ...     return npaccel.scan(f, a[0], a)
    >>> smooth(np.array([4.0, 0.0, 2.0]))
    (np.float64(2.0), array([4., 2., 2.]))
    """
    return scanned(f, init, xs, length, reverse, checkpoint=checkpoint, every=every, wide=True)


def scanned(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    *,
    checkpoint: Any,
    every: Any,
    wide: bool,
) -> tuple[Any, Any]:
    """Do what `scan` does; `wide` says whether floats of Python's make float64 arrays."""
    _check_callable("scan", "f", f)
    items = spec_of(xs)
    arrays = [array for _, array in _arrays(items, xs)]
    count = _length(items, xs, length)
    carry = Carry("scan", "f", f, "init", init)
    results = Results(count, f, wide)
    value, body, first, last = init, _prepared(f, carry), 0, 0
    indices = range(count)[::-1] if reverse else range(count)
    kept = None
    if checkpoint is not None:
        others = {"xs": xs, "length": count, "reverse": bool(reverse)}
        kept = _checkpoints("scan", f, init, others, checkpoint, every)
        found = kept.load()
        if found is not None:
            value, first = carry.checked(found.value), found.count
            last = first
            for i, y in zip(indices, found.results, strict=False):
                results.put(i, y)
    for done, i in enumerate(indices[first:], first + 1):
        x = mapped(items, iter([array if array is None else array[i] for array in arrays]))
        new, y = _pair(body(value, x), f)
        value = carry.checked(new)
        results.put(i, y)
        if kept is not None and kept.is_due(done, count):
            kept.save(done, value, [results.at(k) for k in indices[last:done]])
            last = done
    if not count:
        results.like(_tried(f, init, items, arrays))
    return value, results.stacked()


def cond(pred: Any, true_fun: Callable[..., T], false_fun: Callable[..., T], *operands: Any) -> T:
    """Call one of two functions.

    Means ``true_fun(*operands) if pred else false_fun(*operands)``. Inside of
    a function under `npaccel.jit`, both functions are compiled when they are
    first called, and the code around the call is compiled too, also where
    `pred` is computed from arrays: one truth value is read by the host.

    Parameters
    ----------
    pred : bool
        Or a number, or an array or tensor without dimensions.
    true_fun, false_fun : callable
    *operands : object
        What they are called with.

    Returns
    -------
    object
        What the function returned that was called.

    Raises
    ------
    TypeError
        If `pred` isn't one truth value or number.

    Notes
    -----
    As ``jax.lax.cond``, but the other function isn't looked at: it may return
    another structure, shape or dtype.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> @npaccel.jit(backend="eager")
    ... def clipped(x, limit):
    ...     norm = np.sqrt(x @ x)
    ...     return npaccel.cond(norm > limit, lambda x: x * limit / norm, lambda x: x, x)
    >>> clipped(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    _check_callable("cond", "true_fun", true_fun)
    _check_callable("cond", "false_fun", false_fun)
    is_number = type(pred) in (bool, int, float, complex)
    if not is_number and not (is_array(pred) and pred.ndim == 0 and _is_numeric(pred.dtype)):
        raise TypeError(
            f"cond: pred is {_text(pred)}, not one truth value; reduce it with .any() or .all(), "
            "or choose element by element with np.where"
        )
    return true_fun(*operands) if pred else false_fun(*operands)


#: The parameters of each primitive that are functions.
FUNCTIONS: dict[Any, tuple[str, ...]] = {
    fori_loop: ("body_fun",),
    while_loop: ("cond_fun", "body_fun"),
    scan: ("f",),
    cond: ("true_fun", "false_fun"),
}
loop_detection.CONTROL_FLOW.update(FUNCTIONS)


class Results:
    """Results of the iterations of a scan, each leaf in an array.

    Parameters
    ----------
    count : int
        The number of iterations.
    function : callable
        For messages.
    wide : bool
        Whether floats of Python's make float64 arrays.
    """

    def __init__(self, count: int, function: Any, wide: bool) -> None:
        self.count = count
        self.function = function
        self.wide = wide
        self.carry: Carry | None = None
        self.columns: list[Any] = []

    def put(self, i: int, y: Any) -> None:
        """Copy the result of iteration i."""
        if self.carry is None:
            self.like(y)
        assert self.carry is not None
        y = self.carry.checked(y)
        for column, (_, leaf) in enumerate(leaves(self.carry.spec, y)):
            self._store(column, i, leaf)

    def like(self, y: Any) -> None:
        """Prepare for results like this one."""
        self.carry = Carry("scan", "f", self.function, "y", y, "y")
        self.carry.widens = not self.wide
        self.columns = [self._column(path, leaf) for path, leaf in leaves(self.carry.spec, y)]

    def _column(self, path: str, leaf: Any) -> Any:
        if leaf is None:
            return None
        if isinstance(leaf, torch.Tensor):
            return [leaf.new_empty((0, *leaf.shape))] * (self.count or 1)
        # Zeros, because a column may be cast before its last place is written.
        if isinstance(leaf, np.ndarray | np.generic):
            return np.zeros((self.count, *leaf.shape), leaf.dtype)
        if isinstance(leaf, bool | int | float | complex):
            dtype = np.asarray(leaf).dtype
            return np.zeros(self.count, dtype if self.wide else _FLOATS.get(dtype, dtype))
        raise TypeError(
            f"scan: f {described(self.function)} returned {_text(leaf)} as y{path}, which can't "
            "be stacked; return arrays and numbers"
        )

    def _store(self, column: int, i: int, leaf: Any) -> None:
        stored = self.columns[column]
        if isinstance(leaf, torch.Tensor):
            if not isinstance(stored, list):  # Iterations before gave numbers.
                done = torch.from_numpy(stored).to(leaf.device, leaf.dtype)
                stored = self.columns[column] = list(done.unbind())
            stored[i] = leaf.clone()
        elif leaf is not None:
            is_wider = isinstance(leaf, np.generic | np.ndarray) and leaf.dtype != stored.dtype
            if is_wider:
                stored = self.columns[column] = stored.astype(leaf.dtype)
            stored[i] = leaf

    def at(self, i: int) -> Any:
        """Return the result of iteration i."""
        assert self.carry is not None
        row = [None if column is None else column[i] for column in self.columns]
        return mapped(self.carry.spec, iter(row))

    def stacked(self) -> Any:
        """Return the structure of the results with an array for every leaf."""
        assert self.carry is not None
        return mapped(self.carry.spec, map(self._whole, self.columns))

    def _whole(self, column: Any) -> Any:
        if not isinstance(column, list):
            return column
        return torch.stack(column) if self.count else column[0]


def _prepared(function: Any, carry: Carry) -> Any:
    """Return what calls a function; a compiled one knows what its carry looks like."""
    prepared = getattr(function, "npaccel_prepared", None)
    return function if prepared is None else prepared(carry)


def _checkpoints(*args: Any) -> LoopCheckpoints:
    from npaccel._loops.control_flow import checkpoints  # It imports torch's checkpoints.

    return checkpoints.LoopCheckpoints(*args)


def _check_callable(primitive: str, parameter: str, value: Any) -> None:
    if not callable(value):
        raise TypeError(
            f"{primitive}: {parameter} is {_text(value)}, not a function; the order of the "
            f"arguments is that of jax.lax.{primitive}"
        )


def _index(parameter: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"fori_loop: {parameter} is {_text(value)}, not an integer; pass int({parameter})"
        ) from None


def _truth(value: Any, cond_fun: Any) -> bool:
    if type(value) is bool:
        return value
    is_bool = is_array(value) and value.ndim == 0 and value.dtype in (np.bool_, torch.bool)
    if not is_bool:
        raise TypeError(
            f"while_loop: cond_fun {described(cond_fun)} returned {_text(value)}, not one truth "
            "value; compare in it, and reduce arrays with .any() or .all()"
        )
    return bool(value)


def _is_numeric(dtype: Any) -> bool:
    return isinstance(dtype, torch.dtype) or dtype.kind in "biufc"


def _text(value: Any) -> str:
    return spec_of(value).text if is_array(value) else f"of type {type(value).__qualname__}"


def _pair(result: Any, f: Any) -> tuple[Any, Any]:
    if type(result) is tuple and len(result) == 2:
        return result
    raise TypeError(
        f"scan: f {described(f)} returned {spec_of(result).text}, not a pair; return (carry, y), "
        "with y None if there is nothing to record"
    )


def _arrays(items: Any, xs: Any) -> Sequence[tuple[str, Any]]:
    found = list(leaves(items, xs))
    for path, leaf in found:
        if leaf is not None and not (is_array(leaf) and leaf.ndim):
            advice = "pass np.array(xs)" if isinstance(items, Node) else "pass length=n instead"
            error = ValueError if is_array(leaf) else TypeError
            raise error(f"scan: xs{path} is {_text(leaf)}, which has no items; {advice}")
    return found


def _length(items: Any, xs: Any, length: Any) -> int:
    lengths = {path: len(leaf) for path, leaf in leaves(items, xs) if leaf is not None}
    if length is not None:
        lengths["length"] = operator.index(length)
    if not lengths:
        raise ValueError("scan: xs has no arrays; pass length=n, the number of iterations")
    (first, count), *others = lengths.items()
    for name, other in others:
        if other != count:
            what = f"length is {other}" if name == "length" else f"xs{name} has {other} items"
            raise ValueError(
                f"scan: xs{first} has {count} items, but {what}; pass arrays of one length"
            )
    if count < 0:
        raise ValueError(
            f"scan: length is {count}; pass a number of iterations that isn't negative"
        )
    return count


def _tried(f: Any, init: Any, items: Any, arrays: Sequence[Any]) -> Any:
    """Return a `y` of an iteration that there isn't, without consequences."""
    zeros = [None if array is None else _zero(array) for array in arrays]
    state = np.random.get_state()  # noqa: NPY002 (what f may draw from)
    try:
        with np.errstate(all="ignore"):
            return _pair(f(_copied(init), mapped(items, iter(zeros))), f)[1]
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _copied(value: Any) -> Any:
    spec = spec_of(value)
    return mapped(spec, iter([_copied_leaf(leaf) for _, leaf in leaves(spec, value)]))


def _copied_leaf(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else copy.deepcopy(leaf)


def _zero(array: Any) -> Any:
    if isinstance(array, torch.Tensor):
        return array.new_zeros(array.shape[1:])
    return np.zeros(array.shape[1:], array.dtype)[()]
