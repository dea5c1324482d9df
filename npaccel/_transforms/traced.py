"""Code of transformed functions, as it's traced.

Each function here calls the user's function between two marks. It's captured as part of a program;
`npaccel._torch.transforms` makes one node of what lies between the marks.

All take the user's function, the transform's settings, of which the first is its name, and the
arguments of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npaccel._runtime.transform_leaves import build, flatten, is_array, is_real_float, spread, text
from npaccel._runtime.transform_marks import enter, leave

Function = Callable[..., Any]
Settings = tuple[Any, ...]


def gradient(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace `npaccel.grad` and `npaccel.value_and_grad`."""
    name, argnums, has_aux, has_value, checkpoint = settings
    leaves, structure = _differentiated(name, argnums, args)
    entered, result = _called(function, "grad", argnums, leaves, args, kwargs)
    value, aux = _with_aux(name, result, has_aux)
    value = _scalar(name, value)
    aux_leaves, aux_structure, arrays = _arrays(aux)
    found = leave("grad", (len(leaves), 1, checkpoint), entered, (value, *arrays), ())
    gradients = build(structure, list(found[1 + len(arrays) :]))
    aux = build(aux_structure, _merged(aux_leaves, found[1:]))
    if not has_value:
        return (gradients, aux) if has_aux else gradients
    return ((found[0], aux) if has_aux else found[0]), gradients


def jacobian(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace `npaccel.jacobian`."""
    name, argnums, has_aux, mode, checkpoint = settings
    leaves, structure = _differentiated(name, argnums, args)
    entered, result = _called(function, "jacobian", argnums, leaves, args, kwargs)
    value, aux = _with_aux(name, result, has_aux)
    outputs, out_structure = _outputs(name, value)
    aux_leaves, aux_structure, arrays = _arrays(aux)
    if mode is None:
        wide = sum([np.size(leaf) for leaf in leaves]) > sum([np.size(out) for out in outputs])
        mode = "reverse" if wide else "forward"
    kind = "jacrev" if mode == "reverse" else "jacfwd"
    sizes = (len(leaves), len(outputs), checkpoint)
    found = leave(kind, sizes, entered, (*outputs, *arrays), ())
    parts = list(found[len(outputs) + len(arrays) :])
    rows = [build(structure, parts) for _ in outputs]  # Each takes its parts off.
    jacobians = build(out_structure, rows)
    aux = build(aux_structure, _merged(aux_leaves, found[len(outputs) :]))
    return (jacobians, aux) if has_aux else jacobians


def hessian(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace `npaccel.hessian`."""

    def inner(*args: Any, **kwargs: Any) -> Any:
        return jacobian(function, (*settings, "reverse", False), args, kwargs)

    return jacobian(inner, (*settings, "forward", False), args, kwargs)


def hessian_product(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace `npaccel.hvp`, whose arguments are the primals, and the tangents."""
    (name,) = settings
    argnums = tuple(range(len(args[0])))

    def inner(*primals: Any) -> Any:
        return gradient(function, (name, argnums, False, False, False), primals, {})

    product = push_forward(inner, (name, False), args, kwargs)[1]
    return product if len(product) > 1 else product[0]


def value(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace the value that `npaccel.vjp` returns, whose one argument are the primals."""
    name, has_aux = settings
    (primals,) = args
    argnums = tuple(range(len(primals)))
    leaves, _ = _differentiated(name, argnums, primals)
    entered, result = _called(function, "vjp", argnums, leaves, primals, kwargs)
    value, aux = _with_aux(name, result, has_aux)
    outputs, structure = _outputs(name, value)
    aux_leaves, aux_structure, arrays = _arrays(aux)
    found = leave("value", (len(leaves), len(outputs)), entered, (*outputs, *arrays), ())
    result = build(structure, list(found[: len(outputs)]))
    aux = build(aux_structure, _merged(aux_leaves, found[len(outputs) :]))
    return (result, aux) if has_aux else result


def push_forward(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace `npaccel.jvp`, whose arguments are the primals, and the tangents."""
    name, has_aux = settings
    primals, tangents = args
    argnums = tuple(range(len(primals)))
    leaves, structure = _differentiated(name, argnums, primals)
    given = _alike(name, "tangents", tangents, "primals", structure, leaves)
    entered, result = _called(function, "jvp", argnums, leaves, primals, kwargs)
    value, aux = _with_aux(name, result, has_aux)
    outputs, out_structure = _outputs(name, value)
    aux_leaves, aux_structure, arrays = _arrays(aux)
    found = leave("jvp", (len(leaves), len(outputs)), entered, (*outputs, *arrays), given)
    value = build(out_structure, list(found[: len(outputs)]))
    tangent = build(out_structure, list(found[len(outputs) + len(arrays) :]))
    aux = build(aux_structure, _merged(aux_leaves, found[len(outputs) :]))
    return (value, tangent, aux) if has_aux else (value, tangent)


def pull_back(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace what `npaccel.vjp` returns: the arguments are the primals, and the cotangents."""
    name, has_aux, checkpoint = settings
    primals, cotangents = args
    argnums = tuple(range(len(primals)))
    leaves, structure = _differentiated(name, argnums, primals)
    entered, result = _called(function, "vjp", argnums, leaves, primals, kwargs)
    value, _ = _with_aux(name, result, has_aux)
    outputs, out_structure = _outputs(name, value)
    given = _alike(name, "cotangents", cotangents, "the result", out_structure, outputs)
    sizes = (len(leaves), len(outputs), checkpoint)
    found = leave("vjp", sizes, entered, tuple(outputs), given)
    return build(structure, list(found[len(outputs) :]))


def batched(function: Function, settings: Settings, args: Any, kwargs: Any) -> Any:
    """Trace `npaccel.vmap`."""
    name, in_axes, out_axes, axis_size = settings
    leaves: list[Any] = []
    structure = flatten((args, kwargs), leaves)
    axes = spread(in_axes, structure[-1][0], f"{name}: in_axes")
    axes += spread(0, structure[-1][1], "")  # Keyword arguments, as in JAX.
    size = _batch_size(name, leaves, axes, axis_size)
    places = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
    entered = enter("vmap", tuple([axes[i] for i in places]), tuple([leaves[i] for i in places]))
    inner = list(leaves)
    for i, array in zip(places, entered, strict=True):
        inner[i] = array
    inner_args, inner_kwargs = build(structure, inner)
    outputs, out_structure = _outputs(name, function(*inner_args, **inner_kwargs), False)
    out = spread(out_axes, out_structure, f"{name}: out_axes")
    if None in out:
        raise ValueError(f"{name}: out_axes has None; pass the axis of the batch in each result")
    found = leave("vmap", tuple(out), entered, tuple(outputs), (size,))
    return build(out_structure, list(found))


# -- Arguments ----------------------------------------------------------------


def _differentiated(name: str, argnums: Any, args: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the leaves with respect to which there are derivatives, and their structure."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ValueError(
                f"{name}: argnums is {argnums}, but the call has {len(args)} positional "
                "arguments; pass what is differentiated by position"
            )
    leaves: list[Any] = []
    trees = tuple([args[number] for number in numbers])
    structure = flatten(trees if isinstance(argnums, tuple) else trees[0], leaves)
    for leaf in leaves:
        if not is_real_float(leaf):
            raise TypeError(
                f"{name}: an argument to differentiate is {text(leaf)}; pass real floats, "
                "x.astype(float), or leave it out of argnums"
            )
    if not leaves:
        raise TypeError(f"{name}: there is no array among the arguments to differentiate")
    return leaves, structure


def _called(
    function: Function, kind: str, argnums: Any, leaves: list[Any], args: Any, kwargs: Any
) -> tuple[tuple[Any, ...], Any]:
    """Begin a region and call the function in it; all arrays it gets are the region's own."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    numbers = tuple([number % len(args) for number in numbers])
    others: list[Any] = []
    rest = [None if i in numbers else arg for i, arg in enumerate(args)]
    structure = flatten((rest, kwargs), others)
    arrays = [leaf for leaf in others if is_array(leaf)]
    entered = enter(kind, (len(leaves),), (*leaves, *arrays))
    inner_args, inner_kwargs = build(structure, _merged(others, entered[len(leaves) :]))
    inner = list(entered[: len(leaves)])
    for number in numbers:
        inner_args[number] = build(flatten(args[number], []), inner)
    return entered, function(*inner_args, **inner_kwargs)


def _alike(
    name: str, what: str, tree: Any, like: str, structure: Any, leaves: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the leaves of tangents or cotangents, which have the form of what they're for."""
    given: list[Any] = []
    if flatten(tree, given) != structure:
        raise TypeError(f"{name}: {what} have another structure than {like}; pass one of each")
    for one, leaf in zip(given, leaves, strict=True):
        if not is_real_float(one) or np.shape(one) != np.shape(leaf):
            raise TypeError(
                f"{name}: {what} have a leaf that is {text(one)} where {like} has one that is "
                f"{text(leaf)}; pass real floats of the same shape"
            )
    return tuple(given)


def _batch_size(name: str, leaves: Sequence[Any], axes: Sequence[Any], axis_size: Any) -> Any:
    """Return the number of elements of a batch."""
    size = axis_size
    for leaf, axis in zip(leaves, axes, strict=True):
        if axis is None:
            continue
        if not is_array(leaf) or not -leaf.ndim <= axis < leaf.ndim:
            raise ValueError(
                f"{name}: in_axes has {axis} for an argument that is {text(leaf)}, which has no "
                "such axis; pass None for what all elements of the batch share"
            )
        if size is not None and leaf.shape[axis] != size:
            raise ValueError(
                f"{name}: axes of {size} and of {leaf.shape[axis]} elements can't be one batch; "
                "pass arrays that are as long as each other along in_axes"
            )
        size = leaf.shape[axis]
    if size is None:
        raise ValueError(f"{name}: in_axes names no axis; pass axis_size, or an axis in in_axes")
    return size


# -- Results ------------------------------------------------------------------


def _with_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return what a function computes, and what is passed on."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{name}: with has_aux=True the function has to return a pair (value, aux)")
    return result


def _scalar(name: str, value: Any) -> Any:
    """Return the value of a function that has a gradient, an array without dimensions."""
    if isinstance(value, float):
        return np.float64(value)
    if not is_array(value) or np.shape(value) != ():
        what = text(value)
        raise TypeError(
            f"{name}: the function has to return one number, but returned what is {what}; sum it "
            "up, or take npaccel.jacobian"
        )
    if not is_real_float(value):
        raise TypeError(
            f"{name}: the function has to return a real float, but returned what is {text(value)}"
        )
    return value


def _outputs(name: str, value: Any, derives: bool = True) -> tuple[list[Any], Any]:
    """Return the leaves of a result, arrays, and its structure."""
    leaves: list[Any] = []
    structure = flatten(value, leaves)
    outputs = [np.float64(leaf) if isinstance(leaf, float) else leaf for leaf in leaves]
    for leaf in outputs:
        if derives and not is_real_float(leaf):
            raise TypeError(
                f"{name}: the function returned what is {text(leaf)}; return real floats, and the "
                "rest with has_aux=True"
            )
        if not is_array(leaf):
            raise TypeError(f"{name}: the function returned what is {text(leaf)}; return arrays")
    if not outputs:
        raise TypeError(f"{name}: the function returned no array")
    return outputs, structure


def _arrays(aux: Any) -> tuple[list[Any], Any, list[Any]]:
    leaves: list[Any] = []
    structure = flatten(aux, leaves)
    return leaves, structure, [leaf for leaf in leaves if is_array(leaf)]


def _merged(leaves: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Return leaves with others in the places of the arrays."""
    left = list(arrays)
    return [left.pop(0) if is_array(leaf) else leaf for leaf in leaves]
