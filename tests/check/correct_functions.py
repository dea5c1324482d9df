"""Functions in which `npaccel.check` must find nothing, with the arguments of a call each."""

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=50)
P = np.abs(X) + 0.1
A = rng.normal(size=(7, 5))
S = A.T @ A + np.eye(5)
N = rng.integers(-20, 20, 30)
U = N.astype(np.uint8)
F = X.astype(np.float32)
Z = X[:20] + 1j * X[20:40]
B = X > 0

CASES = []


def case(*args, **kwargs):
    """Enter a function with the arguments of its call."""

    def enter(function):
        CASES.append((function, args, kwargs))
        return function

    return enter


@case(A, rng.normal(size=(3, 5)))
def nearest(points, means):
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


@case(rng.normal(size=(20, 20)), np.zeros((20, 20)))
def stencil(u, v):
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    u[...] = v


@case(A)
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@case(P, 100.0, 0.05, 0.2, 1.0)
def black_scholes(price, strike, rate, vol, years):
    d = (np.log(price / strike) + (rate + vol**2 / 2) * years) / (vol * np.sqrt(years))
    return price * np.tanh(d), d - vol * np.sqrt(years)


@case(X)
def variance_in_two_passes(x):
    m = x.mean()
    return ((x - m) ** 2).sum() / (len(x) - 1)


@case(N)
def mean_of_integers(i):
    return i.mean(), i / 3, np.sin(i)


@case(12)
def made_from_nothing(n):
    t = np.linspace(0, 1, n)
    return np.outer(t, np.arange(n)) + np.zeros((n, n))


@case(F)
def stays_narrow(f):
    return f * 2.5 + 1, f.sum(), np.float32(2) * f


@case(U)
def wraps_around(u):
    return u + 200, u * u, u // 3


@case(Z)
def complex_parts(z):
    return z.real, z.imag, np.abs(z), np.conj(z) * z


@case(X, B)
def masked(x, mask):
    y = x.copy()
    y[mask] = 0
    return y, x[mask].sum() if mask.any() else 0.0


@case(A)
def in_place_operators(a):
    a += 1
    a[:, 0] *= 2
    a[0] /= 4
    a -= a.mean(axis=0)


@case(S, rng.normal(size=5))
def solves(s, b):
    x = np.linalg.solve(s, b)
    return x, np.allclose(s @ x, b)


@case(S)
def decomposed(s):
    return np.linalg.cholesky(s), np.linalg.det(s), np.linalg.inv(s)


@case(X)
def cancels(x):
    return (x + 1e9) - 1e9, np.sum(x) - x.sum()


@case(X)
def rounds(x):
    return np.floor(x), np.rint(x), np.trunc(x * 10), np.sign(x)


@case(X)
def sorts(x):
    return np.sort(x)[::-1], np.argsort(x), np.searchsorted(np.sort(x), 0.3)


@case(N)
def counts(i):
    values, numbers = np.unique(i, return_counts=True)
    return values, numbers, np.bincount(i + 20)


@case(X, k=3)
def with_keyword(x, *, k, shift=0.5):
    return np.roll(x, k) + shift


@case(X, X, X)
def with_star(*arrays):
    return sum(arrays), np.stack(arrays)


@case({"a": X, "b": [P, (N, F)]})
def nested(data):
    data["a"][0] = 7
    return {"sum": data["a"] + data["b"][0], "parts": [data["b"][1][0] * 2]}


@case(X)
def loops(x):
    for i in range(5):
        x = np.cos(x) + i
    return x


@case(X)
def in_a_helper(x):
    return _scaled(_scaled(x, 2), np.pi)


def _scaled(x, factor):
    return x * factor + 1


@case(X)
def branches_on_data(x):
    if x.sum() > 1000:
        return x
    return -x


@case(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]))
def special_values(x):
    return x + 1, np.maximum(x, 0), np.nan_to_num(x), x == x, 1 / x


@case(np.empty((0, 4)))
def empty(x):
    return x.sum(axis=0), x.prod(), x * 2


@case(np.array(3.5), np.float32(2), 4)
def no_dimensions(a, b, c):
    return a + 1, b * c, a * b


@case(X[::2], A.T)
def strided(x, a):
    return x[::-1] * 2, a.copy(), a.ravel()


@case(X)
def raises_in_numpy(x):
    return x.reshape(7, 11)


@case(X, N)
def raises_for_shapes(x, i):
    return x + i


@case(N)
def raises_for_dtypes(i):
    i += 0.5


@case(A, A)
def same_array_twice(a, b):
    return a * b + a


@case(X)
def returns_its_argument(x):
    x[3] = 1
    return x


@case(A)
def norms(a):
    return np.linalg.norm(a), np.linalg.norm(a, axis=0), np.linalg.norm(a, 1)


@case(X)
def fourier(x):
    return np.fft.ifft(np.fft.fft(x)).real, np.abs(np.fft.rfft(x))


@case(A, rng.normal(size=(5, 4)))
def products(a, b):
    return a @ b, np.einsum("ij,jk->ik", a, b), np.dot(a, b), np.tensordot(a, b, 1)


@case(X)
def cumulative(x):
    return np.cumsum(x), np.diff(x), np.cumprod(1 + x / 100)


@case(X)
def statistics(x):
    return np.median(x), np.percentile(x, [10, 90]), np.var(x), np.std(x, ddof=1)


@case(np.linspace(0, 1, 5), X)
def interpolates(t, x):
    return np.interp(np.abs(x), t, t**2)


@case([1.0, 2.0, 3.5], X)
def polynomial(c, x):
    return np.polyval(c, x)


@case(X)
def grid(x):
    g, h = np.meshgrid(x[:4], x[4:7])
    return g * h, np.add.outer(x[:3], x[:2])


@case(A)
def pads_and_tiles(a):
    return np.pad(a, 1), np.tile(a, (2, 1)), np.repeat(a, 2, axis=1)


@case(X)
def chosen(x):
    return np.where(x > 0, x, 0.0), np.select([x > 1, x < -1], [1, -1]), np.clip(x, -1, 1)


@case(N, np.arange(5))
def taken(i, index):
    return i[index], np.take(i, index), i[-index - 1]


@case(B, ~B)
def booleans(a, b):
    return a & b, a | b, a ^ b, ~a, a.any(), np.all(a)


@case(N)
def bits(i):
    return i << 2, i >> 1, i & 7, i % 5, -i


@case(X)
def draws(x):
    return x + np.random.normal(size=x.shape)  # noqa: NPY002


@case(np.random.default_rng(3), X)
def draws_from_a_generator(generator, x):
    return generator.normal(size=3), x * 2


table = np.arange(10.0)


@case(3)
def writes_to_a_captured_array(n):
    table[n] += 1
    return table * 2


class Model:
    """Something with arrays for attributes."""

    def __init__(self):
        self.weights = np.ones(5)
        self.steps = 0

    def step(self, x):
        self.weights -= 0.1 * (x @ self.weights - 1) @ x / len(x)
        self.steps += 1
        return self.weights.sum()


case(Model(), A)(Model.step)


@case(X)
def first_and_rest(x):
    first, *rest = x[:3]
    return first * 2, len(rest)


@case(np.arange(20.0))
def text_is_made(x):
    return f"{x.sum():.2f}", x.shape, x.dtype == np.float64
