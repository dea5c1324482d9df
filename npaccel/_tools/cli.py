"""The command ``npaccel``.

A further command is a function under ``@main.command()``, a further group of commands one under
``@main.group()``.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from npaccel._cache.store import default_cache
from npaccel._report.text import count
from npaccel._tools import info as installation
from npaccel._tools.commands import doctor, run
from npaccel._version import __version__

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="npaccel")
def main() -> None:
    """Run NumPy code as compiled C++ or CUDA."""


main.add_command(run)
main.add_command(doctor)


@main.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with each replacement.")
def info(as_json: bool) -> None:
    """Show what a bug report needs: versions, compiler, processor, GPU, cache, settings.

    Nothing is compiled or changed.
    """
    found = installation.collect()
    click.echo(json.dumps(found, indent=1) if as_json else installation.text(found))


@main.group()
def cache() -> None:
    """Look after the compiled artifacts that are kept on disk.

    They are in NPACCEL_CACHE_DIR or else in the user's cache folder. Each is removed when the whole
    is larger than NPACCEL_CACHE_MAX_BYTES (2 GiB) and it is the one least recently used.
    NPACCEL_CACHE=0 switches the cache off.
    """


@cache.command("info")
def cache_info() -> None:
    """Show where the cache is and what it holds."""
    for name, value in installation.cache_rows(default_cache().info()).items():
        click.echo(f"{name:<9}{value}")


@cache.command("clear")
@click.option(
    "--scratch",
    is_flag=True,
    help="Remove the compiler's own files too. Not while another process is compiling.",
)
def cache_clear(scratch: bool) -> None:
    """Remove all compiled artifacts; they are built again when they are needed."""
    store = default_cache()
    info = store.info()
    if info.problem:
        raise click.ClickException(f"nothing was removed: {info.problem}")
    removed = store.clear(scratch=scratch)
    click.echo(f"removed {count(removed, 'entry', 'entries')} from {info.path}")


@cache.command("verify")
@click.pass_context
def cache_verify(context: click.Context) -> None:
    """Hash everything in the cache and remove what is damaged; exit with 1 if anything was."""
    problems = default_cache().verify()
    for problem in problems:
        then = "removed" if problem.removed else "not removed"
        click.echo(f"{problem.path}: {problem.cause} ({then})")
    if problems:
        context.exit(1)
    click.echo("all entries are good")


@main.command()
@click.argument("name", required=False)
@click.pass_context
def support(context: click.Context, name: str | None) -> None:
    """Show what is compiled of NumPy: one object by NAME, or the totals and what isn't compiled.

    NAME is as in code: np.percentile, numpy.linalg.norm, percentile. For a name that begins with
    scipy it's what becomes of a call with tensors, and "scipy" alone shows the totals; for one that
    begins with sklearn it's where an estimator or a metric computes. An unknown name exits with 1.
    """
    if name is not None and name.split(".")[0] == "scipy":
        _show_scipy(context, name)
        return
    if name is not None and name.split(".")[0] == "sklearn":
        _show_sklearn(context, name)
        return
    from npaccel._tools import support_page as _support

    if name is None:
        _show_uncompiled()
        return
    _show_rows(context, name, _support, f"NumPy {np.__version__}")


def _show_scipy(context: click.Context, name: str) -> None:
    import scipy

    from npaccel._scipy.dispatch import support_page as _support

    if name == "scipy":
        _show_totals(_support.totals(_support.functions(_support.table())))
    else:
        _show_rows(context, name, _support, f"SciPy {scipy.__version__}")


def _show_sklearn(context: click.Context, name: str) -> None:
    try:
        import sklearn
    except ImportError as error:
        raise click.ClickException("scikit-learn isn't installed") from error

    from npaccel._sklearn.dispatch import support_page as _support

    if name == "sklearn":
        _show_totals(_support.totals(_support.table()))
    else:
        _show_rows(context, name, _support, f"scikit-learn {sklearn.__version__}")


def _show_rows(context: click.Context, name: str, support: Any, library: str) -> None:
    """Describe the rows of a name, or say that there is none."""
    found = support.find(name)
    for row in found:
        click.echo(support.described(row))
    if not found:
        _unknown(context, name, library, support.similar(name))


def _show_totals(totals: Mapping[str, int]) -> None:
    for status, number in totals.items():
        click.echo(f"{status:<10}{number:>5}")


def _unknown(context: click.Context, name: str, library: str, close: list[str]) -> None:
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    click.echo(f"{name}: no public object of {library} is called so{hint}", err=True)
    context.exit(1)


def _show_uncompiled() -> None:
    from npaccel._tools import support_page as _support

    rows = _support.table()
    _show_totals(_support.totals(rows))
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.status != "compiled":
            reasons.setdefault((row.status, row.reason), []).append(row.name)
    for (status, reason), names in sorted(reasons.items()):
        click.echo(f"\n{status}: {reason}")
        click.echo(textwrap.fill(" ".join(names), 98, initial_indent="  ", subsequent_indent="  "))
