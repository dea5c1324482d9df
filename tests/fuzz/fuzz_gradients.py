"""Compare the gradient of a random program with differences along a random direction."""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz_checking import Failure, Verdict
from fuzz_programs import PARAMETERS, Program, quiet

import npaccel
from npaccel.errors import NotCompiledError

#: Relative to the largest of the derivatives that are compared.
TOLERANCE = 2e-5
#: Results that are larger hide what others do to the sum.
LARGE = 1e6
#: What has another derivative by convention than differences see: bits, and what rounds.
BY_CONVENTION = ("nextafter", "spacing", "float16", "float32", "complex64")
#: Steps of the differences: where they disagree, the program has a kink there, or rounds.
STEPS = (1e-5, 3e-6, 1e-6)

WRAPPER = """
def total({names}):
    found = program({names})
    return {total}
"""


def check_gradient(program: Program, backend: str) -> Verdict:
    """Differentiate the weighted sum of what a program returns, by its 64-bit arrays.

    Parameters
    ----------
    program : Program
        Its narrower inputs are taken for 64-bit ones.
    backend : str
    """
    verdict = Verdict(None)
    if any(name in text for text in program.statements for name in BY_CONVENTION):
        verdict.unraised = True
        return verdict
    for one in _with_floats(program):
        made = _arguments(one, program.seed)
        chosen = [i for i, x in enumerate(made) if getattr(x, "dtype", None) == np.float64]
        try:
            with quiet():
                weights = _weights(one.load()["program"](*_copied(made)), program.seed)
        except Exception:  # noqa: BLE001 (a program that raises has no gradient)
            verdict.raised = True
            continue
        if chosen and any(w is not None for w in weights):
            program, verdict.raised = one, False
            break
    else:
        verdict.unraised = not verdict.raised
        return verdict
    function = _total(program, weights)
    directions = [
        np.random.default_rng(program.seed + i).normal(size=made[i].shape) for i in chosen
    ]
    differences = _differences(function, made, chosen, directions)
    if differences is None:
        verdict.unstable = True
        return verdict
    gradient = npaccel.grad(function, argnums=tuple(chosen))
    try:
        with npaccel.options(backend=backend, cache=False), warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")
            found = gradient(*_copied(made))
    except NotCompiledError as error:
        verdict.breaks = [str(error).split(": ", 2)[-1]]
        if "the compiler failed" in str(error):
            verdict.failure = Failure("compiler", str(error))
        return verdict
    except (IndexError, ValueError, ZeroDivisionError) as error:
        verdict.failure = Failure("exception", repr(error))
        return verdict
    products = [float(np.sum(g * d)) for g, d in zip(found, directions, strict=True)]
    got, wanted = sum(products), differences
    scale = max(1e-3, abs(wanted), *map(abs, products))
    verdict.is_compared = not np.isnan(got)
    if np.isnan(got):  # 0 times an infinite derivative, which JAX gives, too.
        verdict.unstable = True
    elif abs(got - wanted) > TOLERANCE * scale:
        verdict.failure = Failure("gradient", f"{got!r} instead of {wanted!r} along a direction")
    return verdict


def _with_floats(program: Program) -> Iterator[Program]:
    """Yield the program with 64-bit floats for all of its arrays, for some, and for one."""
    finite = tuple(text.replace("True)", "False)") for text in program.inputs)
    number = re.compile(r"'(float|int|uint)\d+'")
    floats = tuple(number.sub("'float64'", text) for text in finite)
    # Nothing narrow is left, whose elements would round what is written into them.
    some = tuple(re.sub(r"'float(16|32)'", "'float64'", text) for text in finite)
    some = tuple(text.replace("'complex64'", "'complex128'") for text in some)
    yield program.with_(inputs=floats)
    yield program.with_(inputs=some)
    for i in range(3):
        yield program.with_(inputs=(*some[:i], floats[i], *some[i + 1 :]))


def _arguments(program: Program, seed: int) -> list[Any]:
    """Return arguments whose floats lie beside the steps of what rounds."""
    rng = np.random.default_rng(seed)
    made = list(program.load()["make"](*program.sizes[0]))
    for i, x in enumerate(made):
        if isinstance(x, np.ndarray | np.generic) and x.dtype == np.float64:
            made[i] = x + 0.2 * rng.normal(size=x.shape)  # A new array: no view of another one.
            made[i] = np.asarray(made[i])
    return made


def _copied(made: list[Any]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in made]


def _weights(results: tuple[Any, ...], seed: int) -> list[Any]:
    """Return what each result is multiplied with in the sum; None for what isn't a float."""
    rng = np.random.default_rng(seed)
    weights = []
    for one in results:
        array = np.asarray(one) if not isinstance(one, tuple | list) else np.asarray(0)
        is_float = array.dtype in (np.float64, np.complex128)
        is_float = is_float and type(one) not in (float, complex) and np.isfinite(array).all()
        is_float = is_float and np.abs(array).max(initial=0) < LARGE
        weights.append(rng.normal(size=array.shape) if is_float else None)
    return weights


def _total(program: Program, weights: list[Any]) -> Any:
    """Return a function of the program's arguments: a weighted sum of what it returns."""
    terms = [
        f"np.sum(np.real(found[{i}]) * WEIGHTS[{i}])"
        for i, w in enumerate(weights)
        if w is not None
    ]
    text = WRAPPER.format(names=PARAMETERS, total=" + ".join(terms))
    space = program.load(lambda source: source + text, WEIGHTS=weights)
    name = space["total"].__code__.co_filename
    whole = program.text() + text
    linecache.cache[name] = len(whole), None, whole.splitlines(keepends=True), name
    return space["total"]


def _differences(
    function: Any, made: list[Any], chosen: list[int], directions: list[np.ndarray]
) -> float | None:
    """Return the derivative along a direction; None where steps disagree."""
    found = []
    for step in STEPS:
        ends = []
        for sign in (1, -1):
            moved = _copied(made)
            for i, direction in zip(chosen, directions, strict=True):
                moved[i] = np.asarray(moved[i] + sign * step * direction)
            with quiet():
                ends.append(float(function(*moved)))
        found.append((ends[0] - ends[1]) / (2 * step))
    scale = max(1e-3, *map(abs, found))
    if not np.isfinite(found).all() or np.ptp(found) > 1e-5 * scale:
        return None
    return found[1]


__all__ = ["check_gradient"]
