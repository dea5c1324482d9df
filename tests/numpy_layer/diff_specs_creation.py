"""How rows are called: functions that create arrays, and that change their shape."""

import numpy as np
from diff_inputs import (
    FORMS,
    any_vector,
    anything,
    indices,
    literal,
    other,
    same_dtype,
    same_shape,
    several,
    square_matrix,
)
from diff_spec import both, spec

# -- creation

SHAPE = literal(3, (2, 3), (), (0, 2), [2, 1], -1, (2, -1))
spec("zeros ones", SHAPE)
spec("empty", SHAPE, values=False)
spec("full", SHAPE, literal(0, 1.5, True, 2j, [1, 2, 3], np.nan))
LIKE = {"shape": literal(None, (2, 2), 3)}
spec("zeros_like ones_like", keywords=LIKE)
spec("empty_like", keywords=LIKE, values=False)
spec(
    "full_like",
    anything(),
    literal(0, 1.5, True, -1, np.inf, 300),
    keywords={"shape": literal(None, (2, 2))},
)
spec("array", keywords={"copy": literal(True, None), "ndmax": literal(0, 2)}, extremes=True)
spec(
    "asarray asanyarray asfortranarray ascontiguousarray",
    keywords={"copy": literal(True, None)},
    extremes=True,
)
spec("require", keywords={"requirements": literal(None, "C", ["A", "W"], "F")})
both("copy", extremes=True)
NUMBER = literal(0, 1, 5, -2, 2.5, 0.5)
spec(
    "arange",
    literal(0, 1, -3, 5.5, 3),
    literal(4, 7, 2.5, -2),
    literal(1, 2, -1, 0.5, 0),
    keywords={"dtype": literal(None, "f4", "i4", "d", "u1", "D", "?")},
    alone=("start", "stop", "step"),
)
spec(
    "linspace",
    anything(),
    other,
    keywords={"num": literal(5, 1, 0, 7, -1), "axis": literal(0, -1, 1)},
    forms=tuple(f for f in FORMS if f != "special"),
)
spec(
    "logspace",
    anything(),
    other,
    keywords={"num": literal(5, 1, 0, 7), "axis": literal(0, -1, 1), "base": literal(10.0, 2, 0.5)},
    forms=tuple(f for f in FORMS if f != "special"),
)
spec(
    "geomspace",
    literal(1, 2.5, 10, 1j, -4),
    literal(100, 0.5, -9, 3 + 4j),
    keywords={"num": literal(5, 1, 0, 7), "axis": literal(0, -1)},
)
spec("eye", literal(3, 0, 1), keywords={"M": literal(None, 2, 5)})
spec("identity", literal(3, 0, 1, -1))
spec("tri", literal(3, 0, 1), keywords={"M": literal(None, 2, 5)})
spec("tril triu diagflat")
spec("diag", anything(1, 2, 3))
both("diagonal trace")
spec("vander", any_vector, keywords={"N": literal(None, 2, 0, 6)})
spec("meshgrid", any_vector, any_vector, alone=("xi",))
spec("indices", literal((2, 3), (4,), (), (0, 2)))
spec("ix_", indices, lambda draw: np.array([0, 2, 1]), forms=("plain",))
spec("tril_indices triu_indices", literal(3, 4, 0), keywords={"m": literal(None, 2, 5)})
spec("tril_indices_from triu_indices_from", anything(2))
spec("diag_indices", literal(3, 0), keywords={"ndim": literal(1, 2, 3)})
spec("diag_indices_from", square_matrix)
spec(
    "fromfunction",
    literal(np.add, np.multiply),
    literal((3, 2), (4, 1)),
    keywords={"dtype": literal(int, float, "f4")},
)
spec("bartlett blackman hamming hanning", literal(0, 1, 5, 6, -1))
spec("kaiser", literal(0, 1, 5, 6), literal(0, 2.5, 14))
spec("fft.fftfreq fft.rfftfreq", literal(5, 8, 1), keywords={"d": literal(1.0, 0.1, 2)})
spec(
    "pad",
    anything(),
    literal(1, (1, 2), 0),
    keywords={
        "mode": literal(
            *(
                "constant",
                "edge",
                "wrap",
                "reflect",
                "symmetric",
                "linear_ramp",
                "maximum",
                "mean",
                "median",
            ),
            *("minimum", "empty", "nonsense"),
        ),
        "constant_values": literal(3),
        "stat_length": literal(2),
    },
)
spec(
    "trim_zeros",
    anything(),
    keywords={"trim": literal("fb", "f", "B", "x"), "axis": literal(None, 0, -1, ())},
)
TYPES = """bool complex128 complex64 float16 float32 float64 int16 int32 int64 int8 longlong
    uint16 uint32 uint64 uint8 ulonglong"""
spec(TYPES, anything())

# -- shapes

both("ravel", extremes=True)
spec("ndarray.flatten", extremes=True)
spec(
    "reshape",
    anything(),
    literal(-1, (2, -1), (-1, 1), (3, 4), ()),
    keywords={"newshape": literal((-1,)), "copy": literal(None, True)},
    alone=("newshape",),
)
spec(
    "ndarray.reshape",
    anything(),
    literal(-1, (2, -1), (-1, 1), (3, 4), ()),
    keywords={"copy": literal(None, True)},
    alone=("shape",),
)
spec("transpose", keywords={"axes": literal(None, (1, 0), (0, 2, 1), (-1, 0), [1, 0])})
spec("ndarray.transpose", anything(), literal(None, (1, 0), (0, 2, 1), [1, 0]), alone=("axes",))
spec("matrix_transpose linalg.matrix_transpose", anything(1, 2, 3))
both("swapaxes", anything(), literal(0, 1, -1), literal(0, 1, -1, 2))
spec("moveaxis", anything(), literal(0, -1, [0, 1]), literal(-1, 1, [1, 0]))
spec("rollaxis", anything(), literal(0, 1, -1, 2), keywords={"start": literal(0, 1, 2)})
spec("expand_dims", anything(), literal(0, -1, (0, 1), 2, 9, (0, 0)))
both("squeeze")
spec("broadcast_to", anything(), literal((3, 4), (2, 3, 4), (2, 0, 2), (4,), 4, ()))
spec("broadcast_arrays", anything(), other, alone=("args",))
spec("broadcast_shapes", literal((3, 1), (4,), 1), literal((1, 4), 4, (), (5, 4)))
spec("atleast_1d atleast_2d atleast_3d", anything(), other)
spec("ndim shape")
spec("size", keywords={"axis": literal(None, 0, -1, 3)})
spec("flip", extremes=True)
spec("flipud fliplr", extremes=True)
spec(
    "rot90",
    anything(),
    keywords={"k": literal(0, 1, 2, 3, -1), "axes": literal((0, 1), (1, 0), (0, 0))},
)
spec("roll", anything(), literal(1, -2, 0, (1, 2), 7))
spec("lib.stride_tricks.sliding_window_view", anything(1, 2, 3), literal(2, 1, (2, 2), 9))
spec(
    "concatenate stack hstack vstack dstack row_stack",
    several(same_shape),
    keywords={},
    extremes=True,
    forms=FORMS,
)
spec("column_stack", several(same_shape))
spec(
    "block",
    lambda draw: draw.choice(
        [draw.main(), same_shape(draw)], [[draw.main(), same_dtype(draw)]], draw.main()
    ),
)
spec("append", anything(), same_shape)
spec("array_split split", anything(1, 2, 3), literal(1, 2, 3, [1, 2], (1,), 0))
spec("vsplit hsplit dsplit", anything(), literal(1, 2, 3, [1, 2]))
spec("unstack", anything())
spec("tile", anything(), literal(2, (2, 1), (1, 2, 1, 1), 0, ()))
both("repeat", anything(), literal(2, 0, [2], 3, -1, np.array([1, 2, 0]), [1, 0, 2, 1]))
spec("resize", anything(), literal(3, (2, 5), (), 0, (3, 3)))
spec("delete", anything(1, 2, 3), literal(0, -1, [0, 1], slice(0, 2), 9, np.array([0])))
spec("insert", anything(1, 2, 3), literal(0, -1, 1, [0, 1], slice(0, 2), 9), other)
