"""What the scripts that draw have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click


def command(drawing: Callable[[], str]) -> click.Command:
    """Return the command line of a script that draws one picture.

    Parameters
    ----------
    drawing : callable
        Returns it.
    """

    @click.command()
    @click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
    def main(path: Path) -> None:
        """Write the picture to PATH."""
        path.write_text(drawing(), encoding="utf-8")

    return main
