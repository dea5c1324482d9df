"""Sums begin with zero: they are never -0.0, where NumPy's aren't; `clip` keeps signs."""

import numpy as np
import pytest

import npaccel

FUNCTIONS = {
    "einsum": lambda a, b: (
        np.einsum("i,i", a, b),
        np.einsum("i,i->i", a, b),
        np.einsum("i,j->ij", a, b),
        np.einsum("ij,ij->i", a[None], b[None]),
        np.einsum("ij,jk", a[None], b[:, None]),
        np.einsum("...i->...", a),
    ),
    "sliding": lambda a, b: (
        np.convolve(a, b),
        np.convolve(a, b[:1], "same"),
        np.correlate(a, b, "full"),
        np.polymul(a, b),
    ),
    "dot": lambda a, b: (np.dot(a, b), np.vdot(a, b), np.inner(a, b), a @ b, a[None] @ b[:, None]),
    "sums": lambda a, b: (
        *(np.sum(a[0]), a[0].sum(), a[0, ...].sum(), a.sum(axis=()), a[:1].sum(), a.mean()),
        *(np.add.reduce(a[0], axis=None), np.add.reduce(a, axis=(), initial=None)),
        *(np.nansum(b[0]), np.mean(b[0]), np.median(a), np.nanmedian(a[:2]), np.median(b)),
    ),
    "clip": lambda a, b: (
        *(np.clip(a, 0, 2), np.clip(b, -2, 0), a.clip(0.0, 1.0), np.clip(a, -0.0, 2)),
        *(np.clip(a, np.float64(0), 2), np.clip(b, -1, b[0] * 0)),
    ),
    "extremes": lambda a, b: (
        *(np.maximum(a, -a), np.minimum(a, -a), np.maximum(a, 0), np.minimum(0, a)),
        *(np.maximum(a, -0.0), np.minimum(-0.0, a), np.maximum(a[0], -a), np.minimum(-a, a[0])),
        *(np.clip(a, 0, None), np.clip(a, None, 0), np.maximum(a[0], -a[0])),
    ),
    "bounds": lambda a, b: (
        *(np.clip(a, -a, 2), a.clip(0, -a), np.clip(a, -a[0], -a), np.clip(a, -2, -a)),
        *(np.clip(np.stack([a, b]), -a, 2), np.clip(np.stack([a, a]), -a[:1], 2)),
        *(np.clip(np.stack([a, a, a]).T, -a[:, None], 2), np.clip(a[None], -a[:, None], 2)),
        *(np.clip(np.stack([a, b]), np.stack([-a[:1], b[:1]]), 2), np.clip(a[0], -a, 2)),
    ),
    "running": lambda a, b: (
        *(np.cumsum(a), np.add.accumulate(a[None], axis=1), np.nancumsum(a)),
        *(np.cumsum(np.concatenate([a, b, a])), np.subtract.accumulate(a), np.cumsum(a[a < 1])),
        *(np.cumsum(np.stack([a, b]), axis=0), np.cumsum(np.stack([a, b, a]), axis=1)),
    ),
    "initial": lambda a, b: (
        *(np.sum(a, initial=-0.0), np.sum(a[:0], initial=-0.0), np.sum(a, initial=a[0])),
        *(np.add.reduce(a[None], axis=0, initial=complex(-0.0, -0.0).real), np.sum(b, initial=0.0)),
        *(np.sum(a, initial=-0.0, where=b > 0), np.sum(a, initial=b[0]), np.sum(a, where=b > 0)),
    ),
    "added": lambda a, b: (
        *(a + np.zeros(a.shape), np.zeros(a.shape, "f") + a, a - np.full(a.shape, -0.0)),
        *(a - np.zeros(a.shape), a + 0.0, 0.0 + a, a - 0, a + np.full(a.shape, -0.0)),
    ),
    "gradient": lambda a, b: np.gradient(np.concatenate([a, b, a])),
}


def signs(results):
    parts = [np.asarray(x) for x in results]
    parts = [y for x in parts for y in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    return [np.signbit(x).tolist() for x in parts]


@pytest.mark.sampled
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_signs_of_zero(function, backend):
    def of_all_dtypes(*pairs):
        return [function(a, b) for a, b in pairs]

    jitted = npaccel.jit(of_all_dtypes, backend=backend, default_float="float64")
    sizes = [(1,), (3,), (9,)] if backend == "eager" else [(1, 9)]  # Those of one compilation.
    for ns in sizes:
        for a, b in ((-0.0, 1), (0.0, -1), (-0.0, -0.0)):
            given = [(np.full(n, a, t), np.full(n, b, t)) for n in ns for t in "efdD"]
            for found, wanted in zip(jitted(*given), of_all_dtypes(*given), strict=True):
                assert signs(found) == signs(wanted)
