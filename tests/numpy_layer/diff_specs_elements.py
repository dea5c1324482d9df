"""How rows are called: reading and writing elements, sorting, searching, sets."""

import numpy as np
from diff_inputs import (
    ARRAY_FORMS,
    any_vector,
    anything,
    full_mask,
    indices,
    like_indices,
    literal,
    other,
    same_dtype,
    same_shape,
    several,
    vector,
)
from diff_spec import WRITTEN, YES, both, spec

# -- reading and writing elements

both("take", anything(), indices)
spec("take_along_axis", anything(1, 2, 3), like_indices, keywords={"axis": literal(0, -1, 1, None)})
CHOICES = several(same_shape, 2, 3)
spec("choose", lambda draw: (draw.main(), draw.rng.integers(0, 2, draw.shape))[1], CHOICES)
spec("ndarray.choose", lambda draw: (draw.main(), draw.rng.integers(0, 2, draw.shape))[1], CHOICES)
spec(
    "where",
    lambda draw: draw.rng.random((draw.main(), draw.shape)[1]) < 0.5,
    other,
    other,
    alone=("x", "y"),
)
both("nonzero", anything(1, 2, 3, 0))
spec("flatnonzero argwhere")
spec(
    "compress", lambda draw: np.array([True, False, True])[: max(1, draw.integer(1, 4))], anything()
)
spec("ndarray.compress", anything(), literal([True], [False, True], np.array([True, True, False])))
spec("extract", lambda draw: (draw.main(), full_mask(draw))[1], same_dtype)
spec(
    "select",
    lambda draw: (draw.main(), [full_mask(draw), full_mask(draw)])[1],
    lambda draw: [same_shape(draw), same_shape(draw)],
    keywords={"default": literal(0, 1.5, -1)},
)
spec("copyto", anything(), other, forms=WRITTEN, extremes=False)
spec("putmask", anything(), full_mask, any_vector, forms=WRITTEN)
spec("place", anything(), full_mask, any_vector, forms=WRITTEN)
both("put", anything(), indices, other, forms=WRITTEN)
spec(
    "put_along_axis", anything(1, 2, 3), like_indices, same_shape, literal(0, -1, 1), forms=WRITTEN
)
spec("fill_diagonal", anything(2, 3), literal(0, 1.5, [1, 2], -1), forms=WRITTEN)
spec("ndarray.fill", anything(), literal(0, 1, 1.5, True, 300, -1), forms=WRITTEN)
spec("ndarray.item", anything(), literal(0, -1, (0, 0), (1,), 99), alone=("args",))
spec("ndarray.T ndarray.mT ndarray.real ndarray.imag", extremes=True)
spec("ndarray.flat", text="np.array({0}.flat)", extremes=True)
spec("ndarray.dtype", text="np.zeros(2, {0}.dtype)", forms=ARRAY_FORMS)
spec("ndarray.itemsize ndarray.nbytes ndarray.ndim ndarray.shape ndarray.size")
spec("ndarray.strides", forms=("plain", "random", "fortran", "strided"))
spec(
    "ndarray.real.__set__ ndarray.imag.__set__ ndarray.flat.__set__",
    anything(),
    other,
    forms=WRITTEN,
)
KIND_GIVEN = literal(
    "f4", "d", np.float32, np.int32, np.dtype("u2"), "?", "F", int, float, "e", "L", "b"
)
spec(
    "ndarray.astype",
    anything(),
    KIND_GIVEN,
    keywords={"copy": YES, "order": literal("C", "F", "A", "K")},
)
spec("astype", anything(), KIND_GIVEN, forms=ARRAY_FORMS)
spec(
    "ndarray.view",
    anything(),
    literal(None, "u1", "i4", "f4", "l", "d", "F"),
    keywords={"type": literal(np.ndarray)},
)
KEY = literal(
    *(
        0,
        -1,
        9,
        Ellipsis,
        None,
        slice(None),
        slice(1, None),
        slice(None, None, -1),
        slice(-2, None, -1),
    ),
    *(
        (0, 0),
        (slice(None), 0),
        (Ellipsis, 0),
        (None, 0),
        (0, None, Ellipsis),
        [0, 1],
        [True, False, True],
    ),
    *(
        (slice(None, None, 2), [0, 1]),
        ([0, 1], [1, 0]),
        (slice(0, 1), None),
        np.array([0, -1]),
        [],
        True,
    ),
    *(np.array([[0, 1], [1, 0]]), (Ellipsis, np.array([0])), (0, 0, 0, 0), 1.5, "x"),
)


def key(draw):
    """An index: one of many forms, or a mask of the array's shape."""
    return full_mask(draw) if draw.integer(0, 6) == 0 else KEY(draw)


spec("ndarray.__getitem__", anything(), key, extremes=True)
spec("ndarray.__setitem__", anything(), key, other, forms=WRITTEN)
spec(
    "unravel_index",
    literal(0, 5, np.array([1, 3]), [0, 2]),
    literal((2, 3), (6,), 6, (2, 2, 2)),
    alone=("shape",),
)
spec(
    "ravel_multi_index",
    literal((0, 1), ([0, 1], [1, 2]), (np.array([1]), np.array([0]))),
    literal((2, 3), (4, 4)),
)

# -- sorting, searching, sets

both("sort", keywords={"order": literal(None)}, extremes=True)
both(
    "argsort",
    keywords={
        "order": literal(None),
        "kind": literal("stable", "nonsense"),
        "stable": literal(True),
    },
    extremes=True,
)
spec("sort_complex", extremes=True)
both(
    "partition",
    anything(1, 2, 3),
    literal(0, 1, -1, [0, 2]),
    keywords={"kind": literal("introselect", "nonsense"), "order": literal(None)},
)
both(
    "argpartition",
    anything(1, 2, 3),
    literal(0, 1, -1, [0, 2]),
    keywords={"kind": literal("introselect", "nonsense"), "order": literal(None)},
)
spec("lexsort", several(same_shape), keywords={"axis": literal(-1, 0, 1)})
both(
    "searchsorted",
    lambda draw: np.sort(any_vector(draw)),
    other,
    keywords={"sorter": lambda draw: None},
)
SET = "unique_all unique_counts unique_inverse unique_values"
spec("unique", keywords={"axis": literal(None, 0, -1, 1)}, extremes=True)
spec(SET, extremes=True)
spec("isin", anything(), any_vector, keywords={"kind": literal(None, "sort", "table")})
spec("union1d intersect1d setdiff1d setxor1d", anything(), any_vector)

# -- bits and memory

BITS = {"bitorder": literal("big", "little", "nonsense"), "count": literal(None, 5, -1)}
spec("packbits", keywords=BITS)
spec("unpackbits", lambda draw: draw.array((draw.main(), draw.shape)[1], "u1"), keywords=BITS)
spec("ndarray.byteswap", keywords={"inplace": literal(False)})
spec("ndarray.to_device", anything(), literal("cpu"), keywords={"stream": literal(None)})
spec("ndarray.device")
spec(
    "lib.stride_tricks.as_strided",
    vector(4),
    keywords={
        "shape": literal((2,)),
        "strides": lambda draw: (2 * draw.dtype.itemsize,),
        "check_bounds": literal(True),
    },
    always=("shape", "strides"),
    forms=("plain", "random", "special"),
)
spec("mask_indices", literal(3, 1), literal(np.triu, np.tril), forms=("plain",))
spec("piecewise", anything(), lambda draw: [full_mask(draw)], literal([1, 2], [3]), alone=("args",))
spec("apply_along_axis", literal(np.sum, np.sort), literal(0, -1), anything(1, 2), alone=("args",))
