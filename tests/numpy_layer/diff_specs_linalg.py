"""How rows are called: products and linear algebra."""

import numpy as np
from diff_inputs import (
    FORMS,
    any_matrix,
    anything,
    hermitian,
    literal,
    other,
    same_shape,
    shaped,
    small,
    square_matrix,
)
from diff_spec import spec

# -- products and linear algebra

spec("dot inner vdot kron", anything(0, 1, 2), other)
spec("ndarray.dot", anything(), other)
spec(
    "tensordot linalg.tensordot",
    anything(),
    same_shape,
    keywords={"axes": literal(0, 1, 2, ([0], [0]), (-1, -1))},
)
spec(
    "cross",
    shaped(4, 3),
    lambda draw: draw.array(draw.choice((4, 3), (3,), (1, 3))),
    keywords={"axis": literal(None, -1, 1)},
)
spec(
    "linalg.cross",
    shaped(4, 3),
    lambda draw: draw.array(draw.choice((4, 3), (3,), (1, 3))),
    keywords={"axis": literal(-1, 1)},
)
spec(
    "einsum",
    literal("ij,jk->ik", "ij,jk", "ij,ji->", "...j,jk->...k"),
    shaped(3, 3),
    shaped(3, 3),
    alone=("operands",),
    keywords={"optimize": literal(False, True, "greedy"), "order": literal("K", "C", "F")},
)
spec(
    "linalg.norm",
    anything(),
    keywords={
        "ord": literal(None, 1, 2, -2, -1, 0, 3, 0.5, np.inf, -np.inf, "fro", "nuc", "bad"),
        "axis": literal(None, 0, -1, (0, 1), (-1, -2), 3),
    },
)
spec(
    "linalg.matrix_norm", any_matrix, keywords={"ord": literal("fro", "nuc", 1, -1, 2, -2, np.inf)}
)
spec(
    "linalg.vector_norm",
    keywords={"ord": literal(1, 2, 0, 3, np.inf, -np.inf), "axis": literal(None, 0, -1, (0, 1))},
)
spec("linalg.eig linalg.eigvals", square_matrix)
spec("linalg.eigh linalg.eigvalsh", hermitian)
spec("linalg.cholesky", hermitian)
spec(
    "linalg.svd linalg.svdvals linalg.pinv linalg.matrix_rank",
    any_matrix,
    keywords={
        "hermitian": literal(False),
        "rcond": literal(None, 1e-3),
        "rtol": literal(1e-3),
        "tol": literal(None, 0.1),
    },
    forms=tuple(f for f in FORMS if f != "special"),
)
spec(
    "linalg.qr",
    any_matrix,
    keywords={"mode": literal("reduced", "complete", "r", "raw", "bad")},
    forms=tuple(f for f in FORMS if f != "special"),
)
spec("linalg.det linalg.slogdet linalg.inv", square_matrix)
spec(
    "linalg.cond", square_matrix, keywords={"p": literal(None, 1, -1, 2, -2, np.inf, "fro", "nuc")}
)
spec(
    "linalg.solve",
    square_matrix,
    lambda draw: draw.array(
        draw.choice((*draw.shape[:-1], 2), draw.shape[-1:], (*draw.shape[:-2], draw.shape[-1], 1))
    ),
    forms=tuple(f for f in FORMS if f != "special"),
)
spec(
    "linalg.lstsq",
    any_matrix,
    lambda draw: draw.array(draw.choice(draw.shape[:1], (draw.shape[0], 2))),
    keywords={"rcond": literal(None, 1e-3, -1)},
    forms=tuple(f for f in FORMS if f != "special"),
)
spec("linalg.matrix_power", square_matrix, literal(0, 1, 2, 3, 5, -1, -2))
spec(
    "linalg.multi_dot",
    lambda draw: [draw.array((3, 2)), draw.array((2, 4)), draw.array((4, 2))][: draw.integer(2, 4)],
)
spec(
    "linalg.tensorsolve",
    lambda draw: laid_square(draw, (2, 3, 6)),
    shaped(2, 3),
    keywords={"axes": literal(None)},
)
spec(
    "linalg.tensorinv",
    lambda draw: laid_square(draw, (6, 2, 3)),
    keywords={"ind": literal(1, 0)},
    always=("ind",),
)
spec("linalg.matmul", anything(), other)
spec("linalg.vecdot", anything(), other, keywords={"axis": literal(-1, 0)})
spec("linalg.diagonal linalg.trace", anything(1, 2, 3))


def laid_square(draw, shape):
    """A tensor that is well conditioned when taken as a square matrix."""
    found = small(draw.rng, (6, 6), draw.dtype)
    return (
        found.reshape(shape)
        if draw.dtype.kind == "b"
        else (found + 20 * np.eye(6)).astype(draw.dtype).reshape(shape)
    )
