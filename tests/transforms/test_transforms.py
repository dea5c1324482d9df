"""Transforms of transforms, and the other derivatives."""

import numpy as np
import pytest
from derivatives import central_gradient, central_jacobian

import npaccel
from npaccel._torch.patching import is_release

X = np.array([0.4, 1.2, -0.7])


def energy(x):
    pairs = x[:, None] - x[None, :]
    pairs[pairs > 1] *= 0.5
    return np.sum(np.cos(pairs)) + np.prod(x)


@pytest.mark.inductor
def test_tangents_of_zero_have_memory():
    """torch's tensors that are known to be zero have none: a kernel that read one crashed."""
    by_kernels = npaccel.hessian(npaccel.jit(energy, backend="inductor"))(X)
    np.testing.assert_allclose(by_kernels, npaccel.hessian(energy)(X), rtol=1e-12)


def curve(x):
    out = np.empty(4)
    out[:3] = np.sin(x) * x[::-1]
    out[3] = x @ x
    return out


@pytest.mark.inductor
def test_tangents_of_empty_arrays_are_written_to():
    """They repeat one zero: a write to a slice copies them first."""
    found = npaccel.jvp(npaccel.jit(curve, backend="inductor"), (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(found, npaccel.jacobian(curve)(X) @ np.ones(3), rtol=1e-12)


@pytest.fixture(autouse=True)
def use_backend(backend):
    with npaccel.options(backend=backend):
        yield


def test_jacobian_in_both_modes():
    expected = central_jacobian(curve, X)
    for mode in ("forward", "reverse", None):
        found = npaccel.jacobian(curve, mode=mode)(X)
        np.testing.assert_allclose(found, expected, atol=1e-8)
    with pytest.raises(ValueError, match=r'pass "forward", "reverse" or None'):
        npaccel.jacobian(curve, mode="backward")


def test_jacobian_of_containers():
    def function(x, scale):
        return {"a": x * scale, "b": (np.sum(x), x[:1] * x[1])}

    found = npaccel.jacobian(function, (0, 1))(X, 2.0)
    assert np.array_equal(found["a"][0], 2 * np.eye(3))
    assert np.array_equal(found["a"][1], X)
    assert np.array_equal(found["b"][0][0], np.ones(3))
    assert found["b"][1][0] == pytest.approx(np.array([[X[1], X[0], 0]]))


def test_hessian_and_its_product():
    expected = central_jacobian(lambda x: central_gradient(energy, x, 1e-4), X, 1e-4)
    found = npaccel.hessian(energy)(X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(npaccel.hvp(energy, (X,), (v,)), found @ v, atol=1e-12)
    by_two = npaccel.hvp(lambda x, y: x**2 * y, (2.0, 3.0), (1.0, 0.0))
    assert by_two == (6.0, 4.0)


def test_jvp():
    v = np.array([1.0, -2.0, 0.5])
    value, tangent = npaccel.jvp(curve, (X,), (v,))
    np.testing.assert_allclose(value, curve(X))
    np.testing.assert_allclose(tangent, central_jacobian(curve, X) @ v, atol=1e-8)
    value, tangent, aux = npaccel.jvp(lambda x: (x**2, x[0]), (X,), (v,), has_aux=True)
    assert (aux, tangent[1]) == (X[0], 2 * X[1] * v[1])
    with pytest.raises(TypeError, match=r"jvp: tangents have a leaf that is float64 of shape \(2,"):
        npaccel.jvp(curve, (X,), (v[:2],))
    with pytest.raises(TypeError, match=r"another structure than primals"):
        npaccel.jvp(curve, (X,), ((v,),))


def test_vjp():
    x = X.copy()
    value, pull_back = npaccel.vjp(curve, x)
    np.testing.assert_allclose(value, curve(X))
    w = np.array([1.0, 0.0, -1.0, 2.0])
    x[:] = 0  # The primals were copied.
    (found,) = pull_back(w)
    np.testing.assert_allclose(found, w @ central_jacobian(curve, X), atol=1e-8)
    with pytest.raises(TypeError, match=r"vjp: cotangents have a leaf that is float64 of shape"):
        pull_back(w[:2])
    value, pull_back, aux = npaccel.vjp(lambda x: (x**2, {"n": x[0]}), X, has_aux=True)
    assert aux == {"n": X[0]}


def test_transforms_compose():
    cube = npaccel.grad(npaccel.grad(npaccel.grad(lambda x: x**5)))
    assert cube(2.0) == pytest.approx(240.0)
    rows = np.stack([X, X + 1])
    found = npaccel.vmap(npaccel.grad(energy))(rows)
    expected = [central_gradient(energy, row) for row in rows]
    np.testing.assert_allclose(found, expected, atol=1e-8)

    def total(x):
        return np.sum(npaccel.vmap(energy)(np.stack([x, 2 * x])))

    np.testing.assert_allclose(
        npaccel.grad(total)(X), central_gradient(lambda x: energy(x) + energy(2 * x), X), atol=1e-8
    )


def test_transforms_in_jitted_functions():
    @npaccel.jit
    def step(x, rate):
        value, gradient = npaccel.value_and_grad(energy)(x)
        return value, x - rate * gradient

    value, found = step(X, 0.1)
    assert value == pytest.approx(energy(X))
    np.testing.assert_allclose(found, X - 0.1 * central_gradient(energy, X), atol=1e-8)
    np.testing.assert_allclose(
        npaccel.jit(npaccel.grad(energy))(X), central_gradient(energy, X), atol=1e-8
    )

    @npaccel.jit
    def products(x):
        value, pull_back = npaccel.vjp(curve, x)
        return pull_back(value)[0], npaccel.jvp(curve, (x,), (x,))[1], npaccel.hessian(energy)(x)

    back, forward, second = products(X)
    jacobian = central_jacobian(curve, X)
    np.testing.assert_allclose(back, curve(X) @ jacobian, atol=1e-8)
    np.testing.assert_allclose(forward, jacobian @ X, atol=1e-8)
    np.testing.assert_allclose(second, npaccel.hessian(energy)(X), atol=1e-12)


def test_a_gradient_of_a_gradient_penalty():
    def penalty(x):
        return np.sum(npaccel.grad(energy)(x) ** 2)

    expected = central_gradient(lambda x: np.sum(central_gradient(energy, x, 1e-4) ** 2), X, 1e-4)
    np.testing.assert_allclose(npaccel.grad(penalty)(X), expected, atol=1e-5)


def complex_parts(x):
    z = x * (1 + 2j)
    z[1:3] *= z[:2]
    z[-1] = z[0] ** 2
    m = np.outer(z, z)
    m[:, 1] = z
    m[0, :2] += 1j * x[:2]
    m[:, -2:] *= x[0]
    return np.sum(np.abs(z) ** 2) + np.sum(m.real * m.imag)


def last_columns(x):
    m = np.outer(x, x)
    m[:, -2:] *= x[0]
    m[-3:-1] += x[1]
    m[2:1, -1:] = 7.0
    return np.sum(m**2)


def masks_of_nothing(x):
    y = x[:0] * 2
    y[y > 0] = y[y > 0] * 3
    return np.sum(x**3) + np.sum(y) + np.sum(x[2:2][x[2:2] < 0])


@pytest.mark.parametrize("function", [complex_parts, last_columns, masks_of_nothing])
def test_that_parts_of_arrays_have_second_derivatives(function, backend):
    x, h = np.array([0.4, 1.2, -0.7, 0.3]), 1e-6
    with npaccel.options(backend=backend):
        gradient = npaccel.grad(function)
        values = [(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(4)]
        np.testing.assert_allclose(gradient(x), values, rtol=1e-6, atol=1e-7)
        rows = [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(4)]
        np.testing.assert_allclose(npaccel.hessian(function)(x), rows, rtol=1e-5, atol=1e-6)


def masks_of_masked(x):
    y = x[x > 5]  # none of them: its size is known while the code runs
    z = y * y
    y[y <= 1] = y[y <= 1] + 3
    positive = x[x > 0]
    positive[positive > 1] = positive[positive > 1] ** 2
    return np.sum(y) + np.sum(z) + np.sum(positive**2)


def test_masks_of_what_a_mask_has_chosen(backend):
    with npaccel.options(backend=backend):
        gradient = npaccel.grad(masks_of_masked)
        if is_release("2.11-2.12"):
            with pytest.raises(npaccel.errors.NotCompiledError, match="compiler failed|data give"):
                gradient(np.array([0.4, 6.0, -0.7, 1.3]))
            pytest.skip("torch of 2.11 and 2.12 has no tensors of zeros of the data's sizes there")
        x = np.array([0.4, 6.0, -0.7, 1.3])
        np.testing.assert_allclose(gradient(x), [0.8, 877.0, 0, 8.788])
        x = np.array([0.4, 1.2, -0.7, 1.3])
        np.testing.assert_allclose(gradient(x), [0.8, 6.912, 0, 8.788])
