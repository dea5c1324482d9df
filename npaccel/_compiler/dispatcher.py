"""Dispatch a call by its signature: to a runner, to an artifact on disk, or to the compiler.

A `Dispatcher` serves one function under one set of options. A signature that was seen before takes
its runner; a new one is looked up on disk, or captured and compiled. What can't be captured as one
graph runs around its graph breaks or in NumPy, and the log says so.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from npaccel._compiler import fallback
from npaccel._compiler.call_samples import sample
from npaccel._compiler.compiler_import import import_compiler
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._process import background, fork, logs, signals
from npaccel._process.imports import load
from npaccel._report import Graph
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import error_translation
from npaccel._runtime.error_translation import (
    CompiledCodeError,
    Patience,
    UncompiledForMemoryError,
)
from npaccel._runtime.guards import Guard, failed, readable
from npaccel._runtime.runner import (
    MISS,
    OVERLAP,
    TO_NUMPY,
    Compiled,
    Runner,
    for_key,
    make_runner,
)
from npaccel.errors import StaticArgumentError, VerificationError, VerificationWarning

if TYPE_CHECKING:
    from npaccel._compiler.behind import Behind
    from npaccel._compiler.planning import CompiledCall
    from npaccel._compiler.stored_signatures import StoredSignatures
    from npaccel._runtime.artifacts import Artifact

#: Maximum number of calls with special indices that are interpreted before they get compiled code.
MAX_INTERPRETED = 8
#: Maximum number of signatures of one kind that are compiled; later ones run in NumPy.
MAX_CAPTURES = 32
#: Maximum number of keys that have a runner; more shapes of one function aren't worth keeping.
MAX_KEYS = 4096
#: Reason for a graph without an artifact yet; in a child that is forked meanwhile it stays.
_BEING_STORED = "it is being written, or was when the process was forked"

Key = tuple[Any, ...]
#: Keywords of calls by position.
NO_KEYWORDS: dict[str, Any] = {}


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A signature that is being compiled.

    Parameters
    ----------
    key, rank_key : tuple
        Of the call that it's compiled for.
    count : int
        How many signatures of the kind were compiled before.
    signature, reason, guard : str
        What the report says of it.
    start : float
        By `time.perf_counter`.
    """

    key: Key
    rank_key: Key
    count: int
    signature: str
    reason: str
    guard: str
    start: float


class Dispatcher:
    """Find or make what runs each signature of a function's calls.

    Parameters
    ----------
    spec : FunctionSpec
    indexing : frozenset of int
        Those of the varying parameters that are indices. Compiled code treats 0 and 1 specially
        there; calls that need such code are interpreted as long as they are few.
    may_go_behind : bool
        Whether calls may be answered otherwise while a signature is compiled, where the option
        ``compile`` says so.
    """

    #: Makes the first call of a signature with ``verify``; `npaccel._jit` hands it in.
    verifier: ClassVar[Callable[[Dispatcher, Sequence[Any], Key], Any]]

    def __init__(
        self,
        spec: FunctionSpec,
        indexing: frozenset[int] = frozenset(),
        *,
        may_go_behind: bool = False,
    ) -> None:
        self.spec = spec
        self.indexing = indexing & spec.varying
        self._interpreted = 0
        self._patience = Patience()
        #: Runner of the last call, None if that was none of a known signature.
        self.last: Runner | None = None
        #: Number of calls that had to be captured, compiled or looked up on disk, or were answered
        #: otherwise meanwhile.
        self.compilations = 0
        self.runners: dict[Key, list[Runner]] = {}
        # Each call reads these.
        self._arity = spec.binding.arity
        self._has_own_key = bool(spec.static or spec.varying)
        self._dynamic: dict[Key, list[Compiled | Artifact]] = {}
        self._dynamic_frames: dict[Key, list[Runner]] = {}
        #: First signature of each kind that was compiled around graph breaks.
        self._broken: dict[Key, fallback.Uncompiled] = {}
        self._histories: dict[Key, Any] = {}
        self._captures: dict[Key, int] = {}
        self._guards: dict[Key, Sequence[Guard]] = {}
        self._last_keys: dict[Key, Key] = {}
        #: Sizes that artifacts from disk were first called with, until something else is compiled.
        self._loaded: dict[Key, dict[str, runtime_arguments.Sizes]] = {}
        self._made_interpreter: Dispatcher | None = None
        self._goes_behind = may_go_behind and spec.options.compile != "now"
        self._made_behind: Behind | None = None
        self._made_stored: StoredSignatures | None = None
        #: Callback for a new signature, of whoever makes such calls otherwise.
        self.on_new: Callable[[], None] | None = None
        self._lock = threading.RLock()
        fork.renew(self)

    def renew_locks(self) -> None:
        """Free what another thread held when this process was forked."""
        self._lock = threading.RLock()
        self.spec.log.lock = threading.Lock()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        values: Sequence[Any] = args
        if kwargs or len(args) != self._arity:
            values = self.spec.binding.bind(args, kwargs)
        key = self._key(values) if self._has_own_key else runtime_arguments.signature_key(values)
        for runner in self.runners.get(key, ()):
            try:  # As `_run` does, without a frame of its own: most calls end here.
                result = runner(values)
            except CompiledCodeError as failure:
                result = fallback.after_error(self.spec, failure, values)
            except RuntimeError as error:
                error_translation.raise_without_memory(error)
                raise
            if result is not MISS:
                self.last = runner
                if result is OVERLAP or result is TO_NUMPY:
                    return fallback.answer(self.spec, result, values)
                return result
        self.last = None
        return self._slow(values, key)

    def _key(self, values: Sequence[Any]) -> Key:
        static, varying = self.spec.static, self.spec.varying
        parts: list[Any] = []
        for i, value in enumerate(values):
            if type(value) is np.ndarray and i not in static:
                parts.append(runtime_arguments.array_token(value))
                continue
            if i in varying and type(value) in (int, float):
                parts.append(type(value))
                continue
            if i not in static:
                parts.append(runtime_arguments.call_token(value))
                continue
            try:
                hash(value)
            except TypeError as error:
                raise StaticArgumentError(
                    f"jit: argument {self.spec.binding.names[i]!r} is static, but a "
                    f"{type(value).__qualname__} can't be hashed; pass a tuple or another "
                    "hashable value, or take its name out of `static_argnames`"
                ) from error
            parts.append(("static", type(value), value))
        return tuple(parts)

    def _run(self, runner: Runner, values: Sequence[Any]) -> Any:
        try:
            result = runner(values)
        except CompiledCodeError as failure:
            return fallback.after_error(self.spec, failure, values)
        except RuntimeError as error:
            error_translation.raise_without_memory(error)
            raise
        if result is OVERLAP or result is TO_NUMPY:
            return fallback.answer(self.spec, result, values)
        return result

    def narrows(self, values: Sequence[Any]) -> bool:
        """Whether invented floats are 32 bit in calls like this one, which was made before."""
        return self.spec.narrows(values)

    # -- A new signature ------------------------------------------------------

    def _settled(self, values: Sequence[Any], key: Key) -> Any:
        """Make a call that is compiled nowhere here, `MISS` if that isn't known of it."""
        runner = fallback.settled_runner(self.spec, values)
        if runner is None:
            return MISS
        if self.on_new is not None:
            self.on_new()
        self._remember(key, runner)
        return runner(values)

    def _slow(self, values: Sequence[Any], key: Key) -> Any:
        result = self._settled(values, key)
        if result is not MISS:
            return result
        if not self.spec.label:
            self.spec.log.note_call(sample(values))
        usual = runtime_arguments.usual_key(values, key)
        if usual is not key:
            result = self._known(values, usual)
            if result is not MISS:
                self.runners[key] = self.runners[usual]
                return result
            key = usual
        if not self.spec.options.verify:
            waits = not (self._goes_behind and background.is_used())
            return self._find_or_compile(values, key, waits=waits)
        return Dispatcher.verifier(self, values, key)

    def get_ready(self) -> None:
        """Do nothing: what compiles calls beside the program imports the compiler there."""

    def run_unverified(self, values: Sequence[Any]) -> Any:
        """Call the compiled function with bound values, whatever ``verify`` and ``compile`` say."""
        with background.unused():
            key = runtime_arguments.usual_key(values, self._key(values))
            result = self._known(values, key)
            if result is MISS:
                result = self._settled(values, key)
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
            if self.spec.options.verify != "warn":
                raise VerificationError(why)
            return fallback.run_in_numpy(self.spec, values)

        self.runners[key] = [runner]
        if self.spec.options.verify == "warn":
            warnings.warn_explicit(
                f"{why}\nNumPy answers calls of this signature",
                VerificationWarning,
                self.spec.function.__code__.co_filename,
                self.spec.function.__code__.co_firstlineno,
                registry={},
            )
        return runner(values)

    def _find_or_compile(self, values: Sequence[Any], key: Key, *, waits: bool = True) -> Any:
        device = self.spec.device_for(values)
        if self.spec.on_wide is not None and self.spec.has_wide(values):
            self.spec.on_wide()
        with self._lock:
            result = self._known(values, key)  # Another thread may have been faster.
            if result is not MISS:
                return result
            rank_key = self.spec.rank_key(values)
            result = self._dynamic_runner(values, key, rank_key)
            if result is not MISS:
                return result
            if self._patience.calls:
                return fallback.without_memory(self.spec, values, self._patience)
            if self.on_new is not None:
                self.on_new()
            runner = None if waits else self._runner_of_kind(rank_key)
            try:
                loaded = self._from_disk(values, key, rank_key) if runner is None else MISS
                if loaded is not MISS:
                    return loaded
                if runner is None and not waits:
                    runner = self._runner_meanwhile(values, key, rank_key, device)
                if runner is None and self._is_special(values, rank_key):
                    self._interpreted += 1
                    self.compilations += 1
                    return self._interpreter()(tuple(values), NO_KEYWORDS)
                if runner is None:
                    return self._compile_and_run(values, key, rank_key, device)
                # Other runners of the signature are asked first.
                self.runners.setdefault(key, []).append(runner)
            except UncompiledForMemoryError as error:
                self._patience.begin()
                return fallback.without_memory(self.spec, values, self._patience, error)
        return runner(values)

    def _dynamic_runner(self, values: Sequence[Any], key: Key, rank_key: Key) -> Any:
        for found in self._dynamic.get(rank_key, ()):
            runner = self._bind(found)
            result = self._run(runner, values)
            if result is not MISS:
                self._remember(key, for_key(runner))
                return result
        for runner in self._dynamic_frames.get(rank_key, ()):
            result = self._run(runner, values)
            if result is not MISS:
                self._remember(key, runner)
                return result
        return MISS

    def _remember(self, key: Key, runner: Runner) -> None:
        if len(self.runners) > MAX_KEYS:
            self.runners.clear()
        self.runners.setdefault(key, []).insert(0, runner)

    def _forget(self, runner: Runner) -> None:
        """Have the signature of a runner compiled again."""
        for runners in list(self.runners.values()):
            if runner in runners:
                runners.remove(runner)

    def _bind(self, found: Compiled | Artifact) -> Runner:
        return make_runner(found.plan, found.code, found.guards, self.spec.scope)

    # -- Calls that don't wait ------------------------------------------------

    def is_pending(self) -> bool:
        """Whether calls are answered otherwise until something is compiled."""
        return self._made_behind is not None and self._made_behind.is_pending()

    def _runner_of_kind(self, rank_key: Key) -> Runner | None:
        """Return what makes calls while one of their kind is compiled; None if none is."""
        behind = self._made_behind
        return None if behind is None else behind.runner_of_kind(rank_key)

    def _runner_meanwhile(
        self, values: Sequence[Any], key: Key, rank_key: Key, device: torch.device
    ) -> Runner | None:
        """Return what makes calls of a signature until it's compiled; None if they wait."""
        if self._captures.get(rank_key, 0) >= MAX_CAPTURES:
            return None
        if self._made_behind is None:
            self._made_behind = load("npaccel._compiler.behind").Behind(self)
        return self._made_behind.runner(values, key, rank_key, device)

    def interpreted(self, values: Sequence[Any]) -> Any:
        """Call the function's graph, interpreted."""
        with self._lock:
            interpreter = self._interpreter()
        return self.spec.binding.call(values, lambda *args, **kwargs: interpreter(args, kwargs))

    # -- Indices that are special ---------------------------------------------

    def _is_special(self, values: Sequence[Any], rank_key: Key) -> bool:
        """Whether a call is likely to be one of few that need code of their own."""
        if not self.indexing or self.spec.options.backend == "eager":
            return False
        first = any(type(values[i]) is int and values[i] in (0, 1) for i in self.indexing)
        return (first or rank_key in self._dynamic) and self._interpreted < MAX_INTERPRETED

    # Under this dispatcher's lock, as below: that of `functools.cached_property` is one for all
    # objects in Python 3.11, and a child that is forked meanwhile deadlocks on it.
    def _interpreter(self) -> Dispatcher:
        if self._made_interpreter is None:
            spec = self.spec
            options = dataclasses.replace(spec.options, backend="eager", cache=False)
            self._made_interpreter = Dispatcher(
                FunctionSpec(
                    spec.function,
                    options,
                    spec.log,
                    varying=spec.varying,
                    label=f"{spec.label}, few calls" if spec.label else "meanwhile",
                    on_wide=spec.on_wide,
                )
            )
        return self._made_interpreter

    # -- Disk -----------------------------------------------------------------

    def _stored(self) -> StoredSignatures | None:
        """Return the function's signatures on disk; None where none is kept there."""
        options = self.spec.options
        if not options.cache or options.backend != "inductor":
            return None
        if self._made_stored is None:
            module = load("npaccel._compiler.stored_signatures")
            self._made_stored = module.StoredSignatures(self.spec)
        return self._made_stored

    def claim_name(self, key: Key, rank_key: Key) -> str | None:
        """Return under which name a signature is claimed; None where it isn't kept on disk."""
        stored = self._stored()
        return None if stored is None else stored.claim_name(key, rank_key)

    def _from_disk(self, values: Sequence[Any], key: Key, rank_key: Key) -> Any:
        start = time.perf_counter()
        stored = self._stored()
        for artifact in stored.find(values, key, rank_key) if stored is not None else ():
            result = self._first_of_artifact(artifact, values, key, rank_key, start)
            if result is not MISS:
                return result
        return MISS

    def _first_of_artifact(
        self, artifact: Artifact, values: Sequence[Any], key: Key, rank_key: Key, start: float
    ) -> Any:
        """Run an artifact from disk, and remember it if it's the one for a call."""
        runner = self._bind(artifact)
        result = self._run(runner, values)
        if result is MISS:
            return MISS
        stored = self._stored()
        assert stored is not None  # The artifact comes from there.
        self.spec.log.add_graph(stored.graph(values, artifact, time.perf_counter() - start))
        self._remember(key, for_key(runner))
        self.compilations += 1
        if not self.spec.has_wide(values):
            self.spec.note_width(values, artifact.plan.has_wide_data)
        self._last_keys[rank_key] = key
        self._loaded.setdefault(rank_key, runtime_arguments.sizes(self.spec.binding.names, values))
        if artifact.plan.is_dynamic:
            self._dynamic.setdefault(rank_key, []).append(artifact)
        return result

    # -- Capture and compilation ----------------------------------------------

    def _compile_and_run(
        self, values: Sequence[Any], key: Key, rank_key: Key, device: torch.device
    ) -> Any:
        count = self._captures.get(rank_key, 0)
        if count >= MAX_CAPTURES:
            return fallback.beyond_limit(self.spec, values, count)
        failure = import_compiler(self.spec.options.backend, device.type)
        if failure:
            result = fallback.without_compiler(self.spec, values, failure)
            self._remember(key, fallback.runner_in_numpy(self.spec))
            return result
        from npaccel._cache import claims
        from npaccel._compiler import compile as compiler_compile

        name = self.claim_name(key, rank_key)
        with claims.claimed(name):
            # Another process may have compiled it while this one waited, or imported the compiler.
            loaded = MISS if name is None else self._from_disk(values, key, rank_key)
            if loaded is not MISS:
                return loaded
            attempt = self.begin(values, key, rank_key)
            try:
                history = self.history(rank_key)
                outcome = compiler_compile.compile_call(self.spec, values, history, device)
            except BaseException as error:
                is_no_failure = isinstance(error, UncompiledForMemoryError | MemoryError)
                if is_no_failure or not isinstance(error, Exception) or signals.from_handler(error):
                    self.take_back(attempt)
                raise
            runner = self.settle(attempt, outcome)
        return runner(values) if isinstance(outcome, fallback.Uncompiled) else outcome.result

    def begin(self, values: Sequence[Any], key: Key, rank_key: Key) -> Attempt:
        """Note that a signature is going to be compiled."""
        start = time.perf_counter()
        reason, guard = self._reason(key, rank_key, values)
        logs.guards.debug("%s: %s", self.spec.name, f"{reason} {guard}".strip() or "is new")
        count = self._captures.get(rank_key, 0)
        self._captures[rank_key] = count + 1
        self.compilations += 1
        self._last_keys[rank_key] = key
        return Attempt(key, rank_key, count, self.spec.describe(values), reason, guard, start)

    def take_back(self, attempt: Attempt) -> None:
        """Note that a signature wasn't compiled, and another call may try again."""
        self._captures[attempt.rank_key] = attempt.count

    def history(self, rank_key: Key) -> Any:
        """Return what sizes and numbers calls of a kind have had; the compiler is imported."""
        history = self._histories.get(rank_key)
        if history is None:
            history = load("npaccel._compiler.compile").new_history(self.spec)
            history.note(self.spec.function.__code__, self._loaded.pop(rank_key, {}))
            self._histories[rank_key] = history
        return history

    def settle(self, attempt: Attempt, outcome: CompiledCall | fallback.Uncompiled) -> Runner:
        """Remember and report what has become of a signature; return its runner."""
        key, rank_key = attempt.key, attempt.rank_key
        self._patience.end()
        if isinstance(outcome, fallback.Uncompiled):
            earlier = self._broken_alike(rank_key, outcome)
            serves_kind = outcome.serves_kind or earlier is not None
            outcome = earlier or outcome
            runner = outcome.settled(self._forget)
            if outcome.is_kept:
                self._remember(key, runner)
            if serves_kind:
                self._dynamic_frames.setdefault(rank_key, []).append(outcome.runner)
            return runner
        self._guards[key] = outcome.guards
        graph = Graph(
            signature=attempt.signature,
            dynamic=outcome.dynamic,
            backend=self.spec.options.backend,
            seconds=time.perf_counter() - attempt.start,
            uncacheable=outcome.uncacheable if outcome.compiled is None else _BEING_STORED,
            reason=attempt.reason,
            guard=attempt.guard,
            source=outcome.source,
            details=outcome.details,
        )
        # Before it is used, and before the disk: a child that is forked meanwhile has it.
        self.spec.log.add_graph(graph)
        artifact: str | None = None
        uncacheable = outcome.uncacheable
        if outcome.compiled is not None:
            runner = self._bind(outcome.compiled)
            self._remember(key, runner)
            if outcome.compiled.plan.is_dynamic:
                self._dynamic.setdefault(rank_key, []).append(outcome.compiled)
            stored, uncacheable = self._stored(), ""
            if stored is not None:
                artifact, uncacheable = signals.held(
                    stored.store, outcome.compiled, outcome.details, key, rank_key
                )
        else:
            runner = outcome.runner
            self._remember(key, runner)
            if outcome.dynamic:
                self._dynamic_frames.setdefault(rank_key, []).append(outcome.runner)
        logs.compile.debug("%s: compiled: %s", self.spec.name, logs.seconds(outcome.stages))
        logs.cache.debug(
            "%s: kept: %s", self.spec.name, artifact or f"no, {uncacheable or 'not asked'}"
        )
        seconds = time.perf_counter() - attempt.start
        self.spec.log.replace_graph(
            graph,
            seconds=seconds,
            artifact=artifact,
            uncacheable=uncacheable,
            stages=outcome.stages | {"rest": seconds - sum(outcome.stages.values())},
        )
        return runner

    def _broken_alike(
        self, rank_key: Key, outcome: fallback.Uncompiled
    ) -> fallback.Uncompiled | None:
        """Return what became of an earlier signature that broke where this one does.

        Its subgraphs have guards of their own, and take other sizes and numbers as inputs.
        """
        if outcome.first_break is None or self.spec.options.dynamic is False:
            return None
        first = self._broken.setdefault(rank_key, outcome)
        is_alike = first is not outcome and first.first_break == outcome.first_break
        return first if is_alike else None

    def _reason(self, key: Key, rank_key: Key, values: Sequence[Any]) -> tuple[str, str]:
        """Say why there is no runner yet, where there are others of this kind.

        Returns
        -------
        reason, guard : str
            In words, and the guard that doesn't hold any more.
        """
        load("npaccel._compiler.recompile_reasons")
        from npaccel._compiler.recompile_reasons import differing, failed_guard

        names = self.spec.binding.names
        if key in self.runners:
            arguments = dict(zip(names, values, strict=True))
            changed = failed(self._guards.get(key, ()), self.spec.scope, arguments)
            what = "something it reads" if changed is None else readable(changed.expression)
            guard = ""
            if changed is not None:
                guard = failed_guard(changed, self.spec.scope, arguments)
            return f"{what} changed since the last compilation", guard
        earlier = self._last_keys.get(rank_key)
        if earlier is not None:
            which, guard = differing(names, earlier, key)
            return f"{which} has another shape or value than before", guard
        if self._last_keys:
            last = list(self._last_keys.values())[-1]
            which, guard = differing(names, last, key)
            return f"{which} has another dtype, layout or structure", guard
        return "", ""
