"""Estimators on DTensors: each rank reduces its rows, and a collective combines the results."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from npaccel._runtime.callables import is_jitted
from npaccel._runtime.ranks import agreement, checkpoints
from npaccel._runtime.torch import layout
from npaccel._sklearn.parts.engine import (
    Combine,
    Kernel,
    Parts,
    WholeArraysError,
    check_rows,
    sums,
)


class RankParts(Parts):
    """Rows of DTensors, of which each rank has a part.

    See `Parts`. Arrays that are cut along another axis than that of rows are redistributed.
    """

    route = "sharded"
    without = "each rank computes with the whole"

    def __init__(self, array: Any, others: Sequence[Any], who: str) -> None:
        self._mesh, self.who = array.device_mesh, who
        self.shape = tuple(array.shape)
        agreement.agree(self._mesh, _told(who, array, others), who)
        if not layout.is_plain(array.placements):
            raise WholeArraysError(f"X is placed {array.placements}")
        #: Rows are cut along the dimensions of the mesh along which anything is.
        self._placements = tuple(
            Shard(0) if isinstance(one, Shard) else Replicate() for one in array.placements
        )
        self._axes = [i for i, one in enumerate(self._placements) if isinstance(one, Shard)]
        local = self._local(array)
        if array.ndim == 2:
            local = _wide(local)
        self._arrays = [local, *(self._local(one) for one in others)]
        self._device = local.device
        self.dtype = np.dtype(str(local.dtype).removeprefix("torch."))
        #: Kernels of which it's known how many numbers they give.
        self._sizes: dict[Kernel, tuple[tuple[int, ...], ...]] = {}

    def _local(self, value: Any) -> Any:
        """Return this rank's rows: of numbers a tensor, else an array."""
        if value is None:
            return None
        check_rows(self.shape[0], len(value))
        if isinstance(value, DTensor):
            if not layout.is_plain(value.placements) or value.device_mesh != self._mesh:
                raise WholeArraysError(f"an array is placed {value.placements} on another mesh")
            old = tuple(value.placements)
            local = value.to_local().detach()
            return layout.moved(local, value.shape, self._mesh, old, self._placements)
        start, stop = layout.local_bounds(self.shape[:1], self._mesh, self._placements)[0]
        rows = np.asarray(value if not isinstance(value, range) else value[start:stop])
        rows = rows if isinstance(value, range) else rows[start:stop]
        return torch.from_numpy(np.ascontiguousarray(rows)) if rows.dtype.kind in "biuf" else rows

    # -- Kernels ----------------------------------------------------------------

    def _called(self, kernel: Kernel, constants: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """Return what a kernel gives for this rank's rows, as arrays."""
        on_device = self._device.type != "cpu" and is_jitted(kernel) and len(arrays[0])
        if on_device and not any(
            isinstance(one, np.ndarray) and one.dtype.kind in "OUS" for one in (*arrays, *constants)
        ):
            moved = functools.partial(_moved, device=self._device)
            return _on_host(kernel(*map(moved, arrays), *map(moved, constants)))
        function: Any = kernel
        if is_jitted(kernel) and not len(arrays[0]):
            function = kernel.__wrapped__  # type: ignore[attr-defined]
        with np.errstate(all="ignore"):
            return function(*map(_on_host, arrays), *constants)

    def reduce(self, kernel: Kernel, combine: Combine, *constants: Any) -> Any:
        def called() -> Any:
            return self._called(kernel, constants, self._arrays)

        sizes = self._sizes.get(kernel) if combine is sums else None
        if sizes is not None and self._axes:
            return self._added(called, sizes)
        found = functools.reduce(combine, self._gathered(called))
        if combine is sums:
            found = sums(found, [0.0] * len(found))
            self._sizes[kernel] = tuple(np.shape(one) for one in found)
        return found

    def _added(self, called: Callable[[], Any], shapes: Sequence[tuple[int, ...]]) -> Any:
        """Return sums over all ranks, by one collective.

        A rank that fails adds to the last number.
        """
        lengths = [int(np.prod(shape)) for shape in shapes]
        packed, error = np.zeros(sum(lengths) + 1), None
        try:
            packed[:-1] = np.concatenate([np.ravel(one) for one in called()])
        except Exception as failure:  # noqa: BLE001 (told to all ranks)
            packed[-1], error = 1.0, failure
        summed = self._all_reduced(packed)
        if summed[-1]:
            self._raise_first(self._everyones((error, None)))
        parts = np.split(summed[:-1], np.cumsum(lengths)[:-1])
        return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))

    def _all_reduced(self, packed: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        local = torch.from_numpy(packed).to(self._device)
        try:
            for axis in self._axes:
                dist.all_reduce(local, group=self._mesh.get_group(axis))
        except RuntimeError as error:
            raise agreement.waited(error, self.who, "in a reduction of an estimator") from error
        return local.cpu().numpy()

    def collect(self, kernel: Kernel, *constants: Any, each: Sequence[Any] | None = None) -> Any:
        if each is None:
            return self._gathered(lambda: self._called(kernel, constants, self._arrays))
        mine = each[self._index()]
        if mine is None:
            return self._gathered(lambda: None)
        return self._gathered(lambda: self._called(kernel, (*constants, mine), self._arrays))

    def _index(self) -> int:
        """Return the number of this rank's part."""
        place, index = self._mesh.get_coordinate(), 0
        for axis in self._axes:
            index = index * self._mesh.size(axis) + place[axis]
        return index

    def _gathered(self, called: Callable[[], Any]) -> list[Any]:
        """Return what a function gives on all ranks, in the order of rows."""
        try:
            told: tuple[Any, Any] = (None, called())
        except Exception as error:  # noqa: BLE001 (told to all ranks)
            told = (error, None)
        everyone = self._everyones(told)
        self._raise_first(everyone)
        return [found for _, found in everyone]

    def _everyones(self, told: Any) -> list[Any]:
        where = "in a reduction of an estimator"
        return agreement.gathered(self._mesh, told, self.who, where, reversed(self._axes))

    @staticmethod
    def _raise_first(everyone: Sequence[tuple[Exception | None, Any]]) -> None:
        """Raise the first rank's error on all of them."""
        for error, _ in everyone:
            if error is not None:
                raise error

    def map(
        self, kernel: Kernel, *constants: Any, nan: bool = False, like: Sequence[Any] | None = None
    ) -> Any:
        self._gathered(lambda: _check_finite(self._arrays[0], nan))
        found = self._called(kernel, constants, self._arrays[:1])
        return self._spread_rows(found) if like is None else tuple(map(self._spread_rows, found))

    def _spread_rows(self, found: Any) -> Any:
        """Return the DTensor of which this rank has rows."""
        if found.dtype.kind not in "biuf":
            raise WholeArraysError(f"results of the dtype {found.dtype}")
        local = torch.from_numpy(np.ascontiguousarray(found)).to(self._device)
        shape = (self.shape[0], *local.shape[1:])
        return layout.dtensor_of(local, shape, self._mesh, self._placements)

    def across(
        self,
        queries: Parts,
        kernel: Kernel,
        combine: Combine,
        finish: Callable[..., Any],
        like: Sequence[Any],  # noqa: ARG002 (results are there, and say it)
        *constants: Any,
    ) -> tuple[Any, ...]:
        assert isinstance(queries, RankParts)
        if queries._mesh != self._mesh:
            raise WholeArraysError("queries are on another mesh")
        count = math.prod(self._mesh.size(axis) for axis in queries._axes)
        mine: Any = None
        for part in range(count):
            each = [True if i == part else None for i in range(count)]
            rows = queries.collect(_first, each=each)[part]
            found = self.reduce(kernel, combine, rows, *constants)
            if part == queries._index():
                mine = finish(found, *map(_on_host, queries._arrays[1:]), *constants)
        return tuple(map(queries._spread_rows, mine))

    def of_first(self, function: Callable[[], Any]) -> Any:
        return agreement.of_first(self._mesh, function, self.who)

    def of_checkpoints(self) -> dict[str, Any]:
        return checkpoints.words_of(self._mesh)

    # -- Whole arrays -------------------------------------------------------------

    @staticmethod
    def whole(value: Any) -> Any:
        return value.full_tensor() if isinstance(value, DTensor) else value

    @staticmethod
    def spread(value: Any, like: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        mesh = like.device_mesh
        return distribute_tensor(value, mesh, layout.replicated(mesh))


def _first(*arrays: Any) -> Any:
    return arrays[0]


def _check_finite(local: Any, nan: bool) -> None:
    from sklearn.utils import assert_all_finite

    assert_all_finite(_on_host(local), allow_nan=nan, input_name="X")


def _wide(local: torch.Tensor) -> torch.Tensor:
    """Return numbers as scikit-learn computes with them."""
    if local.is_complex() or local.dtype == torch.bfloat16:
        raise WholeArraysError(f"X has the dtype {local.dtype}")
    return local if local.dtype in (torch.float32, torch.float64) else local.to(torch.float64)


def _on_host(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_on_host, value))
    return value.cpu().numpy() if isinstance(value, torch.Tensor) else value


def _moved(value: Any, device: torch.device) -> Any:
    value = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _told(who: str, array: Any, others: Sequence[Any]) -> dict[str, str]:
    """Return what all ranks must have in common."""
    told = {"what is called": who}
    for i, one in enumerate((array, *others)):
        words = "nothing" if one is None else f"{getattr(one, 'dtype', '')}{tuple(np.shape(one))}"
        if isinstance(one, DTensor):
            words = f"{one.dtype}{tuple(one.shape)} placed {one.placements}"
        told[f"argument {i}"] = words
    return told


__all__ = ["RankParts"]
