"""The calls that are compared: planned for a row, drawn when they are needed.

A call is drawn again for each way of running it, from the same seed, so that
nothing that one run writes is seen by another.
"""

import dataclasses
import inspect
import re
import zlib

import numpy as np
from diff_inputs import DTYPES, Draw
from diff_spec import KEYWORDS, OUT, Spec
from diff_specs import UFUNC_METHODS, spec_of

from npaccel._numpy.core.table import Row

BINARY_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "lshift": "<<",
    "rshift": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lt": "<",
    "le": "<=",
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "ge": ">=",
}
UNARY_SIGNS = {"neg": "-{}", "pos": "+{}", "abs": "abs({})", "invert": "~{}"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """A call that is still to be drawn."""

    row: Row
    spec: Spec
    dtype: np.dtype
    form: str
    keywords: tuple[str, ...]
    seed: int
    shapes: tuple[tuple[int, ...], ...] | None = None

    def draw(self):
        """Return positional arguments and keywords, the same at each call."""
        rng = np.random.default_rng([zlib.crc32(self.row.name.encode()), self.seed])
        draw = Draw(rng, self.dtype, self.form, self.spec.extremes, self.shapes)
        args = [role(draw) for role in self.spec.args]
        kwargs = {name: role_of(self.spec, name)(draw) for name in self.keywords}
        if kwargs.get("out") is OUT:
            kwargs["out"] = self._out(draw, args)
        return args, kwargs

    def _out(self, draw, args):
        """Return an array that fits the result, mostly."""
        plain = dataclasses.replace(self, keywords=tuple(k for k in self.keywords if k != "out"))
        found = reference(plain)
        kind = draw.integer(0, 8)
        parts = found if isinstance(found, tuple | list) else (found,)
        fits = args and isinstance(args[0], np.ndarray) and args[0].shape == np.shape(parts[0])
        if kind == 0 and fits and not self.row.name.endswith("reduceat"):
            return args[0]  # which NumPy writes before it has read it all, in reduceat
        dtype = {1: np.dtype("d"), 2: np.dtype("f"), 3: np.dtype("i")}.get(kind)
        wrong = kind == 4 and all(np.ndim(part) and np.size(part) > 1 for part in parts)
        made = [
            np.full((9,) if wrong else np.shape(part), 1, dtype or np.asarray(part).dtype)
            for part in parts
        ]
        return tuple(made) if isinstance(found, tuple | list) else made[0]


def reference(plan):
    """Return what NumPy makes of a call; zeros where it raises."""
    args, kwargs = plan.draw()
    text, values = rendered(plan.row, args, kwargs)
    try:
        with np.errstate(all="ignore"):
            return function(text, values)(*values.values())
    except Exception:  # noqa: BLE001 - the call itself is compared later on
        return np.zeros(())


def role_of(spec, name):
    """Return the role of a keyword."""
    return spec.keywords.get(name) or KEYWORDS[name]


def keywords_of(row, spec):
    """Return the names that are given as keywords: NumPy's own, but for positional ones."""
    if spec.text:
        return []
    if isinstance(row.numpy, np.ufunc):
        names = ["out", "where", "casting", "order", "dtype", "subok", "signature"]
        names += ["axis", "keepdims"] if row.numpy.signature else []
        return [name for name in names if name not in (*spec.alone, *row.unsupported)]
    known = signature_of(row)
    if known is None or not spec.args:
        return []
    parameters = [p for p in known.parameters.values() if p.name != "self"]
    given = len(spec.args) - is_method(row)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = {p.name for p in positional[:given]} | set(spec.alone) | set(row.unsupported)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in kinds and p.name not in taken]


def is_method(row):
    return row.name.startswith("numpy.ndarray.")


def signature_of(row):
    """Return NumPy's signature of a row, or the row's own where NumPy tells none."""
    last = row.name.rsplit(".", 1)[-1]
    if last in UFUNC_METHODS:
        if last in ("outer", "at"):
            return None
        return _without_first(inspect.signature(row.implementation), 0)
    theirs = row.numpy if row.numpy is not None else numpy_method(row)
    if theirs is None or isinstance(theirs, type) or not callable(theirs):
        return None
    own = _without_first(inspect.signature(row.implementation), is_method(row))
    try:
        found = inspect.signature(theirs)
    except (ValueError, TypeError):
        return own
    kinds = {p.kind for p in found.parameters.values()}
    return own if is_method(row) and inspect.Parameter.VAR_KEYWORD in kinds else found


def _without_first(signature, count):
    parameters = list(signature.parameters.values())[count:]
    return signature.replace(parameters=parameters)


def numpy_method(row):
    """Return the method of ndarray that a row stands for, None for attributes and operators."""
    name = row.name.removeprefix("numpy.ndarray.")
    found = vars(np.ndarray).get(name) if is_method(row) else None
    return found if inspect.ismethoddescriptor(found) and not name.startswith("__") else None


_COMPARISONS = (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal)


def plans(row):
    """Return the calls of a row: every dtype and form, every keyword, pairs of keywords."""
    spec = spec_of(row)
    keywords = keywords_of(row, spec)
    always = spec.always
    combos = [(d, f, always) for d in DTYPES for f in spec.forms for _ in range(2)]
    combos += [
        (d, spec.forms[i % len(spec.forms)], (*always, k))
        for k in keywords
        for d in DTYPES
        for i in range(6)
        if k not in always
    ]
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    free = [k for k in keywords if k not in always]
    for _ in range(120 if len(free) > 1 else 0):
        chosen = rng.permutation(len(free))[: rng.integers(2, min(len(free), 4) + 1)]
        combos.append(
            (
                DTYPES[rng.integers(len(DTYPES))],
                spec.forms[rng.integers(len(spec.forms))],
                (*always, *(free[i] for i in sorted(chosen))),
            )
        )
    every = [
        Plan(row, spec, d, f, _with_out(row, keywords, k), seed)
        for seed, (d, f, k) in enumerate(combos)
    ]
    return [plan for plan in every if not _ends_the_process(plan)]


def _ends_the_process(plan):
    """Whether it may be a call that NumPy 2.4 crashes in: a masked comparison with an int."""
    if plan.row.numpy not in _COMPARISONS or "where" not in plan.keywords:
        return False
    args, _ = dataclasses.replace(plan, keywords=()).draw()
    return any(type(arg) is int for arg in args)


def _with_out(row, known, chosen):
    """Add `out` to `where` of a ufunc: without it NumPy leaves elements as memory was."""
    writes = "where" in chosen and isinstance(row.numpy, np.ufunc)
    return tuple(k for k in known if k in chosen or (k == "out" and writes))


# -- a call as Python text


def rendered(row, args, kwargs):
    """Return the text of a call, and its arrays by the names that stand for them."""
    values = {}
    parts = [literal_text(arg, values) for arg in args]
    named = [f"{name}={literal_text(value, values)}" for name, value in kwargs.items()]
    return call_text(row, parts, named), values


def literal_text(value, values):
    """Return Python text for an argument; arrays and NumPy scalars get names."""
    if isinstance(value, np.ndarray | np.generic):
        for name, known in values.items():
            if known is value:
                return name
        name = f"v{len(values)}"
        values[name] = value
        return name
    if isinstance(value, list):
        return "[" + ", ".join(literal_text(item, values) for item in value) + "]"
    if isinstance(value, tuple):
        return "(" + "".join(literal_text(item, values) + ", " for item in value) + ")"
    if isinstance(value, complex) and not (value.real and value.imag):
        return f"complex({value.real!r}, {value.imag!r})"  # -1j has a real part of -0.0
    if isinstance(value, np.dtype):
        return f"np.dtype({value.str!r})"
    if isinstance(value, np.ufunc):
        return f"np.{value.__name__}"
    if isinstance(value, type) or callable(value):
        return value.__name__ if value.__module__ == "builtins" else f"np.{value.__name__}"
    return repr(value)


def call_text(row, args, named):
    """Return the text of a row's call, from the texts of its arguments."""
    template = spec_of(row).text
    name = row.name.replace("numpy.", "np.", 1)
    if template:
        return template.format(*args, name=name)
    short = row.name.rsplit(".", 1)[-1]
    if short == "__set__":
        return f"{args[0]}.{row.name.split('.')[2]} = {args[1]}"
    if short.startswith("__"):
        return operator_text(short.strip("_"), args)
    if not is_method(row):
        return f"{name}({', '.join([*args, *named])})"
    if numpy_method(row) is None:
        return f"{args[0]}.{short}"
    owner = args[0] if args[0][0] == "v" else f"({args[0]})"
    return f"{owner}.{short}({', '.join([*args[1:], *named])})"


def operator_text(name, args):
    """Return the text of an operator."""
    args = [f"({arg})" if arg.startswith("-") else arg for arg in args]
    if name in ("getitem", "setitem"):
        return f"{args[0]}[{args[1]}]" + (f" = {args[2]}" if name == "setitem" else "")
    if name in UNARY_SIGNS:
        return UNARY_SIGNS[name].format(args[0])
    if name in BINARY_SIGNS:
        return f"{args[0]} {BINARY_SIGNS[name]} {args[1]}"
    if name in ("divmod", "rdivmod"):
        return f"divmod({', '.join(args if name == 'divmod' else args[::-1])})"
    if name[0] == "r" and name[1:] in BINARY_SIGNS:
        return f"{args[1]} {BINARY_SIGNS[name[1:]]} {args[0]}"
    return f"{args[0]} {BINARY_SIGNS[name[1:]]}= {args[1]}"


_compiled = {}


def function(text, values):
    """Return the function of a call, whose parameters are the call's arrays."""
    names = ", ".join(values)
    kept = _compiled.get((text, names))
    if kept is not None:
        return kept
    made = make_function(text, names)
    _compiled[text, names] = made
    return made


def make_function(text, names):
    """Compile the text, an expression or a statement, to a function."""
    space = {"np": np, "nan": np.nan, "inf": np.inf}
    last = ""
    text = text.replace("; ", "\n    ")
    if "found = " in text:
        last = "    return found\n"
    elif (
        re.search(r"(\+|-|[*]|/|%|@|<|>|&|\||\^)= ", text)
        and " <= " not in text
        and " >= " not in text
    ):
        last = f"    return {text.split(' ')[0]}\n"
    elif " = " not in text:
        text = f"return {text}"
    exec(f"def call({names}):\n    {text}\n{last}", space)
    return space["call"]
