"""Draw expressions: source text of NumPy calls on the names of a scope.

An expression need not be legal: whoever draws a program runs each statement and keeps those that
NumPy takes. Every function here returns text, or None where the scope has no fitting name.
"""

from __future__ import annotations

import numpy as np
from fuzz_scope import DTYPES, Scope

UNARY = {
    "biufc": ("square", "negative", "positive", "absolute", "conjugate", "sign", "isfinite"),
    "biuf": ("sqrt", "sin", "cos", "exp", "tanh", "arctan", "log1p", "expm1", "cbrt", "log",
             "floor", "log2", "ceil", "trunc", "rint", "fabs", "reciprocal", "degrees", "radians",
             "signbit", "sinh", "arcsinh", "exp2", "isnan", "isinf", "log10",
             "spacing", "logical_not"),
    "biu": ("invert", "logical_not", "bitwise_count"),
    "fc": ("exp", "sqrt", "sin", "isnan"),
}  # fmt: skip
BINARY = {
    "biuf": ("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin",
             "floor_divide", "remainder", "fmod", "hypot", "arctan2", "copysign", "logaddexp",
             "greater", "less_equal", "equal", "not_equal", "logical_and", "logical_or",
             "logical_xor", "heaviside", "nextafter", "float_power"),
    "biu": ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"),
    "biufc": ("add", "multiply", "subtract", "divide", "equal"),
}  # fmt: skip
OPERATORS = {
    "biufc": ("+", "-", "*", "/", "+", "-", "*", "==", "!="),
    "biuf": ("//", "%", "<", "<=", ">", ">="),
    "biu": ("&", "|", "^"),
}
REDUCTIONS = ("sum", "prod", "mean", "min", "max", "any", "all", "std", "var", "argmin", "argmax")
MORE_REDUCTIONS = ("ptp", "nansum", "nanmax", "nanmean", "median", "count_nonzero", "nanmin",
                   "nanstd", "average", "amax")  # fmt: skip


def _axis(s: Scope, name: str, many: bool = True) -> str:
    ndim = np.ndim(s.first[name])
    choices = ["None"] if many else []
    choices += [str(i) for i in range(-ndim, ndim)] or ["None"]
    if many and ndim >= 2:
        choices += ["(0, 1)", "(-1, 0)"]
    return s.rng.choice(choices)


def shape(s: Scope) -> str:
    x = s.array()
    options = ["n", "(n, m)", "(m, n)", "(3, n)", "(2, m)", "3", "(n,)", "()", "0", "(n, 1)", "1"]
    if x is not None:
        options += [f"{x}.shape"] * 4 + [f"{x}.shape[::-1]", f"{x}.size"]
    return s.rng.choice(options)


def create(s: Scope) -> str | None:
    x = s.operand() or "n"
    dtype = f", dtype={s.dtype()}" if s.chance(0.6) else ""
    return s.rng.choice((
        lambda: f"np.zeros({shape(s)}{dtype})",
        lambda: f"np.ones({shape(s)}{dtype})",
        lambda: f"np.full({shape(s)}, {s.number()}{dtype})",
        lambda: f"np.arange({s.size()}{dtype})",
        lambda: f"np.arange({s.literal('i')}, {s.size()}, {s.rng.choice((1, 2, -1, 0.5))})",
        lambda: f"np.linspace({s.literal('if')}, {s.literal('if')}, {s.size()})",
        lambda: f"np.eye({s.size()}{dtype})",
        lambda: f"np.eye({s.size()}, {s.size()}, {s.rng.randint(-2, 2)})",
        lambda: f"np.zeros_like({x}{dtype})",
        lambda: f"np.ones_like({x}{dtype})",
        lambda: f"np.full_like({x}, {s.literal('i')})",
        lambda: f"np.array([{s.literal()}, {s.literal()}, {s.number()}]{dtype})",
        lambda: f"np.array([[{s.literal('i')}, {s.literal('i')}], [1, {s.literal('if')}]])",
        lambda: f"np.array({s.literal()}{dtype})",
        lambda: f"np.array({x}{dtype})",
        lambda: f"np.asarray({x}{dtype})",
        lambda: f"np.copy({x})",
        lambda: f"np.tri({s.size()}, {s.size()}, {s.rng.randint(-2, 2)})",
        lambda: f"{s.dtype()}({s.number()})",
        lambda: f"np.indices(({s.size()}, {s.size()}))[{s.rng.choice((0, 1))}]",
    ))()  # fmt: skip


def unary(s: Scope) -> str | None:
    kinds = s.rng.choice(("biufc", "biuf", "biuf", "biu", "fc"))
    x = s.operand(kinds)
    if x is None:
        return None
    return f"np.{s.rng.choice(UNARY[kinds])}({x})"


def binary(s: Scope) -> str | None:
    kinds = s.rng.choice(("biuf", "biuf", "biu", "biufc"))
    x = s.operand(kinds)
    if x is None:
        return None
    args = [x, s.partner(x, kinds)]
    s.rng.shuffle(args)
    return f"np.{s.rng.choice(BINARY[kinds])}({args[0]}, {args[1]})"


def operator(s: Scope) -> str | None:
    kinds = s.rng.choice(("biufc", "biufc", "biufc", "biuf", "biuf", "biu"))
    x = s.operand(kinds)
    if x is None:
        return None
    if s.chance(0.1):
        return s.rng.choice((f"-{x}", f"~{x}", f"abs({x})", f"+{x}"))
    if s.chance(0.1):
        return f"{x} ** {s.rng.choice(('2', '3', '0', '1', '0.5', '2.0', '-1.0'))}"
    if kinds == "biu" and s.chance(0.3):
        return f"{x} {s.rng.choice(('<<', '>>'))} {s.rng.randint(0, 9)}"
    args = [x, s.partner(x, kinds)]
    s.rng.shuffle(args)
    text = f"{args[0]} {s.rng.choice(OPERATORS[kinds])} {args[1]}"
    if s.chance(0.25):
        text = f"({text}) {s.rng.choice(('+', '*', '-'))} {s.partner(x)}"
    return text


def key(s: Scope, name: str) -> str:
    """An index for a name: most are legal."""
    ndim = np.ndim(s.first[name])
    if s.chance(0.15):
        masks = same_shape(s, name, "b")
        if masks:
            return s.rng.choice(masks)
        return f"{name} {s.rng.choice(('>', '<=', '!='))} {s.literal('if')}"
    sizes = np.shape(s.first[name])
    parts = [_part(s, sizes[axis]) for axis in range(s.rng.randint(0, ndim))]
    if s.chance(0.15):
        parts.insert(s.rng.randint(0, len(parts)), "None")
    if s.chance(0.15):
        parts.insert(s.rng.randint(0, len(parts)), "...")
    return ", ".join(parts) if parts else s.rng.choice(("...", ":", "None")) if ndim else "()"


def same_shape(s: Scope, name: str, kind: str) -> list[str]:
    return [
        other
        for other in s.names(lambda v: isinstance(v, np.ndarray) and v.dtype.kind == kind)
        if s.first[other].shape == np.shape(s.first[name])
        and s.second[other].shape == np.shape(s.second[name])
    ]


def _part(s: Scope, size: int) -> str:
    kind = s.rng.random()
    if kind < 0.3:
        return str(s.rng.choice((0, -1, 1, max(0, size - 1))))
    if kind < 0.75:
        ends = ("", "", "1", "-1", "2", "-2", "n", "9")
        steps = ("", "", "", ":", ":1", ":2", ":-1", ":-1", ":-2", ":3")
        return f"{s.rng.choice(ends)}:{s.rng.choice(ends)}{s.rng.choice(steps)}"
    if kind < 0.8:
        return ":"
    if kind < 0.9:
        return s.rng.choice(("[0, -1]", "[0]", "[1, 0, 1]", "[]", "[[0], [1]]", "[True, False]"))
    index = s.array("iu")
    if index is not None:
        return s.rng.choice((index, f"{index} % {max(size, 1)}"))
    return "np.arange(1)"


def index(s: Scope) -> str | None:
    x = s.array(low=1) if s.chance(0.95) else s.operand()
    if x is None:
        return None
    if s.chance(0.08):
        return s.rng.choice((
            f"np.take({x}, {_part(s, 2)}, axis={_axis(s, x)})" if s.chance(0.3) else
            f"np.take({x}, [0, -1, 0], axis={_axis(s, x)})",
            f"np.take({x}, [0, 7], mode='{s.rng.choice(('wrap', 'clip'))}')",
            f"np.compress([True, False, True], {x}, axis={_axis(s, x)})",
            f"np.nonzero({x})[0]", f"np.flatnonzero({x})", f"np.argwhere({x})",
            f"np.extract({x} > 0, {x})", f"np.where({x})[-1]",
        ))  # fmt: skip
    return f"{x}[{key(s, x)}]"


def reduce(s: Scope) -> str | None:
    x = s.operand()
    if x is None:
        return None
    name = s.rng.choice(REDUCTIONS)
    args = []
    if s.chance(0.6):
        args.append(f"axis={_axis(s, x, many=not name.startswith('arg'))}")
    if s.chance(0.25):
        args.append("keepdims=True")
    if name in ("sum", "prod", "mean", "std", "var") and s.chance(0.12):
        args.append(f"dtype={s.dtype_of_sum(x)}")
    if name in ("sum", "prod", "min", "max") and s.chance(0.08):
        args.append("initial=2")
    if name in ("std", "var") and s.chance(0.3):
        args.append("ddof=1")
    if name in ("sum", "mean", "all", "any") and s.chance(0.1):
        args.append(f"where={x} > 0")
    if s.chance(0.5):
        return f"{x}.{name}({', '.join(args)})"
    if s.chance(0.25):
        return f"np.{s.rng.choice(MORE_REDUCTIONS)}({x}, axis={_axis(s, x)})"
    return f"np.{name}({', '.join([x, *args])})"


def running(s: Scope) -> str | None:
    x = s.operand()
    if x is None:
        return None
    axis = f"axis={_axis(s, x, many=False)}"
    return s.rng.choice((
        f"np.cumsum({x}, {axis})", f"{x}.cumsum()", f"np.cumprod({x}, {axis})",
        f"np.cumsum({x}, {axis}, dtype={s.dtype_of_sum(x)})", f"np.diff({x}, {axis})",
        f"np.diff({x}, n=2)", f"np.maximum.accumulate({x})", f"np.add.reduce({x}, {axis})",
        f"np.add.accumulate({x}, {axis})", f"np.multiply.outer({x}, {s.partner(x)})",
        f"np.logical_or.reduce({x}, {axis})", f"np.gradient({x})", f"np.ediff1d({x})",
        f"np.percentile({x} * 1.0, {s.rng.choice((0, 30, 50, 100))}, {axis})",
        f"np.quantile({x} * 1.0, [0.25, 0.5], {axis})", f"np.trapezoid({x})", f"np.nancumsum({x})",
        f"np.add.reduceat({x}, [0, 1])",
    ))  # fmt: skip


def reshape(s: Scope) -> str | None:
    x = s.array() if s.chance(0.95) else s.operand()
    if x is None:
        return None
    axis = _axis(s, x, many=False)
    return s.rng.choice((
        f"{x}.reshape(-1)", f"{x}.reshape(-1, 1)", f"{x}.reshape({x}.shape[::-1])",
        f"np.reshape({x}, (1, -1))", f"{x}.reshape({shape(s)})", f"{x}.ravel()", f"{x}.T",
        f"{x}.flatten()", f"np.ravel({x}, order='F')", f"{x}.transpose()", f"np.transpose({x})",
        f"np.swapaxes({x}, 0, -1)", f"np.moveaxis({x}, 0, -1)", f"np.squeeze({x})",
        f"np.expand_dims({x}, {s.rng.choice((0, -1, 1))})", f"np.atleast_2d({x})",
        f"np.atleast_1d({x})", f"np.flip({x})", f"np.flip({x}, {axis})", f"np.roll({x}, 1)",
        f"np.roll({x}, -1, {axis})", f"np.rot90({x})", f"np.fliplr({x})", f"np.flipud({x})",
        f"np.repeat({x}, 2, {axis})", f"np.repeat({x}, 2)", f"np.tile({x}, 2)",
        f"np.tile({x}, (2, 1))", f"np.broadcast_to({x}, (2, *{x}.shape))", f"np.diag({x})",
        f"np.triu({x})", f"np.tril({x}, -1)", f"np.diagonal({x})", f"{x}[::-1].reshape(-1)",
        f"{x}.reshape({x}.shape + (1,))", f"{x}.copy()", f"np.ascontiguousarray({x})",
        f"np.reshape({x}, ({x}.shape[0], -1))", f"{x}.swapaxes(0, 1)", f"np.real_if_close({x})",
        f"np.array_split({x}, 2)[0]", f"np.split({x}, [1])[1]", f"{x}.squeeze({axis})",
    ))  # fmt: skip


def join(s: Scope) -> str | None:
    x = s.array()
    if x is None:
        return None
    kind = s.first[x].dtype.kind if s.chance(0.5) else "biufc"
    others = list(same_shape(s, x, kind)) if kind != "biufc" else []
    y = s.rng.choice(others) if others else s.array(low=np.ndim(s.first[x])) or x
    axis = _axis(s, x)
    pad = s.rng.choice(("constant", "edge", "reflect", "wrap", "symmetric"))
    return s.rng.choice((
        f"np.concatenate([{x}, {y}])", f"np.concatenate(({x}, {y}, {x}), axis={axis})",
        f"np.stack([{x}, {y}])", f"np.stack(({x}, {y}), axis=-1)", f"np.vstack([{x}, {y}])",
        f"np.hstack([{x}, {y}])", f"np.column_stack([{x}, {y}])", f"np.append({x}, {y})",
        f"np.append({x}, {s.number()})", f"np.pad({x}, 1, mode='{pad}')", f"np.dstack([{x}, {y}])",
        f"np.pad({x}, (0, 2))", f"np.insert({x}, 1, {s.literal('i')})", f"np.delete({x}, 0)",
        f"np.delete({x}, [0, -1])", f"np.array([{x}, {y}])", f"np.broadcast_arrays({x}, {y})[0]",
        f"np.stack([row * {s.literal('if')} for row in {x}])", f"np.meshgrid({x}, {y})[0]",
    ))  # fmt: skip


def select(s: Scope) -> str | None:
    x = s.operand()
    if x is None:
        return None
    y = s.partner(x)
    low = s.rng.choice(("-1", "0", "-0.5", "None"))
    return s.rng.choice((
        f"np.where({x} > {s.literal('if')}, {x}, {y})", f"np.where({x}, {y}, {s.number()})",
        f"np.where({x} == {y}, {s.literal()}, {x})", f"np.clip({x}, {low}, 2)",
        f"{x}.clip({low}, {y})", f"np.clip({x}, {y}, {y})", f"np.nan_to_num({x})",
        f"np.isclose({x}, {y})", f"np.select([{x} > 1, {x} < -1], [{x}, {y}])",
        f"np.select([{x} > 1], [{y}], {s.literal()})", f"np.round({x}, {s.rng.choice((0, 1))})",
        f"np.piecewise({x}, [{x} < 0], [-1, 1])" if s.chance(0.2) else f"np.maximum({x}, 0)",
        f"np.array_equal({x}, {y})", f"np.allclose({x}, {y})", f"np.isin({x}, [0, 1, 2])",
        f"np.choose({x} > 0, [{x}, {y}])", f"np.modf({x})[0]", f"np.divmod({x}, {y})[1]",
        f"np.frexp({x})[0]", f"np.minimum({x}, {y})", f"np.interp({x}, [0, 1, 3], [1, 5, -2])",
        f"np.digitize({x}, [-1, 0, 2])", f"np.unwrap({x})", f"np.sinc({x})",
        f"np.polyval([1, -2, {s.literal('i')}], {x})", f"np.multiply({x}, {y}, dtype={s.dtype()})",
    ))  # fmt: skip


def sort(s: Scope) -> str | None:
    x = s.operand("biuf")
    if x is None:
        return None
    axis = _axis(s, x, many=False)
    return s.rng.choice((
        f"np.sort({x})", f"np.sort({x}, axis={axis})", f"np.sort({x}, axis=None)",
        f"np.argsort({x}, kind='stable')", f"np.argsort({x}, axis={axis}, kind='stable')",
        f"np.unique({x})", f"np.searchsorted(np.sort({x}.ravel()), {x})", f"np.sort({x})[::-1]",
        f"np.unique({x}, return_counts=True)[1]", f"np.unique({x}, return_inverse=True)[1]",
        f"np.take_along_axis({x}, np.argsort({x}, {axis}, kind='stable'), {axis})",
        f"np.bincount(np.abs({x}.ravel()) % 5)", f"np.histogram({x}, bins=4, range=(-3, 3))[0]",
        f"np.lexsort(({x}, {x}))", f"np.union1d({x}, [1, 2])", f"np.intersect1d({x}, [0, 1, 2])",
        f"np.partition({x}, 0)[..., 0]", f"np.argmax({x}, axis={axis})",
    ))  # fmt: skip


def product(s: Scope) -> str | None:
    x = s.array(low=1, high=3)
    if x is None:
        return None
    y = s.array(low=1, high=3) or x
    return s.rng.choice((
        f"np.dot({x}, {y})", f"{x} @ {y}", f"{x}.T @ {y}", f"{x} @ {y}.T", f"np.inner({x}, {y})",
        f"np.outer({x}, {y})", f"{x}.dot({y})", f"np.matmul({x}, {x}.T)", f"np.vdot({x}, {x})",
        f"np.einsum('ij,ij->i', {x}, {x})", f"np.einsum('i,i', {x}, {x})", f"np.kron({x}, [1, 2])",
        f"np.tensordot({x}, {x}, axes=([0], [0]))", f"np.linalg.norm({x})", f"np.trace({x})",
        f"np.linalg.norm({x}, axis=-1)", f"np.einsum('...i->...', {x})", f"np.cross({x}, {y})",
        f"np.convolve({x}, {y})", f"np.convolve({x}, [1, 0.5], mode='same')", f"np.cov({x})",
        f"np.linalg.norm({x}, ord=1, axis=0)", f"np.einsum('ij->ji', {x})", f"np.vander({x}, 3)",
    ))  # fmt: skip


def cast(s: Scope) -> str | None:
    x = s.operand()
    if x is None:
        return None
    other = s.operand() or x
    return s.rng.choice((
        f"{x}.astype({s.dtype()})", f"{x}.astype('{s.rng.choice(DTYPES)}')",
        f"{x}.astype({other}.dtype)", f"{x}.real", f"{x}.imag", f"{x}.conj()", f"np.real({x})",
        f"np.array({x}, dtype={other}.dtype)", f"np.angle({x})", f"{x}.astype(float)",
        f"{x}.astype(np.result_type({x}, {other}))", f"{x}.astype(int)", f"{x} + 1j",
        f"{x}.view({s.dtype()})" if s.chance(0.2) else f"np.asarray({x}, {other}.dtype)",
    ))  # fmt: skip


def constant(s: Scope) -> str | None:
    """Something on shapes and dtypes: a Python number."""
    x = s.array()
    if x is None:
        return None
    return s.rng.choice((
        f"{x}.ndim", f"{x}.size", f"{x}.shape[0]", f"len({x})", f"{x}.shape[-1] * 2",
        f"{x}.dtype.itemsize", f"{x}.shape[0] // 2", f"max(1, {x}.size)", f"{x}.size / 2",
        f"np.size({x})", f"np.ndim({x}) + 1", f"{x}.dtype.kind == 'f'", f"min({x}.shape)",
        f"sum({x}.shape)", "n + m", "k * 2", "1.0 / (1 + n)",
        f"int({x}.size > 3)", "float(n)", f"np.issubdtype({x}.dtype, np.floating)",
    ))  # fmt: skip


def from_values(s: Scope) -> str | None:
    """A Python number that depends on an array's values."""
    x = s.operand("iuf")
    if x is None:
        return None
    return s.rng.choice((
        f"float({x}.sum())", f"int(({x} > 0).sum())", f"{x}.max().item()", f"bool({x}.any())",
        f"{x}.tolist()", f"round({x}.mean(), 1)", f"int({x}.max())", f"np.array_equal({x}, {x})",
        f"np.allclose({x}, {s.partner(x)})", f"float({x}.min()) {s.rng.choice('+-*')} {s.number()}",
    ))  # fmt: skip


def arithmetic(s: Scope) -> str | None:
    """Something on Python's numbers alone."""
    x = s.pick(lambda v: type(v) in (bool, int, float))
    if x is None:
        return None
    y = s.pick(lambda v: type(v) in (bool, int, float)) or "k"
    if s.chance(0.5):
        y = s.literal()
    op = s.rng.choice(("+", "-", "*", "/", "//", "%", "+", "*", "<", "==", "&", "|"))
    return s.rng.choice((
        f"{x} {op} {y}", f"{y} {op} {x}", f"-{x} {op} {y}", f"({x} {op} {y}) * 1.5", f"not {x}",
        f"{x} ** 2", f"abs({x})", f"int({x})", f"float({x})", f"bool({x})", f"round({x})",
        f"min({x}, {y})", f"max({x}, {y})", f"sum([{x}, {y}])", f"{x} if {x} > {y} else {y}",
    ))  # fmt: skip


def helper(s: Scope) -> str | None:
    x = s.operand("biuf")
    if x is None:
        return None
    return s.rng.choice((
        f"helper({x}, {s.number()})", f"helper({x}, scale={s.literal('if')})",
        f"center({x})", f"both({x}, {s.partner(x)})[0]", f"both({x}, {s.partner(x)})[1]",
        f"TABLE[: {s.size()}]", f"TABLE * {s.partner(x)}", f"GAIN * {x}",
    ))  # fmt: skip


EXPRESSIONS = (
    (create, 4), (unary, 6), (binary, 6), (operator, 10), (index, 10), (reduce, 8), (running, 2),
    (reshape, 6), (join, 3), (select, 5), (sort, 2), (product, 2.5), (cast, 3), (constant, 2),
    (helper, 1), (from_values, 0.6), (arithmetic, 1),
)  # fmt: skip


def expression(s: Scope) -> str | None:
    draws, weights = zip(*EXPRESSIONS, strict=True)
    return s.rng.choices(draws, weights)[0](s)
