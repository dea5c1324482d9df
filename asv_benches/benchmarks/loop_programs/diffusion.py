"""Diffusion whose steps are linear in the state, and whose steps aren't."""

from __future__ import annotations

from typing import Any

import numpy as np


def heat(u: Any, steps: int) -> Any:
    """Return the energy after some steps."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u**2)


def nonlinear_heat(u: Any, steps: int) -> Any:
    """Return the energy after some steps with a flux that saturates."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * np.tanh(
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u**2)
