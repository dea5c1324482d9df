"""Gradients of functions as they stand: with writes in place, masks, containers."""

import copy
import dataclasses
import pickle
import typing

import cloudpickle
import numpy as np
import pytest
import torch
from derivatives import central_gradient

import npaccel

X = np.linspace(0.1, 3.0, 5)


@pytest.fixture(autouse=True)
def use_backend(backend):
    with npaccel.options(backend=backend):
        yield


def writes(x):
    z = x * 2
    view = z[1:4]
    z[1:3] = np.sin(view[:2]) * view[1]
    z[z > 3] = 0
    z += x[::-1]
    z[0] *= z[-1]
    np.multiply(z, 3, out=z)
    return np.sum(z**2)


def masks(x):
    y = np.where(x > 1, np.sqrt(x), x**2)
    y[x < 0.5] = 1.5
    return np.sum(y[y > 0.9]) + np.mean(x[[0, 2, 2]])


def views(x):
    m = np.outer(x, x).reshape(5, 5)
    m[1] = m[:, 2]
    m.T[3] += m[0]
    np.fill_diagonal(m, 0.5)
    return np.sum(m * np.arange(25).reshape(5, 5))


def broadcast(x):
    table = x[:, None] - x[None, :]
    return np.sum(np.exp(-(table**2))) / np.prod(x + 1)


def linear_algebra(x):
    a = np.eye(5) * 3 + np.outer(x, np.cos(x))
    sign, log = np.linalg.slogdet(a)
    return sign * log + np.sum(np.linalg.solve(a, x)) + np.trace(np.linalg.inv(a))


def spectrum(x):
    return np.sum(np.abs(np.fft.rfft(x)) ** 2 * np.arange(3))


def unrolled(x):
    total = 0.0
    for i in range(4):
        total = total + np.sum(np.tanh(x * i)) ** 2
    return total


FUNCTIONS = [writes, masks, views, broadcast, linear_algebra, spectrum, unrolled]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_that_gradients_are_those_of_differences(function):
    before = X.copy()
    value, found = npaccel.value_and_grad(function)(X)
    assert np.array_equal(X, before)
    np.testing.assert_allclose(value, function(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(found, central_gradient(function, X), rtol=2e-7, atol=1e-7)
    assert type(found) is np.ndarray
    assert found.dtype == np.float64


@dataclasses.dataclass
class Parameters:
    weights: np.ndarray
    offset: float


class Pair(typing.NamedTuple):
    first: typing.Any
    second: typing.Any


def test_containers_and_dataclasses():
    def loss(parameters, data, scale=2.0):
        inner = parameters.weights * data["x"] + parameters.offset
        return scale * np.sum(inner**2) + data["pair"].first * np.sum(data["pair"].second[0])

    parameters = Parameters(np.array([1.0, 2.0]), 0.5)
    data = {"x": np.array([3.0, 4.0]), "pair": Pair(2.0, [np.array([1.0, 1.0]), None])}
    by_parameters, by_data = npaccel.grad(loss, (0, 1))(parameters, data)
    inner = parameters.weights * data["x"] + 0.5
    assert type(by_parameters) is Parameters
    assert by_parameters.weights == pytest.approx(4 * inner * data["x"])
    assert by_parameters.offset == pytest.approx(4 * np.sum(inner))
    assert by_data["x"] == pytest.approx(4 * inner * parameters.weights)
    assert type(by_data["pair"]) is Pair
    assert by_data["pair"].first == 2.0
    assert by_data["pair"].second[1] is None
    assert by_data["pair"].second[0] == pytest.approx([2.0, 2.0])
    assert npaccel.grad(loss)(parameters, data, scale=1.0).offset == pytest.approx(2 * sum(inner))


def test_argnums_count_from_the_end_too():
    def product(x, y, z):
        return x * y * z

    assert npaccel.grad(product, -1)(2.0, 3.0, 4.0) == 6.0
    assert npaccel.grad(product, (2, 0))(2.0, 3.0, 4.0) == (6.0, 12.0)
    assert npaccel.grad(product, 1)(2.0, z=4.0, y=3.0) == 8.0
    with pytest.raises(ValueError, match=r"argnums is 3, but the call has 3"):
        npaccel.grad(product, 3)(2.0, 3.0, 4.0)


def test_aux():
    def function(x):
        return np.sum(x**2), {"first": x[0], "half": x[:2], "name": "n", "count": 3}

    gradient, aux = npaccel.grad(function, has_aux=True)(X)
    assert gradient == pytest.approx(2 * X)
    assert aux["first"] == X[0]
    assert np.array_equal(aux["half"], X[:2])
    assert (aux["name"], aux["count"]) == ("n", 3)
    (value, _), again = npaccel.value_and_grad(function, has_aux=True)(X)
    assert value == pytest.approx(np.sum(X**2))
    assert np.array_equal(again, gradient)
    with pytest.raises(TypeError, match=r"return a pair \(value, aux\)"):
        npaccel.grad(lambda x: np.sum(x), has_aux=True)(X)


def test_scalars_and_dtypes():
    cube = npaccel.grad(lambda x: x**3)
    assert (type(cube(2.0)), cube(2.0)) == (np.float64, 12.0)
    assert type(cube(np.float32(2.0))) is np.float32
    found = cube(np.array(2.0))
    assert (type(found), found.shape, found.dtype) == (np.ndarray, (), np.float64)
    single = npaccel.grad(lambda x: np.sum(np.sin(x)))(np.ones(3, np.float32))
    assert single.dtype == np.float32
    assert npaccel.grad(lambda x: np.sum(x * x))(np.zeros((0, 3))).shape == (0, 3)
    assert np.array_equal(npaccel.grad(lambda x, y: y * 2.0)(X, 3.0), np.zeros(5))


def test_tensors():
    x = torch.linspace(0.1, 1.0, 4, dtype=torch.float64)
    found = npaccel.grad(lambda x: np.sum(np.sin(x) * x))(x)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, torch.sin(x) + x * torch.cos(x))


def test_functions_of_many_kinds():
    class Model:
        scale = 3.0

        def loss(self, x):
            return self.scale * np.sum(x**2)

        def __call__(self, x):
            return np.sum(x)

    model = Model()
    assert npaccel.grad(model.loss)(X) == pytest.approx(6 * X)
    model.scale = 4.0
    assert npaccel.grad(model.loss)(X) == pytest.approx(8 * X)
    assert npaccel.grad(model)(X) == pytest.approx(np.ones(5))
    assert npaccel.grad(np.sin)(2.0) == pytest.approx(np.cos(2.0))
    assert npaccel.grad(npaccel.jit(model.loss))(X) == pytest.approx(8 * X)
    assert npaccel.grad(np.linalg.norm)(X) == pytest.approx(X / np.linalg.norm(X))
    with pytest.raises(TypeError, match=r"grad: 3 is a int, not a function"):
        npaccel.grad(3)


def test_that_what_a_function_reads_may_change():
    scale = 2.0

    def loss(x):
        return scale * np.sum(x)

    gradient = npaccel.grad(loss)
    assert gradient(X) == pytest.approx(np.full(5, 2.0))
    scale = 3.0
    assert gradient(X) == pytest.approx(np.full(5, 3.0))


def test_that_copies_are_gradients_too():
    gradient = npaccel.grad(lambda x: np.sum(x**2))
    for one in (copy.copy(gradient), pickle.loads(cloudpickle.dumps(gradient))):
        assert one(X) == pytest.approx(2 * X)


def test_names():
    def loss(x, /, y=1.0, *more, z=2.0, **named):
        return np.sum(x) * y * z

    gradient = npaccel.grad(loss)
    assert gradient.__name__ == "grad(loss)"
    assert gradient is npaccel.grad(loss)
    assert gradient is not npaccel.value_and_grad(loss)
    assert gradient(X, z=3.0) == pytest.approx(np.full(5, 3.0))
    assert gradient(X, 2.0, 1, z=3.0, other=1) == pytest.approx(np.full(5, 6.0))
