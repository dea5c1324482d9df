"""Suggestions for lines that can't be compiled."""

from __future__ import annotations

import re

_FIXES: tuple[tuple[str, str], ...] = (
    (
        r"\bnpaccel\._loops\.control_flow\b|`(fori_loop|while_loop|scan|cond)`|\b(fori_loop|while_loop)\(",
        "import npaccel at the top of the module, and keep `yield`, `eval` and the like out of "
        "the function: then it's split here, and the body is compiled",
    ),
    (r"\bprint\b|\blogging\b|\bwarnings\.warn\b", "move the output behind the call"),
    (
        r"numpy\.random\.|of `(Generator|RandomState|PCG64\w*|MT19937|Philox|SFC64)`",
        "NumPy draws random numbers itself: draw before the call and pass the numbers",
    ),
    (
        r"a generator of random numbers that is made here",
        "make the generator outside of the function and pass it as an argument",
    ),
    (
        r"the way from here depends on values",
        "write a branch on array values as np.where(condition, a, b), or take it out of the "
        "function",
    ),
    (
        r"no compiled implementation",
        "take the call out of the function, or write it with other NumPy calls",
    ),
    (
        r"[Tt]ensor\.item|\.item\(\)|to a (Python )?scalar|Python scalar|data.dependent",
        "keep the value an array (x.sum() instead of float(x.sum())), or take it out of the "
        "function",
    ),
    (r"generator|yield", "return arrays instead of yielding them"),
    (r"raise|[Ee]xception|assert", "check the arguments before the call"),
    (r"import", "import at the top of the module"),
    (r"string|format", "format text outside of the function"),
)
_DEFAULT = "take this line out of the function, and compile what is before and after it"


def fix_for(reason: str, text: str = "") -> str:
    """Return what to do about a reason.

    Parameters
    ----------
    reason : str
        Why the line can't be compiled.
    text : str
        The line itself.
    """
    for where in (reason, text):
        for pattern, answer in _FIXES:
            if where and re.search(pattern, where):
                return answer
    return _DEFAULT
