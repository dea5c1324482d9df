"""Objects that keep a state: filters, controllers, models that are trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Program, jit


class KalmanFilter:
    """Tracks a position and a speed in the plane from noisy positions."""

    def __init__(self, dt: float, process: float, noise: float) -> None:
        self.F = np.eye(4)
        self.F[0, 2] = self.F[1, 3] = dt
        self.H = np.eye(2, 4)
        self.Q = process * np.eye(4)
        self.R = noise * np.eye(2)
        self.x = np.zeros(4)
        self.P = np.eye(4)

    def predict(self) -> None:
        """Move the state on by one step."""
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z: Array) -> None:
        """Correct the state by a measurement."""
        innovation = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = self.P @ self.H.T @ np.linalg.inv(S)
        self.x = self.x + K @ innovation
        self.P = (np.eye(4) - K @ self.H) @ self.P


@jit
def kalman_track(kalman: KalmanFilter, measured: Array) -> Array:
    """Return the filtered track."""
    track = np.empty((len(measured), 4))
    for i, z in enumerate(measured):
        kalman.predict()
        kalman.update(z)
        track[i] = kalman.x
    return track


def _kalman_track() -> tuple[Any, ...]:
    random = np.random.default_rng(1)
    measured = np.cumsum(random.normal(size=(300, 2)), axis=0) + random.normal(size=(300, 2))
    return KalmanFilter(0.5, 0.05, 1.0), measured


class Chain:
    """Masses in a row with springs between them."""

    def __init__(self, count: int, stiffness: float) -> None:
        self.x = np.sin(np.linspace(0.0, np.pi, count))
        self.v = np.zeros(count)
        self.stiffness = stiffness
        self.time = 0.0

    def force(self) -> Array:
        """Return the force on each mass."""
        stretch = np.diff(self.x)
        force = np.zeros_like(self.x)
        force[:-1] += self.stiffness * stretch
        force[1:] -= self.stiffness * stretch
        force[0] = force[-1] = 0.0
        return force

    def step(self, dt: float) -> None:
        """Move by one step of leapfrog."""
        self.v += 0.5 * dt * self.force()
        self.x += dt * self.v
        self.v += 0.5 * dt * self.force()
        self.time += dt

    def energy(self) -> Any:
        """Return the energy of motion and of the springs."""
        return 0.5 * np.sum(self.v**2) + 0.5 * self.stiffness * np.sum(np.diff(self.x) ** 2)


@jit
def spring_chain(chain: Chain, dt: float, steps: int) -> Array:
    """Move a chain; return its energy on the way."""
    energies = []
    for step in range(steps):
        chain.step(dt)
        if step % 10 == 0:
            energies.append(chain.energy())
    return np.array(energies)


class PID:
    """A controller that remembers the sum of errors and the last one."""

    def __init__(self, kp: float, ki: float, kd: float) -> None:
        self.kp, self.ki, self.kd = kp, ki, kd
        self.total = 0.0
        self.last = None

    def __call__(self, error: float, dt: float) -> float:
        """Return the controller's answer to an error."""
        self.total = min(max(self.total + error * dt, -10.0), 10.0)
        slope = 0.0 if self.last is None else (error - self.last) / dt
        self.last = error
        return self.kp * error + self.ki * self.total + self.kd * slope


@jit
def heater(target: Array, dt: float) -> Array:
    """Return the temperatures of a room whose heater follows the targets."""
    controller = PID(2.0, 0.5, 0.1)
    temperature, temperatures = 15.0, np.empty(len(target))
    for i in range(len(target)):
        power = max(0.0, controller(target[i] - temperature, dt))
        temperature += dt * (0.5 * power - 0.1 * (temperature - 5.0))
        temperatures[i] = temperature
    return temperatures


def _heater() -> tuple[Any, ...]:
    return np.where(np.arange(400) % 200 < 120, 21.0, 17.0), 0.1


class Perceptron:
    """A network of one hidden layer, in 32 bit."""

    def __init__(self, inputs: int, hidden: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.w1 = (0.5 * random.standard_normal((inputs, hidden))).astype(np.float32)
        self.b1 = np.zeros(hidden, dtype=np.float32)
        self.w2 = (0.5 * random.standard_normal((hidden, 1))).astype(np.float32)
        self.losses: list[Any] = []

    def forward(self, x: Array) -> tuple[Array, Array]:
        """Return what the hidden layer and the network say."""
        hidden = np.tanh(x @ self.w1 + self.b1)
        return hidden, hidden @ self.w2

    @jit
    def fit(self, x: Array, y: Array, rate: float, epochs: int) -> Perceptron:
        """Train by gradient descent."""
        for _ in range(epochs):
            hidden, output = self.forward(x)
            error = output - y
            back = (error @ self.w2.T) * (1 - hidden**2)
            self.w2 -= rate * hidden.T @ error / len(x)
            self.w1 -= rate * x.T @ back / len(x)
            self.b1 -= rate * back.mean(axis=0)
            self.losses.append(np.mean(error**2))
        return self


def train_perceptron(network: Perceptron, x: Array, y: Array) -> list[Any]:
    """Return the losses of training."""
    return network.fit(x, y, 0.1, 20).losses


def _train_perceptron() -> tuple[Any, ...]:
    x = np.random.default_rng(4).standard_normal((200, 5)).astype(np.float32)
    return Perceptron(5, 16, 0), x, np.sin(x.sum(axis=1, keepdims=True))


PROGRAMS = (
    Program(kalman_track, _kalman_track),
    Program(spring_chain, lambda: (Chain(64, 4.0), 0.02, 1000)),
    Program(heater, _heater),
    Program(train_perceptron, _train_perceptron),
)
