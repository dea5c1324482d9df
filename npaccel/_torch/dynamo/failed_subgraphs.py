"""Continue in NumPy where a subgraph raises an error: with that subgraph, and all after it.

The graph comes first in the code that Dynamo writes for a frame, and what the frame does to lists
and attributes behind it. So nothing has happened yet when a graph has raised and its writes are
undone: the frame's own code can run on the frame's own arguments. What ran before isn't repeated.

Read from torch/_dynamo/{codegen,output_graph,bytecode_transformation}.py of 2.11 and 2.13.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from torch._dynamo.bytecode_transformation import (
    create_call_function,
    create_dup_top,
    create_instruction,
)
from torch._dynamo.codegen import PyCodegen

from npaccel._runtime.binding import Binding
from npaccel._runtime.callables import leave_alone
from npaccel._torch.dynamo.state import active
from npaccel._torch.patching import Patch

#: Returned by a subgraph that has failed in place of its outputs.
FAILED = object()
_JUMP = "POP_JUMP_FORWARD_IF_FALSE" if sys.version_info < (3, 12) else "POP_JUMP_IF_FALSE"


class _Current(threading.local):
    """Failure of the last graph of this thread that failed."""

    note: Callable[[], None]


_current = _Current()


def failed(note: Callable[[], None]) -> object:
    """Return what a subgraph returns in place of its outputs.

    Parameters
    ----------
    note : callable
        Is called when NumPy has come to an end without an error.
    """
    _current.note = note
    return FAILED


def _in_numpy(function: FunctionType, values: tuple[Any, ...]) -> Any:
    """Run the code of a frame uncompiled; called by what is compiled of it."""
    note = _current.note
    result = Binding(function).call(values)
    note()
    return result


leave_alone(_in_numpy.__code__)  # Dynamo would compile what it calls, or itself.


def _make_call(original: Any) -> Any:
    """Make frames look whether their graph has failed."""

    @functools.wraps(original)
    def make_call_generated_code(self: Any, fn_name: str) -> None:
        original(self, fn_name)
        if active.is_subgraph:
            _append_answer(self)

    return make_call_generated_code


def _append_answer(codegen: Any) -> None:
    """Return what NumPy gives for the frame, if its graph has failed."""
    code = codegen.tx.f_code
    end = create_instruction("NOP")
    codegen.extend_output(
        [
            create_dup_top(),
            create_instruction("LOAD_CONST", argval=FAILED),
            create_instruction("IS_OP", arg=0),
            create_instruction(_JUMP, target=end),
            create_instruction("POP_TOP"),
        ]
    )
    codegen.add_push_null(
        lambda: codegen.append_output(create_instruction("LOAD_CONST", argval=_in_numpy))
    )
    if code.co_freevars:
        codegen.extend_output([codegen.create_load_closure(name) for name in code.co_freevars])
        codegen.append_output(create_instruction("BUILD_TUPLE", arg=len(code.co_freevars)))
        codegen.make_function_with_closure(code.co_name, code)
    else:
        codegen.append_output(create_instruction("LOAD_CONST", argval=code))
        codegen.append_output(create_instruction("MAKE_FUNCTION", arg=0))
    names = _parameters(code)
    cells = codegen.cell_and_freevars()
    codegen.extend_output(
        [
            codegen.create_load_deref(name) if name in cells else codegen.create_load(name)
            for name in names
        ]
    )
    codegen.append_output(create_instruction("BUILD_TUPLE", arg=len(names)))
    codegen.extend_output(create_call_function(2, False))
    codegen.extend_output([create_instruction("RETURN_VALUE"), end])
    codegen.clear_tos()


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:count]


PATCHES = (
    Patch(
        PyCodegen, "make_call_generated_code", _make_call,
        "a frame whose graph raises can't go on in NumPy",
        "tests/torch_layer/dynamo/test_breaks.py",
    ),
)  # fmt: skip

__all__ = ["PATCHES", "failed"]
