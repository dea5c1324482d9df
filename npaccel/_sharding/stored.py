"""A function's signatures with DTensors in the cache on disk: each rank has its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Placement

from npaccel._compiler.stored_signatures import Key, StoredSignatures
from npaccel._report.details import Details
from npaccel._runtime import artifacts
from npaccel._runtime.artifacts import Artifact
from npaccel._runtime.runner import Compiled
from npaccel._runtime.torch.local_parts import Interface, lines_of, without_groups

#: A line of a file, and the line itself.
Place = tuple[str, int, str]


class StoredParts(StoredSignatures):
    """Find and store compiled parts of a function. See `StoredSignatures`."""

    def _texts(self, key: Key, rank_key: Key) -> list[str]:  # noqa: ARG002 (sizes are in the key)
        return [artifacts.key_text(("sharded", _described(key), torch.is_grad_enabled()))]

    def found(self, values: Sequence[Any], key: Key) -> Artifact | None:
        """Return a signature whose guards hold for a call."""
        return next(self.find(values, key, ()), None)

    def store_part(
        self,
        compiled: Compiled,
        details: Details,
        key: Key,
        mesh: Any,
        interface: Interface,
        places: Mapping[str, Place],
        digest: str,
    ) -> tuple[str | None, str]:
        """Store a compiled part.

        Parameters
        ----------
        compiled : Compiled
        details : Details
        key : tuple
        mesh : DeviceMesh
        interface : Interface
        places : mapping
            The user's lines of collectives, by the names of their nodes.
        digest : str
            What ranks have to agree on.

        Returns
        -------
        folder : str or None
        why : str
            Why there is no folder.
        """
        code = self.spec.function.__code__

        def pack(source: str) -> tuple[str, Any]:
            kept = without_groups(source, mesh)
            lines = [
                [at, *_relative(place, code)]
                for at, place in lines_of(kept, places, compiled.source).items()
            ]
            return kept, {"interface": interface.encoded(), "lines": lines, "digest": digest}

        return self.store(compiled, details, key, (), pack)


def _relative(place: Place, code: Any) -> Place:
    """Return a place with lines of the function itself counted from its first."""
    file, line, text = place
    return ("", line - code.co_firstlineno, text) if file == code.co_filename else place


def lines_in(kept: Artifact, code: Any) -> dict[int, Place]:
    """Return the user's lines of collectives by their lines in code that was kept."""
    return {
        at: (file, line, text) if file else (code.co_filename, line + code.co_firstlineno, text)
        for at, file, line, text in kept.more["lines"]
    }


def _described(key: Any) -> Any:
    """Return a key with words for what another process has objects of its own for."""
    if isinstance(key, tuple):
        return tuple(map(_described, key))
    if isinstance(key, DeviceMesh):
        ranks = repr((key.mesh.tolist(), key.mesh_dim_names, key.get_coordinate()))
        return f"mesh of {key.device_type}: {ranks}"
    return repr(key) if isinstance(key, Placement) else key


__all__ = ["Place", "StoredParts", "lines_in"]
