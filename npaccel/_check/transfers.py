"""`npaccel.transfers`: see, count or forbid copies between host and device."""

from __future__ import annotations

import dataclasses
import linecache
import logging
import sys
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import numpy as np
import torch

import npaccel
from npaccel._report.text import table
from npaccel._runtime.torch.copy_watch import CopyWatch
from npaccel.errors import OptionError, TransferError

#: Folders that have no line of the user's.
_LIBRARIES = tuple(
    str(Path(file).parent) for file in (np.__file__, torch.__file__, npaccel.__file__)
)

_logger = logging.getLogger("npaccel.transfers")


@dataclasses.dataclass(frozen=True)
class Copy:
    """One copy between host and device.

    Parameters
    ----------
    file : str
    line : int
        The innermost line outside of npaccel, torch and NumPy.
    text : str
        That line.
    source, target : str
        Devices.
    bytes : int
    """

    file: str
    line: int
    text: str
    source: str
    target: str
    bytes: int

    def __str__(self) -> str:
        way = f"{self.source} to {self.target}"
        return f"{self.file}:{self.line}: {self.bytes} bytes from {way}\n    {self.text}"


class Transfers:
    """The copies between host and device in a ``with`` block; `npaccel.transfers` makes it.

    Parameters
    ----------
    mode : {"forbid", "log", "allow"}
    max_bytes : int, optional

    Attributes
    ----------
    copies : list of Copy
        With line and bytes, those that were refused not among them.
    """

    def __init__(
        self, mode: Literal["forbid", "log", "allow"] = "log", *, max_bytes: int | None = None
    ) -> None:
        if mode not in ("forbid", "log", "allow"):
            raise OptionError(
                f"transfers: mode {mode!r} was given; it can be 'forbid', 'log' or 'allow'"
            )
        if max_bytes is not None and max_bytes < 0:
            raise OptionError(f"transfers: `max_bytes={max_bytes}` was given; it can't be negative")
        self.mode = mode
        self.max_bytes = 0 if max_bytes is None and mode == "forbid" else max_bytes
        self.copies: list[Copy] = []
        self._watches: list[CopyWatch] = []

    def __enter__(self) -> Self:
        watch = CopyWatch(self._note)
        watch.__enter__()  # type: ignore[no-untyped-call]
        self._watches.append(watch)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watches.pop().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]

    @property
    def bytes(self) -> int:
        """Number of bytes that were copied."""
        return sum(copy.bytes for copy in self.copies)

    def _note(self, source: torch.device, target: torch.device, nbytes: int) -> None:
        copy = Copy(*_users_line(), str(source), str(target), nbytes)
        if self.max_bytes is not None and nbytes > self.max_bytes:
            limit = f"at most {self.max_bytes} are allowed" if self.max_bytes else "none may be"
            raise TransferError(
                f"transfers: {nbytes} bytes would be copied from {source} to {target} at "
                f"{copy.file}:{copy.line}, {limit}: {copy.text}\n"
                "move the line out of the block, or allow it: "
                f'npaccel.transfers("{self.mode}", max_bytes={nbytes})'
            )
        self.copies.append(copy)
        if self.mode == "log":
            _logger.warning("%s", copy)

    def __repr__(self) -> str:
        return f"<npaccel.transfers {self.mode}: {len(self.copies)} copies, {self.bytes} bytes>"

    def __str__(self) -> str:
        lines = [f"{len(self.copies)} copies between host and device, {self.bytes} bytes"]
        rows: list[tuple[str, ...]] = [("line", "bytes", "from", "to", "code")]
        for one in self.copies:
            place = f"{Path(one.file).name}:{one.line}"
            rows.append((place, str(one.bytes), one.source, one.target, one.text))
        return "\n".join([*lines, *(["", *table(rows)] if self.copies else [])])


def _users_line() -> tuple[str, int, str]:
    """Return the innermost line of this thread that is neither npaccel's nor a library's."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith((*_LIBRARIES, "<npaccel", "<frozen", "<eval_with_key")):
            break
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    return file, line, linecache.getline(file, line, frame.f_globals).strip()


def transfers(
    mode: Literal["forbid", "log", "allow"] = "log", *, max_bytes: int | None = None
) -> Transfers:
    """See every copy between host and device in a ``with`` block.

    In the block's own thread. Copies are those that npaccel makes and those of
    torch: ``.cpu()``, ``.to()``, ``.item()``, ``.tolist()``, ``copy_``,
    ``.numpy(force=True)``.

    Parameters
    ----------
    mode : {"forbid", "log", "allow"}
        "forbid": a copy raises before it's made. "log": it's written to the
        logger ``npaccel.transfers``. "allow": it's noted only.
    max_bytes : int, optional
        Larger copies raise in every mode, smaller ones and equal ones never.
        Defaults to 0 with "forbid", to no limit otherwise.

    Returns
    -------
    Transfers
        ``.copies`` with line and bytes, ``.bytes``; ``str()`` of it is a table.

    Raises
    ------
    OptionError
        For another mode, or a negative `max_bytes`.
    TransferError
        Inside of the block, for a copy that isn't allowed.

    Notes
    -----
    Tensors of ``device="meta"`` have no data but a device of their own, so
    that code can be tried on a machine without a GPU: what would copy, shows.

    Examples
    --------
    >>> import torch, npaccel
    >>> t = torch.ones(1000, device="meta")
    >>> with npaccel.transfers("forbid"):
    ...     total = (t * 2).sum()
    >>> with npaccel.transfers("allow") as seen:
    ...     u = torch.ones(1000).to("meta")
    >>> seen.bytes
    4000
    >>> with npaccel.transfers("forbid"):
    ...     total.item()
    Traceback (most recent call last):
        ...
    npaccel.errors.TransferError: transfers: 4 bytes would be copied from meta to cpu at ...
    """
    return Transfers(mode, max_bytes=max_bytes)
