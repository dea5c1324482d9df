"""Split a function at its loops: what is compiled, and what Python does between.

The result computes the same as the function, statement by statement; only
statements that follow each other are taken together, and those about Python
numbers alone are moved out of the compiled parts where nothing can tell.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence

from npaccel._loops.partition.ast_utils import called_name
from npaccel._loops.partition.blocks import block
from npaccel._loops.partition.facts import Facts
from npaccel._loops.partition.host_values import HostValues
from npaccel._loops.partition.locals import with_single_displays
from npaccel._syntax import context_managers, dataflow
from npaccel._syntax.dataflow import Names
from npaccel._syntax.loop_detection import FRAME_CALLS, UNSPLIT


class CannotSplitError(Exception):
    """A function can't be split.

    Parameters
    ----------
    reason : str
    line : int
    """

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclasses.dataclass
class Split:
    """A function split into regions.

    Parameters
    ----------
    body : list of ast.stmt
        With `Region`, `Inline` and `Nest` among the statements.
    host_values : HostValues
    varying : frozenset of str
        Host values that change from one iteration of a loop to the next.
    loops : list of ast.For or ast.While
        Those that Python drives, in the order of the file.
    native : list of (int, str)
        Lines that Python runs uncompiled although they are about arrays, and why.
    temporaries : frozenset of str
        Local names that the split function has besides the function's own.
    declared : dict
        Names that the function declares as global or nonlocal.
    """

    body: list[ast.stmt]
    host_values: HostValues
    varying: Names
    loops: list[ast.For | ast.While]
    native: list[tuple[int, str]]
    temporaries: Names
    declared: dict[str, type[ast.Global | ast.Nonlocal]]


def split(
    definition: ast.FunctionDef,
    host_values: HostValues,
    callee_loops: Callable[[ast.expr], bool],
    primitive: Callable[[ast.expr], Sequence[str] | None],
    *,
    nests: bool,
    lists: Names = frozenset(),
    of_items: Names = frozenset(),
) -> Split:
    """Split a function.

    Parameters
    ----------
    definition : ast.FunctionDef
    host_values : HostValues
    callee_loops : callable
        Whether a called expression is a function of the user's that loops, or a primitive.
    primitive : callable
        The parameters of `npaccel.fori_loop` and the like, if a called expression is one.
    nests : bool
        Whether loops may be handed to Numba.
    lists : frozenset of str
        Parameters that are lists, dicts or sets.
    of_items : frozenset of str
        Those, and tuples, that hold arrays or numbers.

    Raises
    ------
    CannotSplitError
    """
    _check(definition)
    _check_inner(definition, primitive)
    context_managers.mark(definition, host_values.value_of)
    with_single_displays(definition)
    facts = Facts(definition, host_values, callee_loops, primitive, nests, lists, of_items)
    body = block(facts, definition.body, frozenset(facts.parameters), 0)
    loops = sorted(facts.loops, key=lambda loop: loop.lineno)
    return Split(
        body,
        host_values,
        facts.varying,
        loops,
        facts.native,
        frozenset(facts.temporaries),
        facts.declared,
    )


def _check_inner(
    definition: ast.FunctionDef, primitive: Callable[[ast.expr], Sequence[str] | None]
) -> None:
    """Refuse inner functions that assign to names of this one, but those that primitives run."""
    own = dataflow.declarations(definition).keys()
    nodes = list(ast.walk(definition))
    calls = [n for n in nodes if isinstance(n, ast.Call) and primitive(n.func) is not None]
    run = {id(argument) for call in calls for argument in call.args}
    run |= {id(keyword.value) for call in calls for keyword in call.keywords}
    for inner in nodes:
        if inner is definition or not isinstance(inner, ast.FunctionDef):
            continue
        written = [n for n in ast.walk(inner) if isinstance(n, ast.Nonlocal)]
        names = {name for n in written for name in n.names} - own
        uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == inner.name]
        if names and not all(id(use) in run for use in uses):
            what = ", ".join(sorted(names))
            raise CannotSplitError(f"an inner function assigns to {what} of it", written[0].lineno)


def _check(definition: ast.FunctionDef) -> None:
    for node in ast.walk(definition):
        reason = UNSPLIT.get(type(node))
        if reason is not None:
            raise CannotSplitError(reason, getattr(node, "lineno", definition.lineno))
        if isinstance(node, ast.Call) and called_name(node) in FRAME_CALLS:
            raise CannotSplitError(f"it calls {called_name(node)}()", node.lineno)
        if isinstance(node, ast.While) and any(
            isinstance(inner, ast.NamedExpr) for inner in ast.walk(node.test)
        ):
            raise CannotSplitError("a `while` assigns in its condition", node.lineno)
