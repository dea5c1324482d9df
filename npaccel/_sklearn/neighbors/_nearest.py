"""The nearest rows: tables of distances by tiles, of which blocks of columns leave their smallest.

Of a row of the table only the smallest value of each block of columns is kept. The k nearest lie in
the k blocks with the smallest such values: distances to their members are computed again, and
sorted. With the Euclidean distance the table may be in 32 bits; what it finds is sure if the last
of the neighbours is nearer than anything outside the blocks can be, by a bound of the rounding,
and rows for which it isn't are done in 64 bits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator

import torch

from npaccel._sklearn.dispatch import transfers
from npaccel._sklearn.kernels.tiles import in_threads, squares, sums_of_columns

#: Number of columns that leave their smallest value.
_BLOCK = 32
#: Number of blocks more than needed that are looked into, so that a table in 32 bits suffices.
_SPARE = 3
#: Number of distances of a tile of the table; on a CPU as many as there are numbers in the rows,
#: between two bounds: so it needs no more memory than they.
_CPU_TILE = 1 << 18
_LARGEST_CPU_TILE = 1 << 20
_GPU_TILE = 1 << 27
#: Maximum number of rows of a tile, and number of columns looked at before it has more rows.
_ROWS = _COLUMNS = 1 << 12
#: Number of distances from which a table in 32 bits is worth its trouble.
_LARGE = 1 << 22

#: The powers of metrics that have a name.
POWERS = {
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": math.inf,
    "infinity": math.inf,
}
#: Takes rows and others and returns a table of what sorts as distances do. The others may have
#: three dimensions: for each row its own.
Distance = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def sqeuclidean(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return squared distances, from differences: rows that are equal have 0."""
    if Y.ndim == 3:
        return squares(Y - X[:, None, :])
    return torch.cdist(X, Y, compute_mode="donot_use_mm_for_euclid_dist").square_()


def _sqeuclidean_by_product(
    X: torch.Tensor, Y: torch.Tensor, lengths: torch.Tensor, room: torch.Tensor
) -> torch.Tensor:
    """Return squared distances without the rows' own lengths, by a matrix product, in `room`."""
    table = room[: len(X) * len(Y)].view(len(X), len(Y))
    return torch.addmm(lengths, X, Y.T, alpha=-2, out=table)


def minkowski(p: float) -> Distance:
    """Return the distance of a power, infinity too."""

    def distance(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        if Y.ndim == 3:
            return torch.cdist(X[:, None, :], Y, p=p)[:, 0]
        return torch.cdist(X, Y, p=p)

    return distance


def cosine(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """Return 1 less the cosine of the angle, for rows of length 1 or 0."""
    if Y.ndim == 3:
        return (1 - torch.matmul(Y, X[:, :, None])[..., 0]).clamp_(0, 2)
    return (1 - X @ Y.T).clamp_(0, 2)


def unit(X: torch.Tensor) -> torch.Tensor:
    """Return rows of length 1, as `cosine` takes them; rows of zeros stay."""
    lengths = torch.linalg.vector_norm(X, dim=1, keepdim=True)
    return X / torch.where(lengths > 0, lengths, 1.0)


def k_nearest(
    X: torch.Tensor, Y: torch.Tensor, k: int, distance: Distance
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each row of X the k nearest rows of Y.

    Parameters
    ----------
    X, Y : torch.Tensor
        Of 32 bits, a tile at a time is made wider.
    k : int
        Not more than Y has rows.
    distance : callable

    Returns
    -------
    distances : torch.Tensor
        float64, in the order of size; of several equal ones those with smaller numbers first.
    numbers : torch.Tensor
        int64.
    """
    size = _Tile.of(X)
    large = distance is sqeuclidean and len(X) * len(Y) >= _LARGE
    narrow = _Narrow(Y, size) if large else None
    distances = torch.empty((len(X), k), dtype=torch.float64, device=X.device)
    numbers = torch.empty((len(X), k), dtype=torch.int64, device=X.device)

    def tile(rows: slice) -> None:
        part = _of_tile(X[rows].double(), Y, k, distance, size, narrow)
        distances[rows], numbers[rows] = part

    step = size.rows(Y)
    in_threads(tile, [slice(n, n + step) for n in range(0, len(X), step)], X.device)
    return distances, numbers


@dataclasses.dataclass(frozen=True)
class _Tile:
    """A part of the table of distances that is computed at once.

    Parameters
    ----------
    numbers : int
        How many there are in it.
    """

    numbers: int

    @classmethod
    def of(cls, X: torch.Tensor) -> _Tile:
        """Return the tile for a table with a line for each row of X."""
        if X.device.type != "cpu":
            return cls(_GPU_TILE)
        return cls(max(_CPU_TILE, min(X.numel(), _LARGEST_CPU_TILE)))

    def rows(self, Y: torch.Tensor) -> int:
        """Return how many rows are done together."""
        return max(16, min(self.numbers // max(min(len(Y), _COLUMNS), 1), _ROWS))

    def columns(self, X: torch.Tensor, Y: torch.Tensor) -> int:
        """Return how many columns a tile has for some rows."""
        step = max(_BLOCK, self.numbers // max(len(X), 1) // _BLOCK * _BLOCK)
        return min(step, -(-len(Y) // _BLOCK) * _BLOCK)

    def held(self, X: torch.Tensor, Y: torch.Tensor) -> int:
        """Return of how many columns the blocks' smallest are held, before the best are chosen."""
        step = self.columns(X, Y)
        tiles = max(1, self.numbers * _BLOCK // 8 // (max(len(X), 1) * step))
        return step * min(tiles, -(-len(Y) // step))

    def room(self, X: torch.Tensor, Y: torch.Tensor) -> int:
        """Return how many numbers a tile and the blocks' smallest are together."""
        return len(X) * (self.columns(X, Y) + self.held(X, Y) // _BLOCK)


class _Narrow:
    """The rows in 32 bits, some at a time, and what bounds the rounding.

    They are taken around their mean where that makes them shorter.
    """

    def __init__(self, Y: torch.Tensor, size: _Tile) -> None:
        self.Y, self.size = Y, size
        step = max(1, size.numbers // (4 * max(Y.shape[1], 1)))
        middle = sums_of_columns(Y, step) / len(Y)
        self.middle: torch.Tensor | None = middle.to(Y.dtype)  # nothing is to be made wider by it
        self.lengths = torch.empty(len(Y), dtype=torch.float32, device=Y.device)
        self._measure(step)
        if transfers.number((middle * middle).sum() <= self.largest):
            self.middle = None
            self._measure(step)
        self._rooms: list[torch.Tensor] = []

    def _measure(self, step: int) -> None:
        for start in range(0, len(self.Y), step):
            self.lengths[start : start + step] = squares(self.shifted(self.Y[start : start + step]))
        self.largest = self.lengths.max().double()

    @contextlib.contextmanager
    def room_for(self, X: torch.Tensor) -> Iterator[torch.Tensor]:
        """Lend memory for a tile, to one thread after the other: new memory is slow."""
        count = self.size.room(X, self.Y)
        try:
            room = self._rooms.pop()
        except IndexError:
            room = X.new_empty(count)
        yield room if len(room) >= count else X.new_empty(count)
        self._rooms.append(room)

    def table(self, X: torch.Tensor, columns: slice, room: torch.Tensor) -> torch.Tensor:
        """Return squared distances without the rows' own lengths."""
        return _sqeuclidean_by_product(
            X, self.shifted(self.Y[columns]), self.lengths[columns], room
        )

    def shifted(self, X: torch.Tensor) -> torch.Tensor:
        """Return rows as those of the table."""
        return (X if self.middle is None else X - self.middle).float()

    def error(self, X: torch.Tensor) -> torch.Tensor:
        """Return how far off the table's numbers may be, for each row (Higham, 2002, 3.1)."""
        unit = torch.finfo(torch.float32).eps
        lengths = squares(X).double()
        whole = 2 * (lengths * self.largest).sqrt() + self.largest + lengths
        return (X.shape[1] + 8) * unit * whole


def _of_tile(
    X: torch.Tensor,
    Y: torch.Tensor,
    k: int,
    distance: Distance,
    size: _Tile,
    narrow: _Narrow | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    blocks = -(-len(Y) // _BLOCK)
    if blocks <= 2 * (k + _SPARE):
        return _sorted(distance(X, Y.double()), None, k)
    if narrow is None:

        def wide(columns: slice, room: torch.Tensor) -> torch.Tensor:
            others = Y[columns].double()
            if distance is sqeuclidean:
                return _sqeuclidean_by_product(X, others, squares(others), room)
            return distance(X, others)

        room = X.new_empty(size.room(X, Y))
        _, chosen = _smallest_blocks(X, Y, wide, k, _first_smallest, size, room)
        return _within(X, Y, k, chosen, distance, size, room)
    shifted = narrow.shifted(X)
    with narrow.room_for(shifted) as room:
        table = functools.partial(narrow.table, shifted)
        values, chosen = _smallest_blocks(
            shifted, Y, table, k + _SPARE + 1, _some_smallest, size, room
        )
        distances, numbers = _within(X, Y, k, chosen[:, :-1], distance, size, room)
    outside = values[:, -1].double() + squares(shifted.double())
    unsure = distances[:, -1] > outside - narrow.error(shifted)
    rows = torch.nonzero(unsure)[:, 0]
    if len(rows):
        distances[rows], numbers[rows] = _of_tile(X[rows], Y, k, distance, size, None)
    return distances, numbers


def _smallest_blocks(
    X: torch.Tensor,
    Y: torch.Tensor,
    table: Callable[[slice, torch.Tensor], torch.Tensor],
    count: int,
    select: Callable[[torch.Tensor, int], torch.Tensor],
    size: _Tile,
    room: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each row the smallest numbers that blocks of columns have, and which blocks.

    The best so far stand before the new ones: so `select` may prefer the first of equal ones.
    """
    step, held = size.columns(X, Y), size.held(X, Y)
    blocks = len(X) * held // _BLOCK
    smallest, room = room[:blocks].view(len(X), -1), room[blocks:]
    values = chosen = None
    for first in range(0, len(Y), held):
        end = min(first + held, len(Y))
        for start in range(first, end, step):
            part = table(slice(start, min(start + step, end)), room)
            missing = -part.shape[1] % _BLOCK
            if missing:
                part = torch.nn.functional.pad(part, (0, missing), value=torch.inf)
            place = (start - first) // _BLOCK
            into = smallest[:, place : place + part.shape[1] // _BLOCK]
            torch.amin(part.view(len(X), -1, _BLOCK), dim=2, out=into)
        new = smallest[:, : -(-(end - first) // _BLOCK)]
        numbers = torch.arange(new.shape[1], device=X.device) + first // _BLOCK
        numbers = numbers.expand(len(X), -1)
        if values is not None and chosen is not None:
            new = torch.cat((values, new), dim=1)
            numbers = torch.cat((chosen, numbers), dim=1)
        best = select(new, min(count, new.shape[1]))
        values, chosen = new.gather(1, best), numbers.gather(1, best)
    return values, chosen  # type: ignore[return-value]


def _some_smallest(table: torch.Tensor, k: int) -> torch.Tensor:
    """Return the places of the k smallest of each row in the order of size, of equal ones any."""
    return torch.topk(table, k, dim=1, largest=False).indices


def _first_smallest(table: torch.Tensor, k: int) -> torch.Tensor:
    """Return the places of the k smallest of each row, in order; of equal ones the first."""
    values, chosen = torch.topk(table, k, dim=1, largest=False)
    last = values[:, -1:]
    if not transfers.number(((table <= last).sum(dim=1) > k).any()):
        return torch.sort(chosen, dim=1).values
    below = table < last
    wanted = k - below.sum(dim=1, keepdim=True)
    level = table == last
    taken = below | (level & (torch.cumsum(level, dim=1) <= wanted))
    return torch.nonzero(taken)[:, 1].reshape(-1, k)


def _apart(
    X: torch.Tensor, Y: torch.Tensor, inside: torch.Tensor, room: torch.Tensor
) -> torch.Tensor:
    """Return the squared distances of rows from rows of Y, each from its own, by way of `room`."""
    count = inside.numel() * X.shape[1]
    memory = room.view(torch.uint8)
    wide = memory[: 8 * count].view(torch.float64).view(-1, X.shape[1])
    given = memory[8 * count : (8 + Y.element_size()) * count].view(Y.dtype).view(-1, X.shape[1])
    torch.index_select(Y, 0, inside.reshape(-1), out=given)
    wide.copy_(given)
    apart = wide.view(*inside.shape, X.shape[1]).sub_(X[:, None, :])
    return apart.mul_(apart).sum(dim=2)


def _within(
    X: torch.Tensor,
    Y: torch.Tensor,
    k: int,
    chosen: torch.Tensor,
    distance: Distance,
    size: _Tile,
    room: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the k nearest among the members of each row's own blocks."""
    members = torch.arange(_BLOCK, device=X.device)
    chosen = torch.sort(chosen, dim=1).values
    numbers = (chosen[:, :, None] * _BLOCK + members).reshape(len(X), -1)
    there = numbers < len(Y)
    inside = numbers.clamp(max=len(Y) - 1)
    # The members' rows and their differences have as many numbers as a tile and more.
    numbers_of_row = max(inside.shape[1] * X.shape[1], 1)
    step = size.numbers // (2 * numbers_of_row)
    if distance is sqeuclidean:
        step = min(step, room.nbytes // (numbers_of_row * (8 + Y.element_size())))
    distances = torch.empty((len(X), k), dtype=torch.float64, device=X.device)
    found = torch.empty((len(X), k), dtype=torch.int64, device=X.device)
    for start in range(0, len(X), max(step, 1)):
        rows = slice(start, start + max(step, 1))
        if distance is sqeuclidean and step:
            table = _apart(X[rows], Y, inside[rows], room)
        else:
            table = distance(X[rows], Y[inside[rows]].double())
        table.masked_fill_(~there[rows], torch.inf)
        distances[rows], found[rows] = _sorted(table, inside[rows], k)
    return distances, found


def _sorted(
    table: torch.Tensor, numbers: torch.Tensor | None, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the k smallest of each row; of equal ones those that stand first."""
    values, places = torch.sort(table, dim=1, stable=True)
    values, places = values[:, :k], places[:, :k]
    return values, places if numbers is None else torch.gather(numbers, 1, places)


def within_radius(
    X: torch.Tensor, Y: torch.Tensor, radius: float, distance: Distance
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the pairs of rows that are near each other, row by row.

    Returns
    -------
    counts : torch.Tensor
        How many each row of X has.
    numbers : torch.Tensor
        Rows of Y, in order.
    distances : torch.Tensor
    """
    step = max(1, _Tile.of(X).numbers // max(len(Y), 1))
    counts, numbers, distances = [], [], []
    for start in range(0, len(X), step):
        table = distance(X[start : start + step], Y)
        near = table <= radius
        counts.append(near.sum(dim=1))
        numbers.append(torch.nonzero(near)[:, 1])
        distances.append(table[near])
    if not counts:
        empty = X.new_empty(0)
        return empty.long(), empty.long(), empty
    return torch.cat(counts), torch.cat(numbers), torch.cat(distances)
