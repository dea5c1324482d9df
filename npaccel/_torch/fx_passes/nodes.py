"""Name the nodes of a captured graph."""

from __future__ import annotations

import torch


def name_of(node: torch.fx.Node) -> str:
    """Return NumPy's name of the call that a node is."""
    return str(getattr(node.target, "name", "")) if node.op == "call_function" else ""


__all__ = ["name_of"]
