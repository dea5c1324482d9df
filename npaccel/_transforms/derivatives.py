"""Derivatives of functions: `npaccel.grad` and the like."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

from npaccel._runtime.transform_leaves import copied
from npaccel._transforms import traced
from npaccel._transforms.transformed import transformed

Argnums = int | Sequence[int]


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    checkpoint: bool | int = False,
) -> Callable[..., Any]:
    """Return a function that computes the gradient of another.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns one real float, jitted or not. It may write to its
        arrays: they are copies, and the caller's stay as they are.
    argnums : int or sequence of int, default 0
        Positions of the arguments to differentiate with respect to: arrays and floats, also in
        tuples, lists, dicts, namedtuples and dataclasses.
    has_aux : bool, default False
        Whether `fun` returns a pair, of which the second is passed on and not differentiated.
    checkpoint : bool or int, default False
        Whether loops keep the state of one iteration in about ``sqrt(n)``, and compute the others
        again on the way back: memory for ``2 * sqrt(n)`` states instead of n. An integer is the
        number of iterations between two that are kept.

    Returns
    -------
    callable
        Takes what `fun` takes. Returns the gradient in the structure of the argument, for a
        sequence of positions a tuple of them; with `has_aux` a pair ``(gradient, aux)``. It's
        compiled at its first call.

    Raises
    ------
    TypeError
        By the returned function, if an argument to differentiate isn't of real floats, or if
        `fun` doesn't return one real float.
    NotCompiledError
        By the returned function, if part of `fun` can't be compiled, with the line.

    See Also
    --------
    value_and_grad : The value too, at no cost.
    jacobian : Of functions that return arrays.

    Notes
    -----
    As ``jax.grad``. A float of Python's is differentiated as a `numpy.float64`.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> def loss(w, x):
    ...     r = x @ w
    ...     r[r < 0] = 0
    ...     return np.sum(r**2)
    >>> npaccel.grad(loss)(np.array([1.0, -1.0]), np.array([[2.0, 1.0], [1.0, 3.0]]))
    array([4., 2.])
    """
    return transformed(
        "grad",
        fun,
        traced.gradient,
        (_argnums(argnums), has_aux, False, _checked("grad", checkpoint)),
    )


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    checkpoint: bool | int = False,
) -> Callable[..., Any]:
    """Return a function that computes the value and the gradient of another.

    Parameters
    ----------
    fun : callable
    argnums : int or sequence of int, default 0
    has_aux : bool, default False
    checkpoint : bool or int, default False
        As of `grad`.

    Returns
    -------
    callable
        Returns ``(value, gradient)``; with `has_aux` ``((value, aux), gradient)``.

    See Also
    --------
    grad : The gradient alone.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> npaccel.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    settings = (_argnums(argnums), has_aux, True, _checked("value_and_grad", checkpoint))
    return transformed("value_and_grad", fun, traced.gradient, settings)


def jacobian(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    mode: Literal["forward", "reverse"] | None = None,
    checkpoint: bool | int = False,
) -> Callable[..., Any]:
    """Return a function that computes all derivatives of another's results.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns arrays of real floats, also in containers.
    argnums : int or sequence of int, default 0
    has_aux : bool, default False
        As of `grad`.
    mode : {"forward", "reverse"}, optional
        Whether derivatives are computed from the arguments on, or from the results back. None:
        forward where the results have as many elements as the arguments or more.
    checkpoint : bool or int, default False
        As of `grad`, where they are computed back.

    Returns
    -------
    callable
        Returns arrays of the shape of a result, and of an argument behind it, in containers of
        the structure of the result, and within those of the argument.

    See Also
    --------
    hessian : Second derivatives.

    Notes
    -----
    As ``jax.jacfwd`` and ``jax.jacrev``.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> npaccel.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    if mode not in ("forward", "reverse", None):
        raise ValueError(f'jacobian: mode is {mode!r}; pass "forward", "reverse" or None')
    settings = (_argnums(argnums), has_aux, mode, _checked("jacobian", checkpoint))
    return transformed("jacobian", fun, traced.jacobian, settings)


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of another.

    Parameters
    ----------
    fun : callable
    argnums : int or sequence of int, default 0
    has_aux : bool, default False
        As of `grad`; `fun` may return arrays, as for `jacobian`.

    Returns
    -------
    callable
        Returns arrays of the shape of a result, and twice that of an argument behind it.

    See Also
    --------
    hvp : The product with a vector, without the matrix.

    Notes
    -----
    As ``jax.hessian``: forward over reverse.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> npaccel.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    return transformed("hessian", fun, traced.hessian, (_argnums(argnums), has_aux))


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute a function's result and its derivative in one direction, forward.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns arrays of real floats, also in containers.
    primals : sequence
        Its arguments.
    tangents : sequence
        The direction: of the same structure, with real floats of the same shapes.
    has_aux : bool, default False
        Whether `fun` returns a pair, of which the second is passed on and not differentiated.

    Returns
    -------
    value : object
        What `fun` returns.
    tangent : object
        Its derivative, of the same structure.
    aux : object
        With `has_aux`.

    Notes
    -----
    As ``jax.jvp``. It's compiled at the first call with `fun`.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    >>> npaccel.jvp(lambda x: x**3, (x,), (v,))
    (array([1., 8.]), array([3., 0.]))
    """
    call = transformed("jvp", fun, traced.push_forward, (has_aux,), ("primals", "tangents"))
    return call(tuple(primals), tuple(tangents))  # type: ignore[no-any-return]


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, checkpoint: bool | int = False
) -> tuple[Any, ...]:
    """Compute a function's result, and return a function that takes derivatives back through it.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns arrays of real floats, also in containers.
    *primals : object
        Its arguments.
    has_aux : bool, default False
        Whether `fun` returns a pair, of which the second is passed on and not differentiated.
    checkpoint : bool or int, default False
        As of `grad`.

    Returns
    -------
    value : object
        What `fun` returns.
    pull_back : callable
        Takes the cotangent, of the structure of the value, and returns a tuple with one for each
        of the primals. It computes `fun` again, of copies of the primals.
    aux : object
        With `has_aux`.

    Notes
    -----
    As ``jax.vjp``. Both are compiled at the first call with `fun`.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> value, pull_back = npaccel.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> pull_back(np.array([1.0, 1.0]))
    (array([3., 3.]), np.float64(3.0))
    """
    found = transformed("vjp", fun, traced.value, (has_aux,), ("primals",))(primals)
    settings = (has_aux, _checked("vjp", checkpoint))
    back = transformed("vjp", fun, traced.pull_back, settings, ("primals", "cotangent"))
    own = copied(primals)

    def pull_back(cotangent: Any) -> Any:
        return back(own, cotangent)

    return (found[0], pull_back, found[1]) if has_aux else (found, pull_back)


def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Compute the product of a function's second derivatives with a vector.

    Parameters
    ----------
    fun : callable
        A function of arrays that returns one real float.
    primals : sequence
        Its arguments.
    tangents : sequence
        The vector: of the same structure, with real floats of the same shapes.

    Returns
    -------
    object
        The product, in the structure of the argument; for several arguments a tuple.

    Notes
    -----
    Forward over reverse, at a few times the cost of `fun`.

    Examples
    --------
    >>> import numpy as np, npaccel
    >>> x, v = np.array([1.0, 3.0]), np.array([1.0, 0.0])
    >>> npaccel.hvp(lambda x: x[0] ** 2 * x[1], (x,), (v,))
    array([6., 2.])
    """
    call = transformed("hvp", fun, traced.hessian_product, (), ("primals", "tangents"))
    return call(tuple(primals), tuple(tangents))


def _argnums(argnums: Argnums) -> Any:
    return argnums if isinstance(argnums, int) else tuple(argnums)


def _checked(name: str, checkpoint: Any) -> bool | int:
    if checkpoint is True or checkpoint is False:
        return checkpoint
    try:
        size = operator.index(checkpoint)
    except TypeError:
        size = 0
    if size < 1:
        raise ValueError(
            f"{name}: checkpoint is {checkpoint!r}; pass True, False, or a positive number of "
            "iterations"
        )
    return size
