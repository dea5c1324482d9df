"""Arguments for calls of NumPy: arrays of every dtype, layout and kind of value."""

import numpy as np

DTYPES = [np.dtype(code) for code in "?bBhHiIlLefdFD"]

#: How the main array of a call looks.
FORMS = (
    *("plain", "random", "special", "empty", "zero_d", "one", "strided", "negative", "fortran"),
    *("stretched", "scalar", "list", "number"),
)
#: Forms that are ndarrays, which methods and operators need.
ARRAY_FORMS = FORMS[:-2]

SHAPES = {
    "empty": [(0,), (0, 3), (3, 0), (2, 0, 2)],
    "zero_d": [()],
    "scalar": [()],
    "number": [()],
    "one": [(1,), (1, 1)],
}
ANY_SHAPE = [(4,), (3, 4), (2, 3, 4), (5,), (3, 3)]


class Draw:
    """What the arguments of one call are drawn from.

    Parameters
    ----------
    rng : numpy.random.Generator
    dtype : numpy.dtype
        Of the main array.
    form : str
        One of `FORMS`.
    extremes : bool
        Whether special values include the largest and smallest of the dtype.
    shapes : sequence of tuple, optional
        What the main array's shape is chosen from.
    """

    def __init__(self, rng, dtype, form, extremes=True, shapes=None):
        self.rng, self.dtype, self.form, self.extremes = rng, dtype, form, extremes
        self.shapes = shapes or SHAPES.get(form, ANY_SHAPE)
        self.shape = ()
        self.values = {}

    def choice(self, *options):
        return options[self.rng.integers(len(options))]

    def integer(self, low, high):
        return int(self.rng.integers(low, high))

    def main(self, ndims=(0, 1, 2, 3)):
        """Return the main array, whose shape the other arguments go by."""
        fitting = [shape for shape in self.shapes if len(shape) in ndims] or self.shapes
        self.shape = self.choice(*fitting)
        return self.array(self.shape)

    def array(self, shape, dtype=None):
        """Return an array of a shape in the form of the call."""
        values = self.numbers(shape, np.dtype(dtype or self.dtype))
        return laid_out(values, self.form)

    def numbers(self, shape, dtype):
        if self.form == "special":
            return self.specials(shape, dtype)
        if self.form == "random":
            return self.random(shape, dtype)
        return small(self.rng, shape, dtype)

    def random(self, shape, dtype):
        """Return numbers with all of their digits."""
        if dtype.kind in "biu":
            info = (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            found = self.rng.integers(*info, shape, dtype=bool if dtype.kind == "b" else dtype)
            return np.asarray(found) if self.extremes else small(self.rng, shape, dtype)
        scale = 10.0 ** self.rng.integers(-3, 3)
        found = np.asarray(self.rng.normal(size=shape) * scale)
        if dtype.kind == "c":
            found = found + 1j * self.rng.normal(size=shape) * scale
        return np.asarray(found).astype(dtype)

    def specials(self, shape, dtype):
        found = small(self.rng, shape, dtype)
        where = self.rng.random(shape) < 0.5
        chosen = self.rng.choice(special_values(dtype, self.extremes), shape)
        return np.where(where, chosen, found).astype(dtype)


def small(rng, shape, dtype):
    """Return small numbers, some of them equal, of either sign where there is one."""
    whole = rng.integers(0 if dtype.kind in "bu" else -9, 2 if dtype.kind == "b" else 10, shape)
    if dtype.kind == "c":
        return np.asarray(whole / 4 + 1j * rng.integers(-9, 9, shape) / 4).astype(dtype)
    return np.asarray(whole / 4 if dtype.kind == "f" else whole).astype(dtype)


def special_values(dtype, extremes):
    """Return NaN, infinities, zeros and, if asked for, the ends of a dtype's range."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = [info.min, info.max, info.min + 1, info.max - 1] if extremes else []
        return np.array([0, 1, 2, 100, *ends], dtype)
    if dtype.kind == "c":
        real = special_values(np.dtype(f"f{dtype.itemsize // 2}"), extremes)
        return np.array([complex(a, b) for a in real for b in real]).astype(dtype)
    info = np.finfo(dtype)
    ends = [info.max, -info.max, info.tiny, -info.smallest_subnormal, info.eps, info.max / 3]
    common = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, 100.0]
    return np.array([*common, *(ends if extremes else [])], dtype)


def laid_out(values, form):
    """Return an array with these values in the memory layout of a form."""
    if form == "list":
        return values.tolist()
    if form in ("scalar", "number"):
        return values if values.ndim else values[()] if form == "scalar" else values.item()
    if not values.ndim:
        return values
    if form == "strided":
        wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        wide[..., ::2] = values
        return wide[..., ::2]
    if form == "negative":
        back = (slice(None, None, -1),) * values.ndim
        return values[back].copy()[back]
    if form == "fortran":
        return np.asfortranarray(values)
    if form == "stretched":
        return np.broadcast_to(values[:1], values.shape)
    return values


# -- roles: what an argument of a call is drawn as


def anything(*ndims):
    """The main array, of these numbers of dimensions."""
    return lambda draw: draw.main(ndims or (0, 1, 2, 3))


def other(draw):
    """An operand that broadcasts with the main array, of any dtype, or a Python number."""
    dtype = draw.choice(draw.dtype, draw.choice(*DTYPES))
    kind = draw.integer(0, 8)
    if kind == 0 and draw.form not in ("list", "number"):
        return small(draw.rng, (), dtype).item()
    shape = draw.shape
    if kind in (1, 2) and shape:
        shape = tuple(1 if draw.integer(0, 2) else n for n in shape)
    elif kind == 3:
        shape = shape[1:]
    elif kind == 4:
        shape = (2, *shape)
    elif kind == 5:
        shape = ()
    return draw.array(shape, dtype)


def same_dtype(draw):
    """An array like the main one."""
    return draw.array(draw.shape)


def same_shape(draw):
    """An array of the main one's shape and any dtype."""
    return draw.array(draw.shape, draw.choice(draw.dtype, draw.choice(*DTYPES)))


def mask(draw):
    """An array of bools that broadcasts with the main array."""
    shape = draw.choice(draw.shape, draw.shape[1:], draw.shape)
    return draw.rng.random(shape) < 0.6


def full_mask(draw):
    """An array of bools of the main one's shape."""
    return np.asarray(draw.rng.random(draw.shape) < 0.6)


def vector(length=4, dtype=None):
    """A 1-D array."""
    return lambda draw: draw.array((length,), dtype)


def shaped(*shape, dtype=None):
    """An array of this shape."""
    return lambda draw: draw.array(shape, dtype)


def any_vector(draw):
    """A 1-D array of any length, in the main dtype or another."""
    length = 0 if draw.form == "empty" else draw.integer(1, 6)
    return draw.array((length,), draw.choice(draw.dtype, draw.choice(*DTYPES)))


def literal(*options):
    """One of these values as it stands."""
    return lambda draw: draw.choice(*options)


def several(role, low=1, high=3, of=list):
    """A list of arguments of one role."""
    return lambda draw: of(role(draw) for _ in range(draw.integer(low, high + 1)))


def indices(draw):
    """Integers within the shortest axis of the main array, as array, list or number."""
    bound = min(draw.shape, default=1)
    dtype = draw.choice(*(np.dtype(code) for code in "lliBHL"))
    shape = (0,) if not bound else draw.choice((3,), (), (2, 2), draw.shape)
    low = 0 if dtype.kind == "u" else -bound
    found = draw.rng.integers(low, max(bound, 1), shape).astype(dtype)
    return draw.choice(found, found, found.tolist())


def like_indices(draw):
    """Integers within the shortest axis of the main array, of its shape."""
    return np.asarray(draw.rng.integers(0, max(min(draw.shape, default=1), 1), draw.shape))


def square_matrix(draw):
    """A well-conditioned square matrix, or a stack of them."""
    shape = draw.choice((3, 3), (2, 2), (2, 3, 3), (1, 1))
    shape = {"empty": draw.choice((0, 0), (0, 2, 2), (2, 0, 0)), "one": (1, 1)}.get(
        draw.form, shape
    )
    draw.shape = shape
    return regular(well_conditioned(draw, shape), draw.form)


def regular(values, form):
    """Return a matrix in the layout of a form; one whose rows are all the same has no inverse."""
    return laid_out(values, "plain" if form == "stretched" else form)


def well_conditioned(draw, shape):
    found = small(draw.rng, shape, draw.dtype)
    if draw.dtype.kind == "b":
        return found
    return (found + 20 * np.eye(shape[-1])).astype(draw.dtype)


def hermitian(draw):
    """A positive definite matrix, or a stack of them."""
    square_matrix(draw)
    found = well_conditioned(draw, draw.shape)
    if draw.dtype.kind == "b":
        return laid_out(
            np.broadcast_to(np.eye(draw.shape[-1], dtype=bool), draw.shape).copy(), draw.form
        )
    found = (found + np.swapaxes(found, -1, -2).conj()) / 2
    return regular(found.astype(draw.dtype), draw.form)


def any_matrix(draw):
    """A matrix of any shape, or a stack of them."""
    shape = draw.choice((3, 4), (4, 3), (3, 3), (2, 3, 2), (1, 1))
    draw.shape = draw.choice((0, 3), (3, 0), (2, 0, 3)) if draw.form == "empty" else shape
    return draw.array(draw.shape)
