"""A function's signatures in the cache on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from npaccel._cache.store import cache_key, default_cache
from npaccel._compiler.function_spec import FunctionSpec
from npaccel._process import signals
from npaccel._process.imports import load
from npaccel._report import Graph
from npaccel._report.details import Details
from npaccel._runtime import artifacts
from npaccel._runtime.artifacts import Artifact
from npaccel._runtime.error_translation import before_a_call
from npaccel._runtime.guard_serialization import UncacheableError
from npaccel._runtime.runner import Compiled
from npaccel._runtime.torch.loader import NotPortableError

Key = tuple[Any, ...]


class StoredSignatures:
    """Find and store compiled signatures of a function.

    Parameters
    ----------
    spec : FunctionSpec
    """

    def __init__(self, spec: FunctionSpec) -> None:
        self.spec = spec
        self._known_group = ""

    def graph(self, values: Sequence[Any], artifact: Artifact, seconds: float) -> Graph:
        """Return what the report says of code that was found here.

        Parameters
        ----------
        values : sequence
            Of the call.
        artifact : Artifact
        seconds : float
            Time that loading it and the first call took.
        """
        return Graph(
            signature=self.spec.describe(values),
            dynamic=artifact.plan.is_dynamic,
            backend=self.spec.options.backend,
            seconds=seconds,
            loaded=True,
            artifact=str(artifact.entry.folder),
            source=artifact.source,
            stages={"load": seconds},
            details=artifact.details,
        )

    def group(self) -> str:
        """Return the key of the function under its options, in all of the cache."""
        if not self._known_group:
            self._known_group = artifacts.group_key(self.spec.scope, self.spec.options)
        return self._known_group

    def _texts(self, key: Key, rank_key: Key) -> list[str]:
        """Return the keys of entries that may serve a call: for its sizes, and for all."""
        grad = torch.is_grad_enabled()
        if self.spec.options.dynamic is True:
            return [artifacts.key_text(("dynamic", rank_key, grad))]
        return [
            artifacts.key_text(("fixed", key, grad)),
            artifacts.key_text(("dynamic", rank_key, grad)),
        ]

    def claim_name(self, key: Key, rank_key: Key) -> str | None:
        """Return under which name a process claims to compile a signature; None if none can."""
        try:
            return cache_key(self.group(), *self._texts(key, rank_key))
        except UncacheableError:
            return None

    def find(self, values: Sequence[Any], key: Key, rank_key: Key) -> Iterator[Artifact]:
        """Load the signatures whose guards hold for a call, one after the other.

        Parameters
        ----------
        values : sequence
            Of all parameters.
        key, rank_key : tuple
            The call's.
        """
        try:
            texts = self._texts(key, rank_key)
            with before_a_call():
                entries = signals.held(default_cache().load_group, self.group())
        except UncacheableError:
            return
        arguments = dict(zip(self.spec.binding.names, values, strict=True))
        for text in texts:
            found = artifacts.find(entries, text, self.spec.scope, arguments)
            while True:
                try:
                    artifact = signals.held(next, found, None)
                except (NotPortableError, OSError, ImportError) as error:
                    self.spec.log.add_note(f"an artifact on disk couldn't be loaded: {error}")
                    break
                if artifact is None:
                    break
                yield artifact

    def store(
        self,
        compiled: Compiled,
        details: Details,
        key: Key,
        rank_key: Key,
        pack: Callable[[str], tuple[str, Any]] | None = None,
    ) -> tuple[str | None, str]:
        """Store a compiled signature.

        Parameters
        ----------
        compiled : Compiled
        details : Details
        key, rank_key : tuple
        pack : callable, optional
            Takes the portable code; returns it as it is kept, and what else is.

        Returns
        -------
        folder : str or None
        why : str
            Why there is no folder.
        """
        if compiled.uncacheable:
            return None, compiled.uncacheable
        portable_source = load("npaccel._torch.inductor.portable_code").portable_source
        try:
            texts = self._texts(key, rank_key)
            text = texts[-1] if compiled.plan.is_dynamic else texts[0]
            kept = artifacts.encode_details(details, self.spec.function.__code__)
            source, more = portable_source(compiled.source), None
            if pack is not None:
                source, more = pack(source)
            cache, group = default_cache(), self.group()
            entry = artifacts.store(cache, group, text, compiled, source, kept, more)
        except (UncacheableError, NotPortableError) as error:
            return None, str(error)
        except MemoryError:  # The call is made, and its result known.
            return None, "memory has run out"
        if entry is not None:
            return str(entry.folder), ""
        return None, "the cache folder can't be used" if cache.enabled else "NPACCEL_CACHE is 0"
