"""Build a graph's kernels on a CPU in few files.

Inductor writes a C++ file for each kernel. Of the half second that g++ needs for a small one it
spends four fifths on templates of the header that all of them include. So kernels share a file, as
long as a second one wouldn't be done earlier on another core. What Python calls is written here
too: it takes its arguments as Python has them, without a tuple, and floats in 64 bit.

Read from torch/_inductor/{async_compile,codecache}.py (AsyncCompile, CppPythonBindingsCodeCache)
and torch/_inductor/codegen/common.py (KernelArgs.cpp_argdefs) of 2.11 and 2.13.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import itertools
import re
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch._inductor.config as inductor_config
from torch._inductor.async_compile import AsyncCompile, get_compile_threads
from torch._inductor.codecache import CppPythonBindingsCodeCache
from torch._inductor.codegen.common import KernelArgs
from torch._inductor.exc import CppCompileError
from torch._inductor.utils import parallel_num_threads

from npaccel._process import logs
from npaccel._runtime.torch.libraries import MAKER, load_kernels
from npaccel._torch.inductor.cpp.bounds_checks import CAUGHT, throwing_outside_of_threads
from npaccel._torch.inductor.cpp.teams import shared_by_teams, team_helpers
from npaccel._torch.inductor.cpp.vector_helpers import vector_helpers
from npaccel._torch.inductor.lean import names, preamble
from npaccel._torch.inductor.linking import NO_STANDARD_LIBRARIES
from npaccel._torch.inductor.precompiled_headers import including
from npaccel._torch.patching import Patch, patched

#: Characters of C++ for which g++ takes as long as for what the header brings along.
_FILE = 24_000
_INCLUDE = re.compile(r"^[ \t]*#include[ \t]*[<\"].*$", re.MULTILINE)
_DECLARED = 'extern "C"'

_BINDING = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace {
struct Array { PyObject_HEAD void* data; };  // as NumPy's begin, in each of its versions
PyTypeObject* array_type;
void* (*data_of_tensor)(PyObject*);

void* data_of(PyObject* value)
{
    if (PyObject_TypeCheck(value, array_type)) return reinterpret_cast<Array*>(value)->data;
    return data_of_tensor(value);
}

struct Given {
    PyObject* value;

    template <typename T> operator T() const
    {
        if constexpr (std::is_pointer_v<T>) return static_cast<T>(data_of(value));
        else {
            T number;
            if constexpr (std::is_floating_point_v<T>) number = PyFloat_AsDouble(value);
            else number = PyLong_AsLongLong(value);
            if (number == static_cast<T>(-1) && PyErr_Occurred()) throw std::invalid_argument("");
            return number;
        }
    }
};

template <typename F> PyObject* called(Py_ssize_t given, Py_ssize_t wanted, F kernel)
{
    if (given != wanted)
        return PyErr_Format(PyExc_TypeError, "%zd arguments for a kernel of %zd", given, wanted);
    try {
        kernel();
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (const std::exception& error) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "a kernel has thrown what is no exception");
        return nullptr;
    }
    Py_RETURN_NONE;
}
METHODS
}

extern "C" __attribute__((visibility("default")))
PyObject* MAKER(PyObject* owner, void* address, void* alone)
{
    SHARE_ALONE
    data_of_tensor = reinterpret_cast<void* (*)(PyObject*)>(address);
    PyObject* numpy = PyImport_ImportModule("numpy");
    if (numpy == nullptr) return nullptr;
    PyObject* type = PyObject_GetAttrString(numpy, "ndarray");
    Py_DECREF(numpy);
    if (type == nullptr) return nullptr;
    array_type = reinterpret_cast<PyTypeObject*>(type);
    Py_DECREF(type);  // NumPy is never unloaded.
    PyObject* made = PyTuple_New(sizeof(methods) / sizeof(*methods));
    if (made == nullptr) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made); i++) {
        PyObject* kernel = PyCFunction_NewEx(&methods[i], owner, nullptr);
        if (kernel == nullptr) {
            Py_DECREF(made);
            return nullptr;
        }
        PyTuple_SET_ITEM(made, i, kernel);
    }
    return made;
}
"""


#: Reasons why kernels need torch's headers.
_headers: contextvars.ContextVar[dict[str, None]] = contextvars.ContextVar("_headers")


@dataclasses.dataclass(eq=False)
class _Kernel:
    """Stand-in of the generated module for a kernel that isn't built yet."""

    types: Sequence[str]
    source: str


class _Libraries(CppPythonBindingsCodeCache):
    """Builds libraries as its base does, and loads them as those that are kept on disk."""

    cache: dict[str, Callable[[], Any]] = {}  # noqa: RUF012 (the base's, of this class)

    @classmethod
    def _load_library_inner(cls, path: str, key: str) -> Any:
        return types.SimpleNamespace(kernels=load_kernels(Path(path)))


@contextlib.contextmanager
def headers_told() -> Iterator[dict[str, None]]:
    """Collect why kernels that are built meanwhile need torch's headers."""
    found: dict[str, None] = {}
    token = _headers.set(found)
    try:
        yield found
    finally:
        _headers.reset(token)


def _tell_headers(why: str) -> None:
    _headers.get({})[why] = None
    logs.compile.debug("kernels need torch's headers: %s", why)


@contextlib.contextmanager
def kernels_in_few_files() -> Iterator[None]:
    """Have the kernels of graphs that are compiled meanwhile share files."""
    with patched(PATCHES):
        yield


def _asking(original: Any) -> Any:
    def cpp_pybinding(self: AsyncCompile, argtypes: Sequence[str], source_code: str) -> Any:
        return _Kernel(argtypes, source_code)

    return cpp_pybinding


def _waiting(original: Callable[[AsyncCompile, dict[str, Any]], None]) -> Any:
    def wait(self: AsyncCompile, scope: dict[str, Any]) -> None:
        asked = {name: value for name, value in scope.items() if isinstance(value, _Kernel)}
        files = _shared_out(list(asked.values()))
        submit = self.submit if len(files) > 1 else None
        try:
            begun = [_begun(kernels, submit) for kernels in files]
            built = [function for library in begun for function in library().kernels]
        finally:
            _Libraries.cache.clear()  # It would never release a kernel.
        scope.update(zip(asked, built, strict=True))
        original(self, scope)

    return wait


def _shared_out(kernels: Sequence[_Kernel]) -> list[list[_Kernel]]:
    """Part kernels into files of about one length, as many as pay and as there are cores."""
    ends = list(itertools.accumulate(len(kernel.source) for kernel in kernels))
    count = min(get_compile_threads(), -(-ends[-1] // _FILE)) if ends else 0
    files: dict[int, list[_Kernel]] = {}
    for kernel, end in zip(kernels, ends, strict=True):
        middle = end - len(kernel.source) / 2
        files.setdefault(int(count * middle / ends[-1]), []).append(kernel)
    return list(files.values())


def _begun(kernels: Sequence[_Kernel], submit: Any) -> Callable[[], Any]:
    """Begin to build kernels: without torch's headers, if they don't need any."""

    def whole() -> Callable[[], Any]:
        begun: Callable[[], Any] = _Libraries.load_async(_file_of(kernels), "cpu", submit_fn=submit)
        return begun

    missing = names.uncovered(kernel.source for kernel in kernels)
    if missing:
        _tell_headers(missing)
        return whole()
    with inductor_config.patch({"cpp_cache_precompile_headers": False}):
        flags = (NO_STANDARD_LIBRARIES,)
        text = _lean_file_of(kernels)
        lean = _Libraries.load_async(text, "cpu", submit_fn=submit, extra_flags=flags)

    def load() -> Any:
        try:
            return lean()
        except CppCompileError as error:
            complaint = re.search(r"error: .*", str(error))
            _tell_headers(complaint.group() if complaint else "what the compiler refuses")
            return whole()()

    return load


def _file_of(kernels: Sequence[_Kernel]) -> str:
    """Write a file: each kernel in a namespace of its own, then what calls them."""
    included = dict.fromkeys(line for one in kernels for line in _INCLUDE.findall(one.source))
    text = [including(included, "".join(kernel.source for kernel in kernels))]
    calls, methods = [], []
    caught = [throwing_outside_of_threads(kernel.source) for kernel in kernels]
    sources, helpers = _by_teams(caught)
    text.append(helpers)
    if any("npaccel::" in kernel.source for kernel in kernels):
        text.append(vector_helpers())
    if any(one != kernel.source for one, kernel in zip(caught, kernels, strict=True)):
        text.append(CAUGHT)
    for i, (kernel, source) in enumerate(zip(kernels, sources, strict=True)):
        body = _INCLUDE.sub("", source).replace(_DECLARED, "static")
        text.append(f"namespace kernel_{i} {{\n{body}\n}}")
        count = len(kernel.types)
        given = ", ".join(f"Given{{given[{n}]}}" for n in range(count))
        calls.append(
            f"PyObject* call_{i}(PyObject*, PyObject* const* given, Py_ssize_t count)\n"
            f"{{ return called(count, {count}, [&] {{ kernel_{i}::kernel({given}); }}); }}"
        )
        function = f"reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_{i}))"
        methods.append(f'    {{"kernel_{i}", {function}, METH_FASTCALL, ""}},')
    table = "\n".join([*calls, "PyMethodDef methods[] = {", *methods, "};"])
    binding = _BINDING.replace("SHARE_ALONE", preamble.sharing(helpers))
    return "\n".join([*text, binding.replace("MAKER", MAKER).replace("METHODS", table)])


def _by_teams(sources: Sequence[str]) -> tuple[list[str], str]:
    """Return kernels' code for threads that take parts of loops, and what it calls."""
    threads = parallel_num_threads()  # type: ignore[no-untyped-call]
    shared = [shared_by_teams(source, threads) for source in sources]
    return shared, team_helpers() if shared != list(sources) else ""


def _lean_file_of(kernels: Sequence[_Kernel]) -> str:
    """Write a file that includes nothing."""
    given = [preamble.without_unused_checks(kernel.source) for kernel in kernels]
    sources = [throwing_outside_of_threads(source) for source in given]
    text = ["namespace lean {", preamble.preamble(sources)]
    if sources != given:
        text.append(preamble.caught())
    sources, helpers = _by_teams(sources)
    text.append(helpers)
    for i, source in enumerate(sources):
        body = _INCLUDE.sub("", source).replace(_DECLARED, "static")
        text.append(f"namespace kernel_{i} {{\n{body}\n}}")
    types = [kernel.types for kernel in kernels]
    return "\n".join([*text, preamble.binding(types, MAKER, preamble.sharing(helpers)), "}", ""])


def _in_full(original: Any) -> Any:
    """Pass Python floats to kernels in 64 bit; Inductor rounds those read from tensors to 32."""

    def cpp_argdefs(self: Any, *args: Any, **kwargs: Any) -> Any:
        definitions, names, types = original(self, *args, **kwargs)
        return [_as_double(text) for text in definitions], names, [_as_double(t) for t in types]

    return cpp_argdefs


def _as_double(text: str) -> str:
    """A kernel's parameter, or its type; pointers stay as they are."""
    return text if "*" in text else re.sub("^const float", "const double", text)


_WHY = "Inductor runs a compiler for each kernel"
_TEST = "tests/torch_layer/inductor/test_kernel_files.py"

PATCHES = (
    Patch(AsyncCompile, "cpp_pybinding", _asking, _WHY, _TEST),
    Patch(AsyncCompile, "wait", _waiting, _WHY, _TEST),
    Patch(
        KernelArgs, "cpp_argdefs", _in_full,
        "Inductor rounds Python floats to 32 bits", _TEST,
    ),
)  # fmt: skip

__all__ = ["headers_told", "kernels_in_few_files"]
