"""The way of one call: classify arguments, key, artifact, run, restore results.

An `Engine` serves one function under one set of options. A signature that was
seen before takes its runner; a new one is looked up on disk, or captured and
compiled. What can't be captured as one graph runs in pieces or in NumPy, and
the log says so.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from npaccel._process import fork, signals
from npaccel._process.imports import load, uncut
from npaccel._report import Fallback, Graph, Log
from npaccel._report.describe import describe
from npaccel._report.suggestions import remedy
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import artifacts, binding, error_translation
from npaccel._runtime.artifacts import Kept
from npaccel._runtime.call_samples import sample
from npaccel._runtime.error_translation import (
    CompiledCodeError,
    Patience,
    UncompiledForMemoryError,
    before_a_call,
)
from npaccel._runtime.guard_serialization import NotKeepableError
from npaccel._runtime.guards import Condition, Scope, failed, readable
from npaccel._runtime.options import Options
from npaccel._runtime.runner import FAILED, MISS, OVERLAP, Compiled, Runner, for_key, make_runner
from npaccel._runtime.torch.loader import NotPortableError
from npaccel._syntax import wide_data
from npaccel._torch import quietly_imported
from npaccel.errors import (
    DeviceNotFoundError,
    NotCompiledError,
    PerformanceWarning,
    StaticArgumentError,
    VerificationError,
    VerificationWarning,
)

if TYPE_CHECKING:
    from npaccel._report.details import Details

#: So many calls whose indices are special are interpreted before such code is compiled.
MAX_INTERPRETED = 8
#: So many signatures of one kind are compiled; later ones run in NumPy.
MAX_CAPTURES = 32

Key = tuple[Any, ...]
#: For calls by position.
NO_KEYWORDS: dict[str, Any] = {}


class Engine:
    """Compile and run one function under one set of options.

    Parameters
    ----------
    function : types.FunctionType
    options : Options
    log : Log
        Where the report comes from.
    varying : frozenset of int
        Positions of parameters whose numbers differ from call to call. One
        artifact serves them all.
    indexing : frozenset of int
        Those of them that are indices. Compiled code treats 0 and 1 specially
        there; calls that need such code are interpreted as long as they are few.
    label : str
        What part of a function this is, for the report.
    on_wide : callable, optional
        Of a part of a function that narrows floats: is called where the part meets 64-bit ones.
        NumPy scalars don't count, which other parts have computed of Python numbers.
    """

    #: Makes the first call of a signature with ``verify``; `npaccel._jit` hands it in.
    verifier: ClassVar[Callable[[Engine, Sequence[Any], Key], Any]]

    def __init__(
        self,
        function: FunctionType,
        options: Options,
        log: Log,
        *,
        varying: frozenset[int] = frozenset(),
        indexing: frozenset[int] = frozenset(),
        label: str = "",
        on_wide: Callable[[], None] | None = None,
    ) -> None:
        self.function = function
        self.options = options
        self.log = log
        self.varying = varying if options.dynamic is not False else frozenset()
        self.indexing = indexing & self.varying
        self.label = label
        self.on_wide = on_wide
        #: Whether the last capture met 64-bit floats besides the arguments; by kind of call.
        self.captures_wide = False
        self._widths: dict[Key, bool] = {}
        self._interpreted = 0
        self._patience = Patience()
        #: What made the last call, None if that was none of a known signature.
        self.last: Runner | None = None
        #: How often a call had to be captured, compiled or looked up on disk.
        self.compilations = 0
        self.binding = binding.Binding(function)
        self.scope = Scope(function, self.binding.names)
        self.arity = self.binding.arity
        self.runners: dict[Key, list[Runner]] = {}
        self.static = self._static_positions()
        self.varying_names = {f"a_{self.binding.names[i]}" for i in self.varying}
        self._has_own_key = bool(self.static or self.varying)
        self._generic: dict[Key, list[Compiled | Kept]] = {}
        self._generic_frames: dict[Key, list[Runner]] = {}
        self._histories: dict[Key, Any] = {}
        self._captures: dict[Key, int] = {}
        self._conditions: dict[Key, Sequence[Condition]] = {}
        self._last_keys: dict[Key, Key] = {}
        #: What artifacts from disk were first called with, until something else is compiled.
        self._loaded: dict[Key, dict[str, runtime_arguments.Sizes]] = {}
        self._made_interpreter: Engine | None = None
        self._known_group = ""
        self._lock = threading.RLock()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self._lock = threading.RLock()
        self.log.lock = threading.Lock()

    def _static_positions(self) -> frozenset[int]:
        names = self.options.static_argnames
        unknown = [name for name in names if name not in self.binding.names]
        if unknown:
            raise TypeError(
                f"jit: `static_argnames` has {unknown[0]!r}, which isn't a parameter of "
                f"{self.function.__qualname__}; its parameters are {', '.join(self.binding.names)}"
            )
        return frozenset(self.binding.names.index(name) for name in names)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        values: Sequence[Any] = args
        if kwargs or len(args) != self.arity:
            values = self.binding.bind(args, kwargs)
        key = self._key(values) if self._has_own_key else runtime_arguments.signature_key(values)
        for runner in self.runners.get(key, ()):
            try:  # As `_run` does, without a frame of its own: most calls end here.
                result = runner(values)
            except CompiledCodeError as failure:
                result = self._after_error(failure, values)
            except RuntimeError as error:
                error_translation.raise_without_memory(error)
                raise
            if result is not MISS:
                self.last = runner
                if result is OVERLAP or result is FAILED:
                    return self._in_numpy(result, values)
                return result
        self.last = None
        return self._slow(values, key)

    def _key(self, values: Sequence[Any]) -> Key:
        parts: list[Any] = []
        for i, value in enumerate(values):
            if type(value) is np.ndarray and i not in self.static:
                parts.append(runtime_arguments.array_token(value))
                continue
            if i in self.varying and type(value) in (int, float):
                parts.append(type(value))
                continue
            if i not in self.static:
                parts.append(runtime_arguments.token(value))
                continue
            try:
                hash(value)
            except TypeError as error:
                raise StaticArgumentError(
                    f"jit: argument {self.binding.names[i]!r} is static, but a "
                    f"{type(value).__qualname__} can't be hashed; pass a tuple or another "
                    "hashable value, or take its name out of `static_argnames`"
                ) from error
            parts.append(("static", type(value), value))
        return tuple(parts)

    def _run(self, runner: Runner, values: Sequence[Any]) -> Any:
        try:
            result = runner(values)
        except CompiledCodeError as failure:
            return self._after_error(failure, values)
        except RuntimeError as error:
            error_translation.raise_without_memory(error)
            raise
        return self._in_numpy(result, values) if result is OVERLAP or result is FAILED else result

    def _after_error(self, failure: CompiledCodeError, values: Sequence[Any]) -> Any:
        load("npaccel._compiler.error_recovery")
        from npaccel._compiler import error_recovery

        return error_recovery.after_error(self, failure, values)

    def _in_numpy(self, result: object, values: Sequence[Any]) -> Any:
        """Answer a call that compiled code has left to NumPy."""
        return self._overlapping(values) if result is OVERLAP else self.plain(values)

    def has_wide(self, values: Sequence[Any]) -> bool:
        """Whether 64-bit floats are among arguments, so that a call narrows none."""
        if self.options.narrow_inputs:
            return False
        return wide_data.has_wide(values, scalars=self.on_wide is None)

    def narrows(self, values: Sequence[Any]) -> bool:
        """Whether invented floats are 32 bit in calls like this one, which was made before."""
        if self.options.default_float == "float64" or self.has_wide(values):
            return False
        coarse = runtime_arguments.coarse_key(values, self.static, self.varying)
        return not self._widths.get(coarse, self.captures_wide)

    def note_width(self, values: Sequence[Any], captures_wide: bool) -> None:
        """Note whether a call met 64-bit floats besides its arguments."""
        self.captures_wide = captures_wide
        coarse = runtime_arguments.coarse_key(values, self.static, self.varying)
        self._widths[coarse] = captures_wide

    # -- Without compiled code ------------------------------------------------

    def plain(self, values: Sequence[Any]) -> Any:
        """Run the function itself, in NumPy; tensors go through the host."""
        if not self._has_tensors(values):
            return self.binding.call(values)
        load("npaccel._runtime.host_fallback")
        from npaccel._runtime import host_fallback

        return host_fallback.through_host(self.binding.call, values, self.log)

    def _has_tensors(self, values: Sequence[Any]) -> bool:
        return runtime_arguments.device_of(values) is not None

    def _overlapping(self, values: Sequence[Any]) -> Any:
        repeats = any(
            isinstance(part, np.ndarray) and runtime_arguments.distinct(part) is not part
            for value in values
            for _, part in runtime_arguments.parts(value, "")
        )
        what = "have elements that share memory" if repeats else "share memory with other arguments"
        cause = f"arrays that the function writes to {what}, so this call runs in NumPy"
        advice = "pass copies of the arrays that overlap"
        if self.options.strict:
            self.fall_back(cause, advice)
        result = self.plain(values)  # NumPy's own error, if it is one, comes first.
        self.fall_back(cause, advice)
        return result

    def fall_back(
        self,
        cause: str,
        advice: str = "",
        *,
        file: str = "",
        line: int = 0,
        text: str = "",
        kind: str = "function",
        once: bool = False,
        error: type[NotCompiledError] = NotCompiledError,
    ) -> None:
        """Note that something runs uncompiled: warn once per cause, or raise.

        `kind` says whether what is around it is compiled, see `Fallback`; `once` whether the cause
        is one for all lines, and `error` is what is raised.

        Raises
        ------
        NotCompiledError
            With ``strict=True``.
        """
        code = self.function.__code__
        fallback = Fallback(
            file or code.co_filename,
            line or code.co_firstlineno,
            text,
            cause,
            advice or remedy(cause, text),
            kind,
        )
        message = f"{self.function.__qualname__}: {fallback}"
        if self.options.strict:
            raise error(message)
        if self.log.add_fallback(fallback, once):
            warnings.warn_explicit(
                message, PerformanceWarning, fallback.file, fallback.line, registry={}
            )

    # -- A new signature ------------------------------------------------------

    def _slow(self, values: Sequence[Any], key: Key) -> Any:
        if not self.label:
            self.log.note_call(sample(values))
        usual = runtime_arguments.usual_key(values, key)
        if usual is not key:
            result = self._known(values, usual)
            if result is not MISS:
                self.runners[key] = self.runners[usual]
                return result
            key = usual
        if not self.options.verify:
            return self._find_or_compile(values, key)
        return Engine.verifier(self, values, key)

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the compiled function with bound values, whatever ``verify`` says."""
        key = runtime_arguments.usual_key(values, self._key(values))
        result = self._known(values, key)
        return self._find_or_compile(values, key) if result is MISS else result

    def _known(self, values: Sequence[Any], key: Key) -> Any:
        """Answer a call with what was made for its signature, `MISS` if that isn't the one."""
        for runner in self.runners.get(key, ()):
            result = self._run(runner, values)
            if result is not MISS:
                return result
        return MISS

    def refuse(self, key: Key, values: Sequence[Any], why: str) -> Any:
        """Raise for a signature that isn't as in NumPy, at every call, or let NumPy answer.

        Raises
        ------
        VerificationError
            With ``verify=True``.
        """

        def runner(values: Sequence[Any]) -> Any:
            if self.options.verify != "warn":
                raise VerificationError(why)
            return self.plain(values)

        self.runners[key] = [runner]
        if self.options.verify == "warn":
            warnings.warn_explicit(
                f"{why}\nNumPy answers calls of this signature",
                VerificationWarning,
                self.function.__code__.co_filename,
                self.function.__code__.co_firstlineno,
                registry={},
            )
        return runner(values)

    def _find_or_compile(self, values: Sequence[Any], key: Key) -> Any:
        device = self._device(values)
        if self.on_wide is not None and self.has_wide(values):
            self.on_wide()
        with self._lock:
            result = self._known(values, key)  # Another thread may have been faster.
            if result is not MISS:
                return result
            coarse = runtime_arguments.coarse_key(values, self.static, self.varying)
            result = self._generic_runner(values, key, coarse)
            if result is not MISS:
                return result
            if self._patience.calls:
                return self._without_memory(values)
            try:
                kept = self._from_disk(values, key, coarse)
                if kept is not MISS:
                    return kept
                if self._is_special(values, coarse):
                    self._interpreted += 1
                    self.compilations += 1
                    return self._interpreter()(tuple(values), NO_KEYWORDS)
                return self._compile_and_run(values, key, coarse, device)
            except UncompiledForMemoryError as error:
                self._patience.begin()
                shortage = error
            return self._without_memory(values, shortage)

    def _without_memory(self, values: Sequence[Any], error: Exception | None = None) -> Any:
        """Let NumPy make a call that there is no memory to compile for.

        Raises
        ------
        MemoryError
            With ``strict=True``, or NumPy's own.
        """
        self._patience.calls -= 1
        if self.options.strict:
            why = "it isn't compiled, because memory has run out; give the process more"
            raise MemoryError(f"{self.function.__qualname__}: {why}") from error
        result = self.plain(values)  # NumPy's own error, if it is one, comes first.
        self.fall_back(*error_translation.NO_MEMORY_TO_COMPILE)
        return result

    def _device(self, values: Sequence[Any]) -> torch.device:
        """Return where a call is computed.

        Raises
        ------
        MixedDevicesError, DeviceNotFoundError
        """
        of_tensors = runtime_arguments.device_of(values)
        if of_tensors is not None:
            return of_tensors
        return device_named(self.options.device)

    def _generic_runner(self, values: Sequence[Any], key: Key, coarse: Key) -> Any:
        for found in self._generic.get(coarse, ()):
            runner = self._bind(found)
            result = self._run(runner, values)
            if result is not MISS:
                self._remember(key, for_key(runner))
                return result
        for runner in self._generic_frames.get(coarse, ()):
            result = self._run(runner, values)
            if result is not MISS:
                self._remember(key, runner)
                return result
        return MISS

    def _remember(self, key: Key, runner: Runner) -> None:
        if len(self.runners) > 4096:  # So many shapes of one function aren't worth keeping.
            self.runners.clear()
        self.runners.setdefault(key, []).insert(0, runner)

    def forget(self, runner: Runner) -> None:
        """Compile anew what a runner was kept for."""
        for runners in self.runners.values():
            if runner in runners:
                runners.remove(runner)

    def once(self, run: Runner) -> Runner:
        """Return what makes one call, and has the next one compiled anew."""

        def runner(values: Sequence[Any]) -> Any:
            self.forget(runner)
            return run(values)

        return runner

    def _bind(self, found: Compiled | Kept) -> Runner:
        return make_runner(found.plan, found.code, found.conditions, self.scope)

    # -- Indices that are special ---------------------------------------------

    def _is_special(self, values: Sequence[Any], coarse: Key) -> bool:
        """Whether a call is likely to be one of few that need code of their own."""
        if not self.indexing or self.options.backend == "eager":
            return False
        first = any(type(values[i]) is int and values[i] in (0, 1) for i in self.indexing)
        return (first or coarse in self._generic) and self._interpreted < MAX_INTERPRETED

    # Under this engine's lock, as below: that of `functools.cached_property` is one for all
    # objects in Python 3.11, and a child that is forked meanwhile deadlocks on it.
    def _interpreter(self) -> Engine:
        if self._made_interpreter is None:
            options = dataclasses.replace(self.options, backend="eager", cache=False)
            self._made_interpreter = Engine(
                self.function,
                options,
                self.log,
                varying=self.varying,
                label=f"{self.label}, few calls",
                on_wide=self.on_wide,
            )
        return self._made_interpreter

    # -- Disk -----------------------------------------------------------------

    def _group(self) -> str:
        if not self._known_group:
            self._known_group = artifacts.group_key(self.scope, self.options)
        return self._known_group

    def _texts(self, key: Key, coarse: Key) -> list[str]:
        grad = torch.is_grad_enabled()
        if self.options.dynamic is True:
            return [artifacts.key_text(("generic", coarse, grad))]
        return [
            artifacts.key_text(("fixed", key, grad)),
            artifacts.key_text(("generic", coarse, grad)),
        ]

    def _keeps(self) -> bool:
        return self.options.cache and self.options.backend == "inductor"

    def _from_disk(self, values: Sequence[Any], key: Key, coarse: Key) -> Any:
        if not self._keeps():
            return MISS
        from npaccel._cache.store import default_cache

        start = time.perf_counter()
        try:
            texts = self._texts(key, coarse)
            with before_a_call():
                entries = signals.held(default_cache().load_group, self._group())
        except NotKeepableError:
            return MISS
        arguments = dict(zip(self.binding.names, values, strict=True))
        for text in texts:
            try:
                found = artifacts.find(entries, text, self.scope, arguments)
                while (kept := signals.held(next, found, None)) is not None:
                    result = self._first_of_kept(kept, values, key, coarse, start)
                    if result is not MISS:
                        return result
            except (NotPortableError, OSError, ImportError) as error:
                self.log.add_note(f"an artifact on disk couldn't be loaded: {error}")
        return MISS

    def _first_of_kept(
        self, kept: Kept, values: Sequence[Any], key: Key, coarse: Key, start: float
    ) -> Any:
        """Run an artifact from disk, and remember it if it's the one for a call."""
        runner = self._bind(kept)
        result = self._run(runner, values)
        if result is MISS:
            return MISS
        self._remember(key, for_key(runner))
        self.compilations += 1
        if not self.has_wide(values):
            self.note_width(values, kept.plan.has_wide_data)
        self._last_keys[coarse] = key
        self._loaded.setdefault(coarse, runtime_arguments.sizes(self.binding.names, values))
        if kept.plan.is_generic:
            self._generic.setdefault(coarse, []).append(kept)
        self.log.add_graph(
            Graph(
                signature=self.describe(values),
                generic=kept.plan.is_generic,
                backend=self.options.backend,
                seconds=(seconds := time.perf_counter() - start),
                loaded=True,
                artifact=str(kept.entry.folder),
                source=kept.source,
                stages={"load": seconds},
                details=kept.details,
            )
        )
        return result

    def describe(self, values: Sequence[Any]) -> str:
        """Return a call's arguments as text."""
        text = describe(values, self.binding.names)
        return f"{self.label}: {text}" if self.label else text

    def _store(
        self, compiled: Compiled, details: Details, key: Key, coarse: Key
    ) -> tuple[str | None, str]:
        """Keep a compiled signature; returns where, or why not."""
        if not self._keeps():
            return None, ""
        if compiled.not_kept:
            return None, compiled.not_kept
        from npaccel._cache.store import default_cache

        portable_source = load("npaccel._torch.inductor.portable_code").portable_source
        try:
            texts = self._texts(key, coarse)
            generic = compiled.plan.is_generic
            kept = artifacts.encode_details(details, self.function.__code__)
            text = texts[-1] if generic else texts[0]
            source = portable_source(compiled.source)
            entry = artifacts.store(default_cache(), self._group(), text, compiled, source, kept)
        except (NotKeepableError, NotPortableError) as error:
            return None, str(error)
        except MemoryError:  # The call is made, and its result known.
            return None, "memory has run out"
        return (
            (None, "the cache folder can't be used") if entry is None else (str(entry.folder), "")
        )

    # -- Capture and compilation ----------------------------------------------

    def _compile_and_run(
        self, values: Sequence[Any], key: Key, coarse: Key, device: torch.device
    ) -> Any:
        count = self._captures.get(coarse, 0)
        if count >= MAX_CAPTURES:
            self.fall_back(
                f"{count} signatures of one kind were compiled already, so new ones run in NumPy",
                "pass what changes as an array instead of a Python number, "
                "or keep it in static_argnames only if it has few values",
            )
            return self.plain(values)
        failure = self._import_compiler(device)
        if failure:
            return self._without_compiler(failure, values, key)
        from npaccel._compiler import compile as compiler_compile

        start = time.perf_counter()
        cause, condition = self._cause(key, coarse, values)
        history = self._histories.get(coarse)
        if history is None:
            history = compiler_compile.new_history(self)
            history.note(self.function.__code__, self._loaded.pop(coarse, {}))
            self._histories[coarse] = history
        self._captures[coarse] = count + 1
        self.compilations += 1
        self._last_keys[coarse] = key
        try:
            outcome = compiler_compile.compile_call(self, values, history, device)
        except BaseException as error:
            is_no_failure = isinstance(error, UncompiledForMemoryError | MemoryError)
            if is_no_failure or not isinstance(error, Exception) or signals.from_handler(error):
                # The next call tries again.
                self._captures[coarse] = count
            raise
        self._patience.end()
        if isinstance(outcome, compiler_compile.Uncompiled):
            self._remember(key, outcome.runner)
            return outcome.runner(values)
        result = outcome.result
        self._conditions[key] = outcome.conditions
        artifact: str | None = None
        not_kept = outcome.not_kept
        if outcome.compiled is not None:
            runner = self._bind(outcome.compiled)
            self._remember(key, runner)
            if outcome.compiled.plan.is_generic:
                self._generic.setdefault(coarse, []).append(outcome.compiled)
            artifact, not_kept = signals.held(
                self._store, outcome.compiled, outcome.details, key, coarse
            )
        else:
            self._remember(key, outcome.runner)
            if outcome.generic:
                self._generic_frames.setdefault(coarse, []).append(outcome.runner)
        self.log.add_graph(
            Graph(
                signature=self.describe(values),
                generic=outcome.generic,
                backend=self.options.backend,
                seconds=(seconds := time.perf_counter() - start),
                artifact=artifact,
                not_kept=not_kept,
                cause=cause,
                condition=condition,
                source=outcome.source,
                stages=outcome.stages | {"rest": seconds - sum(outcome.stages.values())},
                details=outcome.details,
            )
        )
        return result

    def _import_compiler(self, device: torch.device) -> str:
        """Import what captures and compiles; return why that can't be."""
        try:
            with before_a_call():
                if self.options.backend == "inductor" and device.type == "cpu":
                    uncut(quietly_imported("npaccel._compiler.scratch").begin_header)
                quietly_imported("npaccel._compiler.compile")
        except (MemoryError, UncompiledForMemoryError):  # The next call tries again.
            raise
        except Exception as error:
            if signals.from_handler(error):
                raise
            return f"{type(error).__name__}: {error}"
        return ""

    def _without_compiler(self, failure: str, values: Sequence[Any], key: Key) -> Any:
        """Let NumPy answer where the compiler can't be imported in this process."""
        result = self.plain(values)
        self.fall_back(
            f"torch's compiler can't be imported: {failure}",
            "start Python anew; if it says so again, reinstall torch",
        )
        self._remember(key, self.plain)
        return result

    def _cause(self, key: Key, coarse: Key, values: Sequence[Any]) -> tuple[str, str]:
        """Say why there is no runner yet, where there are others of this kind.

        Returns
        -------
        cause, condition : str
            In words, and the condition that doesn't hold any more.
        """
        load("npaccel._compiler.recompile_reasons")
        from npaccel._compiler.recompile_reasons import differing, failed_condition

        names = self.binding.names
        if key in self.runners:
            arguments = dict(zip(names, values, strict=True))
            changed = failed(self._conditions.get(key, ()), self.scope, arguments)
            what = "something it reads" if changed is None else readable(changed.expression)
            condition = ""
            if changed is not None:
                condition = failed_condition(changed, self.scope, arguments)
            return f"{what} changed since the last compilation", condition
        earlier = self._last_keys.get(coarse)
        if earlier is not None:
            which, condition = differing(names, earlier, key)
            return f"{which} has another shape or value than before", condition
        if self._last_keys:
            last = list(self._last_keys.values())[-1]
            which, condition = differing(names, last, key)
            return f"{which} has another dtype, layout or structure", condition
        return "", ""


def device_named(name: str | None) -> torch.device:
    """Return the device of the option ``device``.

    Raises
    ------
    DeviceNotFoundError
        If torch doesn't see it.
    """
    if name is None or name == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if name == "auto":
        return torch.device("cuda:0" if count else "cpu")
    device = torch.device(name)
    index = device.index or 0
    if index < count:
        return torch.device("cuda", index)
    seen = ", ".join(f"cuda:{i}" for i in range(count))
    devices = "device" if count == 1 else "devices"
    advice = f'pass device="{seen.split(",")[0]}"' if count else 'pass device="cpu"'
    raise DeviceNotFoundError(
        f'jit: `device="{name}"` was asked for, but torch sees {count} CUDA {devices}'
        + (f" ({seen})" if count else "")
        + f"; {advice}"
    )
