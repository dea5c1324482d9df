"""All that npaccel replaces in torch.

Importing this module imports Dynamo and Inductor.
"""

from __future__ import annotations

from npaccel._torch import beside, importing
from npaccel._torch.dynamo import capture, install
from npaccel._torch.inductor import passes
from npaccel._torch.patching import Patch

#: Groups of patches: how long each lasts, and what is replaced meanwhile.
GROUPS: dict[str, tuple[Patch, ...]] = {
    "while torch is imported": (*importing.PATCHES_OF_IMPORTS, *importing.PATCHES_OF_PARSING),
    "for good": (*importing.PATCHES_OF_TEMPLATES, *install.PATCHES),
    "while something is compiled beside the program": beside.PATCHES,
    "while a function is captured": capture.PATCHES,
    "while a graph is compiled": passes.PATCHES,
}
PATCHES: tuple[Patch, ...] = tuple(patch for group in GROUPS.values() for patch in group)


def rows() -> list[dict[str, str]]:
    """Return the table as dicts of text."""
    return [
        {**patch.row(), "lasts": lasts} for lasts, patches in GROUPS.items() for patch in patches
    ]


def lines() -> list[str]:
    """Return the table as lines: what is replaced, and why; those of other releases aren't."""
    found = []
    for lasts, patches in GROUPS.items():
        found.append(f"{lasts}:")
        found += [f"  {one.target}: {one.why}" for one in patches if one.is_applied]
    return found


__all__ = ["GROUPS", "PATCHES", "lines", "rows"]
