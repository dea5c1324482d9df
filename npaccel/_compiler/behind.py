"""Compile new signatures beside the program, while NumPy answers their calls.

A signature goes through these states. The runner that stands for it meanwhile is a `Pending`.

1. A helper thread captures and compiles it, for copies of a call's arrays. NumPy answers its calls.
2. If a call changes nothing but arrays among its arguments, the thread makes the first one as well,
   with the copies, and the signature has its runner. Else the next call of the program makes it.

What goes wrong beside the program is done again before a call is answered, where errors and
warnings reach the caller.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from npaccel._cache import claims
from npaccel._compiler import fallback
from npaccel._compiler.compiler_import import import_compiler
from npaccel._process import background, logs
from npaccel._process.imports import load
from npaccel._report.log import Build
from npaccel._runtime import arguments as runtime_arguments
from npaccel._runtime import options as runtime_options
from npaccel._runtime.array_copies import Copies
from npaccel._runtime.error_translation import UncompiledForMemoryError
from npaccel._runtime.runner import MISS, Declined, Runner

if TYPE_CHECKING:
    from npaccel._compiler.planning import Prepared

Key = tuple[Any, ...]

#: Maximum number of times that a kind of call is compiled beside the program in vain, since what it
#: reads changes meanwhile.
_ATTEMPTS = 3


class Behind:
    """Compile signatures of one dispatcher beside the program.

    Parameters
    ----------
    dispatcher : Dispatcher
        Its lock is held by what calls `runner`.
    """

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.spec = dispatcher.spec
        self.pending: dict[Key, Pending] = {}
        #: Number of times that a kind of call was compiled in vain.
        self.failures: dict[Key, int] = {}

    def runner(self, values: Sequence[Any], key: Key, rank_key: Key, device: Any) -> Runner | None:
        """Return what makes calls of a new signature until it's compiled.

        Parameters
        ----------
        values : sequence
            Of all parameters.
        key, rank_key : tuple
            The call's.
        device : torch.device

        Returns
        -------
        callable or None
            None where the call has to wait.
        """
        if self.failures.get(rank_key, 0) >= _ATTEMPTS or self._has_to_wait(values):
            return None
        made = self.pending[rank_key] = Pending(self, values, key, rank_key, device)
        return made

    def runner_of_kind(self, rank_key: Key) -> Runner | None:
        """Return what makes calls while another size of their kind is compiled."""
        found = self.pending.get(rank_key)
        return found.other_runner if found is not None and found.is_pending() else None

    def is_pending(self) -> bool:
        """Whether something is going to be compiled."""
        return any(pending.is_pending() for pending in list(self.pending.values()))

    def _has_to_wait(self, values: Sequence[Any]) -> bool:
        """Whether a call's answer may be another than NumPy's and that of interpreted code."""
        options = self.spec.options
        if options.strict or options.rng == "device" or torch.is_inference_mode_enabled():
            return True
        if not self.is_numpys(values) and options.backend != "inductor":
            return True  # It's interpreted anyway.
        parts = [part for value in values for _, part in runtime_arguments.parts(value, "")]
        return any(
            isinstance(part, torch.Tensor)
            or (isinstance(part, np.ndarray) and type(part) is not np.ndarray)
            for part in parts
        )

    def is_numpys(self, values: Sequence[Any]) -> bool:
        """Whether NumPy's dtypes are those of compiled code."""
        options = self.spec.options
        if options.narrow_inputs:
            return False
        is_exact = options.default_float == "float64"
        return is_exact or bool(self.spec.has_wide(values))


class Pending:
    """The runner of a signature that isn't compiled yet.

    Parameters
    ----------
    owner : Behind
    values : sequence
        Of a call.
    key, rank_key : tuple
        The call's.
    device : torch.device
    """

    def __init__(
        self, owner: Behind, values: Sequence[Any], key: Key, rank_key: Key, device: Any
    ) -> None:
        self.owner = owner
        self.dispatcher, self.spec = owner.dispatcher, owner.spec
        self.key, self.rank_key, self.device = key, rank_key, device
        self.is_numpys = owner.is_numpys(values)
        self.attempt = self.dispatcher.begin(values, key, rank_key)
        self.build = Build(self.attempt.signature, "answered by NumPy")
        self.spec.log.add_build(self.build)
        self._process = os.getpid()
        self._lock = threading.Lock()  # Of this alone: a child that is forked makes another one.
        self._is_begun = False
        self._is_over = False
        self._prepared: Prepared | None = None
        self._claim: claims.Claim | None = None
        #: Makes calls of other signatures of the kind.
        self.other_runner: Runner = self._other

    def is_pending(self) -> bool:
        """Whether it isn't compiled yet, and will be."""
        is_here = self._process == os.getpid()  # A forked child hasn't inherited the thread.
        return is_here and not self._is_over and self._prepared is None

    def _other(self, values: Sequence[Any]) -> Any:
        if not background.is_used():
            self._finish()
            return MISS
        return self._answer(values) if self.is_pending() else MISS

    def __call__(self, values: Sequence[Any]) -> Any:
        """Make a call."""
        if not (background.is_used() or self._is_over):
            self._finish()
            if self._prepared is None:
                return MISS
        if self._is_over:
            return MISS
        if self._process != os.getpid():
            self._drop("left to the process that this one was forked from")
            return MISS
        if self._prepared is not None:
            return self._first_call(self._prepared, values)
        if self._is_begun:
            return self._answer(values)
        # It's compiled after the call, which may raise, and for what the arrays are before.
        copies = Copies(values)
        try:
            result = self._answer(values)
        except BaseException:
            if not self.build.calls:
                self._drop("given up: the call has raised an error")
            raise
        self._begin(copies)
        return result

    def _answer(self, values: Sequence[Any]) -> Any:
        start = time.perf_counter()
        if self.is_numpys:
            with runtime_options.disabled():  # What is called is compiled with it later.
                result = fallback.run_in_numpy(self.spec, values)
        else:
            result = self.dispatcher.interpreted(values)
        self.dispatcher.compilations += 1
        self.build.calls += 1
        self.build.seconds += time.perf_counter() - start
        return result

    def _finish(self) -> None:
        """Wait until it's compiled, or have another call compile it."""
        if not self._is_begun:
            self._drop("compiled by a call that waits")
        elif not self.dispatcher._lock._is_owned():  # Or else the thread would wait for this one.
            background.wait()

    # -- The helper thread ----------------------------------------------------

    def _begin(self, copies: Copies) -> None:
        with self._lock:
            if self._is_begun:  # By the call of another thread.
                return
            self._is_begun = True
        self.build.state = "waiting to be compiled"
        has_grad = torch.is_grad_enabled()
        try:
            background.begin(lambda: self._compile(copies, has_grad))
        except RuntimeError:  # There can be no more threads: another call tries again.
            self._fail(is_certain=False)

    def _compile(self, copies: Copies, has_grad: bool) -> None:
        dispatcher = self.dispatcher
        self._claim, has_waited = claims.waited_for(dispatcher.claim_name(self.key, self.rank_key))
        if has_waited:  # The next call finds it on disk, or starts over.
            with dispatcher._lock:
                self._drop("compiled by another process")
            return
        self.build.state = "being compiled"
        try:
            outcome = self._outcome(copies, has_grad)
        except Exception as error:  # noqa: BLE001 (it comes again where it can be raised)
            logs.compile.debug("%s: isn't compiled behind: %r", self.spec.name, error)
            with dispatcher._lock:
                self._fail(is_certain=True)
            return
        with dispatcher._lock:
            if outcome is None:  # It sets what it reads, most likely: each call moves on.
                self._fail(is_certain=True)
            elif isinstance(outcome, load("npaccel._compiler.planning").Prepared):
                self.build.state = "compiled for the next call"
                self._prepared = outcome
                self.owner.pending.pop(self.rank_key, None)
                self._give_claim_up()  # There may be no next call.
            else:
                self._settle(outcome)

    def _outcome(self, copies: Copies, has_grad: bool) -> Any:
        failure = import_compiler(self.spec.options.backend, self.device.type)
        if failure:
            raise ImportError(failure)
        from npaccel._compiler.compile import compile_beside

        with self.dispatcher._lock:
            history = self.dispatcher.history(self.rank_key)
        with torch.set_grad_enabled(has_grad):
            return compile_beside(self.spec, copies, history, self.device)

    def _settle(self, outcome: Any) -> Runner | None:
        """Have later calls made as an outcome says."""
        self._end("compiled")
        if isinstance(outcome, fallback.Uncompiled):
            self.build.state = "found not to fit into one graph"
            if not outcome.is_kept:
                self._fail(is_certain=False)
                return None
        runner: Runner = self.dispatcher.settle(self.attempt, outcome)
        self._give_claim_up()
        return runner

    def _give_claim_up(self) -> None:
        if self._claim is not None:
            self._claim.release()

    def _fail(self, is_certain: bool) -> None:
        """Have another call try again, or wait for it."""
        failures = self.owner.failures
        failures[self.rank_key] = _ATTEMPTS if is_certain else failures.get(self.rank_key, 0) + 1
        why = "a call waits for it" if is_certain else "what it reads has changed meanwhile"
        self._drop(f"given up: {why}")

    def _drop(self, state: str) -> None:
        """Have another call start over."""
        self.dispatcher.take_back(self.attempt)
        self._give_claim_up()
        self._end(state)
        if not self.build.calls:
            self.spec.log.drop_build(self.build)

    def _end(self, state: str) -> None:
        """Leave the calls to others."""
        self._is_over = True
        self._prepared = None
        self.build.state = state
        if self.owner.pending.get(self.rank_key) is self:
            del self.owner.pending[self.rank_key]
        for runner in (self, self.other_runner):
            self.dispatcher._forget(runner)

    # -- The switch -----------------------------------------------------------

    def _first_call(self, prepared: Prepared, values: Sequence[Any]) -> Any:
        dispatcher = self.dispatcher
        dispatcher.compilations += 1
        # Whoever has it may wait for Dynamo's lock.
        if not dispatcher._lock.acquire(blocking=False):
            return self._answer(values)
        try:
            from npaccel._compiler.compile import first_call_of_prepared

            try:
                outcome = first_call_of_prepared(prepared, values)
            except UncompiledForMemoryError:
                self._fail(is_certain=False)
                return self._answer(values)
            except BaseException:
                self._fail(is_certain=False)
                raise
            if outcome is None:
                return self._answer(values)
            if outcome is MISS:
                self._fail(is_certain=False)
                return MISS
            runner = self._settle(outcome)
        finally:
            dispatcher._lock.release()
        if isinstance(outcome, fallback.Uncompiled):
            return (runner or outcome.runner)(values)
        assert not isinstance(outcome, Declined)
        return outcome.result
