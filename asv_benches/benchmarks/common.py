"""The implementations that take part, and how their calls are timed."""

from __future__ import annotations

import abc
import functools
import importlib.util
import statistics
import time
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .peers import PEERS

Call = Callable[..., Any]

#: What each implementation needs. The parameters of the benchmarks are these
#: names, whatever is installed: `Benchmark.need` skips what isn't there.
REQUIRED_MODULE = {
    "numpy": "numpy",
    "npaccel": "npaccel",
    "torch_compile": "torch",
    "numba": "numba",
    "jax": "jax",
}
IMPLEMENTATIONS = list(REQUIRED_MODULE)

#: NumPy's BLAS threads and OpenMP's go on spinning after a call and starve
#: whoever runs next; after this many seconds they sleep.
PAUSE = 0.2


def is_installed(implementation: str) -> bool:
    """Say whether the library behind an implementation can be imported."""
    return importlib.util.find_spec(REQUIRED_MODULE[implementation]) is not None


def own_copy(function: Call) -> Call:
    """Copy a function together with its code object.

    torch keeps compiled code per code object; a copy starts with none, so that
    one benchmark doesn't inherit another's recompilations.
    """
    copy = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    return functools.update_wrapper(copy, function, updated=())


def build(function: Call, implementation: str, device: str = "cpu", **options: Any) -> Call:
    """Return the callable that runs `function` the way of an implementation.

    Parameters
    ----------
    function : callable
        One of `benchmarks.functions` or of `benchmarks.loop_programs`.
    implementation : str
        One of `IMPLEMENTATIONS`.
    device : {"cpu", "cuda"}
        With ``"cuda"`` the callable takes tensors on the device.
    **options
        Of `npaccel.jit`.

    Returns
    -------
    callable

    Raises
    ------
    NotImplementedError
        If the implementation isn't installed, can't do this, or has no such device.
    """
    if not is_installed(implementation):
        raise NotImplementedError(f"{implementation} is not installed")
    if device == "cuda" and implementation not in {"npaccel", "torch_compile"}:
        raise NotImplementedError(f"{implementation} takes no torch tensors")
    if implementation == "numpy":
        return function
    if implementation == "npaccel":
        import npaccel

        return npaccel.jit(own_copy(function), **{"compile": "now", **options})
    if implementation == "torch_compile":
        return _bare_torch_compile(own_copy(function), device)
    if (implementation, function) not in PEERS:
        raise NotImplementedError(f"{implementation} can't run {function.__name__}")
    return PEERS[implementation, function]()


def _bare_torch_compile(function: Call, device: str) -> Call:
    import torch

    if device == "cpu":
        return torch.compile(function)
    return torch.compile(torch.compiler.wrap_numpy(function))


def on_device(arguments: tuple[Any, ...], device: str) -> tuple[Any, ...]:
    """Return the arguments as they are, or as tensors on a CUDA device."""
    if device == "cpu":
        return arguments
    import torch

    if not torch.cuda.is_available():
        raise NotImplementedError("torch sees no CUDA device")
    return tuple(torch.from_numpy(a).to(device) for a in arguments)


def synchronise(device: str) -> None:
    """Wait until the device has done what it was asked to."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def samples(
    call: Callable[[], Any],
    seconds: float = 0.4,
    at_least: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Time a call for a while.

    Parameters
    ----------
    call : callable
        Takes no argument.
    seconds : float
        How long to go on.
    at_least : int
        Samples to take, however long they last.
    clock : callable
        Returns the time.

    Returns
    -------
    list of float
        Seconds per call; a sample is as many calls as fill 2 ms.
    """
    start = clock()
    call()
    number = max(1, round(0.002 / max(clock() - start, 1e-7)))
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < at_least or time.perf_counter() < end:
        start = clock()
        for _ in range(number):
            call()
        taken.append((clock() - start) / number)
    return taken


def side_by_side(
    calls: Mapping[str, Callable[[], Any]],
    rounds: int = 3,
    seconds: float = 0.4,
    of: Callable[[list[float]], float] = statistics.median,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Time calls in blocks with pauses between, in turn, a few rounds of it.

    Parameters
    ----------
    calls : mapping of str to callable
        Each takes no argument.
    rounds : int
        How often each has its turn.
    seconds : float
        How long a turn is.
    of : callable
        Makes one figure of the samples.
    clock : callable
        Returns the time.

    Returns
    -------
    dict of str to float
        Seconds per call, their median by default.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(3):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE)
            taken[name] += samples(call, seconds, clock=clock)
    return {name: of(values) for name, values in taken.items()}


def same_results(expected: Any, actual: Any) -> bool:
    """Say whether two results are the same within rounding (integers: equal)."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return False
    if expected.dtype.kind in "fc":
        return bool(np.allclose(expected, actual, rtol=1e-5, atol=1e-8, equal_nan=True))
    return bool(np.array_equal(expected, actual))


class Benchmark(abc.ABC):
    """Base of the classes that time calls in this process.

    A class names its function and makes its arguments. `setup` compiles, warms
    up and pauses; the time taken is that of the calls alone. The samples are
    our own (asv's `track`), since asv's `time` runs `setup` again before each
    single call, which hides a call of some microseconds behind the clock.
    """

    params: list[Any] = [IMPLEMENTATIONS]
    param_names: list[str] = ["implementation"]
    function: Call
    unit = "seconds"

    @abc.abstractmethod  # So that asv doesn't take this class for benchmarks, where it's imported.
    def arguments(self, *parameters: Any) -> tuple[Any, ...]:
        """Return the call's arguments for the parameters after the implementation."""

    def device(self, *parameters: Any) -> str:  # noqa: ARG002  subclasses read them
        """Return the device for the parameters after the implementation."""
        return "cpu"

    def warm(self, call: Call) -> None:  # noqa: B027  most have nothing to do
        """Do what must have happened before; by default nothing."""

    def prepare(self, implementation: str, *parameters: Any) -> Callable[[], Any]:
        """Return the compiled, warmed-up call, which waits for its device."""
        device = self.device(*parameters)
        call = build(type(self).function, implementation, device)
        operands = on_device(self.arguments(*parameters), device)
        self.warm(call)

        def run() -> Any:
            result = call(*operands)
            synchronise(device)
            return result

        for _ in range(3):
            run()
        return run

    def setup(self, implementation: str, *parameters: Any) -> None:
        self.call = self.prepare(implementation, *parameters)
        time.sleep(PAUSE)

    def track_call(self, *_: Any) -> float:
        """Return the median seconds per call."""
        return statistics.median(samples(self.call))
