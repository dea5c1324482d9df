"""Write what kernels need of ATen's vectors and C++'s library in front of them, without headers.

A kernel is a hundred lines, torch's headers for it are 100,000: g++ takes half a second for each
kernel even where they're precompiled, and some seconds to precompile them. The parts that stand for
them have the same names and compute the same bits. They are vectors by the compiler's own
extension, and Sleef's functions by their symbols, which libtorch_cpu.so has.

`names` has what a kernel may use: one that uses something else is built with torch's headers.

Read from torch/csrc/inductor/cpp_prefix.h and ATen/cpu/vec of 2.13.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from torch._inductor.cpu_vec_isa import VecAVX512, pick_vec_isa

from npaccel._torch.inductor.lean import names as known

_FOLDER = Path(__file__).parent
_SIZES = (1, 2, 4, 8)
_DIVIDING = {"floor_divide_integral", "mod", "remainder_integral"}
_NOTED = re.compile(r"^[^\n;]*\binductor_cpu_\w*integer_div_error\w*[^\n;]*;", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class _Machine:
    """Vectors of a set of instructions.

    Parameters
    ----------
    size : int
        Bytes of a register.
    double, float : str
        The letters of Sleef's functions.
    """

    size: int
    double: str
    float: str


_AVX512 = _Machine(64, "d8", "f16")
_AVX2 = _Machine(32, "d4", "f8")


@functools.cache
def _part(name: str) -> str:
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//")) + "\n"


def without_unused_checks(source: str) -> str:
    """Take out what notes divisions by zero, where a kernel divides no integers."""
    words = set(re.findall(r"\w+", source))
    return source if words & _DIVIDING else _NOTED.sub("", source)


def preamble(sources: Iterable[str]) -> str:
    """Return what stands in front of kernels of which everything is covered.

    Parameters
    ----------
    sources : iterable of str
        C++ as Inductor writes it.
    """
    text = "\n".join(sources)
    names = set(re.findall(r"\w+", text))
    parts = [_part("base.h"), _math(names & known.MATH)]
    parts += [_part(name) for name, uses in known.SCALAR_PARTS.items() if names & uses]
    if "at::vec" in text:
        parts += _vectors(names, _AVX512 if isinstance(pick_vec_isa(), VecAVX512) else _AVX2)
    return "".join(parts)


def _math(names: set[str]) -> str:
    def declaration(name: str) -> str:
        if name in known.MATH_OTHERS:
            return f"LEAN_{name}\n"
        kinds = {"ONE": known.MATH_OF_ONE, "KIND": known.MATH_OF_KIND}
        kind = next((kind for kind, of_kind in kinds.items() if name in of_kind), "TWO")
        return f"LEAN_OF_{kind}({name})\n"

    if not names:
        return ""
    declarations = "".join(map(declaration, sorted(names)))
    return f"{_part('math.h')}namespace std {{\n{declarations}}}\n"


def _vectors(names: set[str], machine: _Machine) -> Iterator[str]:
    if "div_floor_floating_vec" in names:
        names = names | {"floor", "fmod"}
    used = [name for name in known.METHODS if name in names]
    yield f"#define LEAN_BYTES {machine.size}\nnamespace at {{ namespace vec {{\n"
    yield _part(f"avx{machine.size * 8}.h")
    if names & {*known.ROUNDED}:
        yield _part(f"avx{machine.size * 8}_rounding.h")
    yield from (_sleef(name, machine) for name in used if name not in known.ROUNDED)
    yield from (_counted(size, machine.size // size, names) for size in _SIZES)
    yield "} }\n"
    vectors = _part("vectors.h")
    of_one, of_some = ("\n".join(map(method, used)) for method in (_method_of_one, _method_of_some))
    yield vectors.replace("LEAN_METHODS_OF_ONE", of_one).replace("LEAN_METHODS_OF_SOME", of_some)
    yield from (_part(name) for name, uses in known.VECTOR_PARTS.items() if names & uses)


def _sleef(name: str, machine: _Machine) -> str:
    """Declare one of Sleef's functions by its symbols, and by one name for both types."""
    is_of_one = name in known.SLEEF_OF_ONE
    of_double, of_float = (known.SLEEF_OF_ONE | known.SLEEF_OF_TWO)[name]
    symbols = {"Doubles": f"{machine.double}{of_double}", "Floats": f"{machine.float}{of_float}"}
    text = ""
    for vector, letters in symbols.items():
        if (name, vector) == ("erf", "Floats"):
            text += _part("erf.h").replace("SLEEF_EXP", f"Sleef_exp{machine.float}_u10")
            continue
        symbol = f"Sleef_{name}{letters}"
        types = vector if is_of_one else f"{vector}, {vector}"
        parameters = f"{vector} x" if is_of_one else f"{vector} x, {vector} y"
        given = "x" if is_of_one else "x, y"
        text += f'extern "C" {vector} {symbol}({types});\n'
        text += f"inline {vector} sleef_{name}({parameters}) {{ return {symbol}({given}); }}\n"
    return text


def _method_of_one(name: str) -> str:
    if name in known.SLEEF_OF_TWO:
        return (
            f"    Vectorized {name}(const Vectorized& other) const\n"
            f"    {{ return sleef_{name}(values, other.values); }}"
        )
    value = f"{'rounded' if name in known.ROUNDED else 'sleef'}_{name}(values)"
    if name == "rsqrt":
        value = "Vectorized(T(1)).values / rounded_sqrt(values)"
    return f"    Vectorized {name}() const {{ return {value}; }}"


def _method_of_some(name: str) -> str:
    if name in known.SLEEF_OF_TWO:
        step = f"[](const One& x, const One& y) {{ return x.{name}(y); }}"
        return (
            f"    VectorizedN {name}(const VectorizedN& other) const\n"
            f"    {{ return binary_op(other, {step}); }}"
        )
    step = f"[](const One& x) {{ return x.{name}(); }}"
    return f"    VectorizedN {name}() const {{ return unary_op({step}); }}"


def _counted(size: int, count: int, names: set[str]) -> str:
    """Write what depends on how many lanes a vector has.

    Parameters
    ----------
    size, count : int
        Bytes of a lane, and lanes of a vector.
    names : set of str
        What kernels use.
    """
    half = count // 2
    functions = [
        f"static constexpr VI positions = {{{_listed(range(count))}}};",
        "template <typename V, typename T> static V broadcast(T x)"
        f" {{ return V{{{', '.join('x' * count)}}}; }}",
        _shuffle("template <typename V, typename H> static V both(H a, H b)", range(count)),
        "template <typename H, int i, typename V> static H half(V a) {"
        f" if constexpr (i == 0) return __builtin_shufflevector(a, a, {_listed(range(half))});"
        f" else return __builtin_shufflevector(a, a, {_listed(range(half, count))}); }}",
    ]
    if names & known.VECTOR_PARTS["lanes.h"]:
        functions.append(_widened(size, count))
    if names & known.HALVED:
        functions.append(_reduced(count))
    if names & known.PAIRED and size >= 4:
        first = [n for i in range(half) for n in (i, i + count)]
        orders = {
            "first_parts": range(0, 2 * count, 2),
            "second_parts": range(1, 2 * count, 2),
            "first_pairs": first,
            "second_pairs": [n + half for n in first],
        }
        for name, order in orders.items():
            functions.append(_shuffle(f"template <typename V> static V {name}(V a, V b)", order))
    body = "\n".join(f"    {line}" for line in functions)
    return f"template <> struct counted<{size}> : loaded<{size}> {{\n{body}\n}};\n"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _shuffle(head: str, order: Iterable[int]) -> str:
    return f"{head} {{ return __builtin_shufflevector(a, b, {_listed(order)}); }}"


def _widened(size: int, count: int) -> str:
    """Write what puts zeros behind the lanes of a half, a quarter or an eighth of a vector."""
    steps = []
    for part in (count // 2, count // 4, count // 8):
        if part > 1:
            places = _listed(min(i, part) for i in range(count))
            steps.append(f"if constexpr (sizeof(P) == {part * size})")
            steps.append(f"return __builtin_shufflevector(a, P{{}}, {places});")
    return f"template <typename V, typename P> static V widened(P a) {{ {' '.join(steps)} }}"


def _reduced(count: int) -> str:
    """Write what reduces a vector by halves of it, as `npaccel::lanes_reduced` does."""
    steps = []
    for n in range(1, count.bit_length()):
        swapped = _listed(i ^ (count >> n) for i in range(count))
        steps.append(f"b.values = __builtin_shufflevector(a.values, a.values, {swapped});")
        steps.append("a = combine(a, b);")
    head = "template <typename L, typename F> static L reduced(L a, const F& combine)"
    return f"{head} {{ L b; {' '.join(steps)} return a; }}"


# -- Functions that Python calls ------------------------------------------------------------


def caught() -> str:
    """Return what kernels need that throw in loops which threads share."""
    return _part("caught.h")


def sharing(helpers: str) -> str:
    """Return the statement by which kernels learn whether the calling thread is alone.

    Parameters
    ----------
    helpers : str
        What kernels call whose loops threads share, empty where none do.
    """
    return "npaccel::alone = static_cast<npaccel::Alone*>(alone);" if helpers else "(void)alone;"


def binding(kernels: Iterable[Iterable[str]], maker: str, first: str) -> str:
    """Return what makes Python functions of kernels.

    Parameters
    ----------
    kernels : iterable of iterable of str
        The types of each kernel's parameters.
    maker : str
        The function that makes them.
    first : str
        What that does first.
    """
    calls, methods = [], []
    for i, types in enumerate(kernels):
        given = [_argument(n, kind) for n, kind in enumerate(types)]
        call = f"kernel_{i}::kernel({', '.join(given)});"
        calls.append(
            f"PyObject* call_{i}(PyObject*, PyObject* const* given, ssize_t count)\n"
            f"{{ return called(count, {len(given)}, [&] {{ {call} }}); }}"
        )
        methods.append(f'    {{"kernel_{i}", call_{i}, METH_FASTCALL, ""}},')
    table = "\n".join([*calls, "PyMethodDef methods[] = {", *methods, "};"])
    text = _part("binding.h").replace("SHARE_ALONE", first)
    return text.replace("MAKER", maker).replace("METHODS", table)


def _argument(n: int, kind: str) -> str:
    if "*" in kind:
        return f"static_cast<{kind}>(data_of(given[{n}]))"
    function = "floating" if "double" in kind or "float" in kind else "integer"
    return f"static_cast<{kind}>({function}(given[{n}]))"


__all__ = ["binding", "caught", "preamble", "sharing", "without_unused_checks"]
