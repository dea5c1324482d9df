"""Cells of a grid: the game of life, and a reaction in the arrays of this module."""

from __future__ import annotations

from typing import Any

import numpy as np

from .record import Array, Call, Program, Size, jax_jit, numba_jit


def life(board: Array, generations: int) -> tuple[Array, int]:
    """Play Conway's game until nothing changes, at most for some generations."""
    for generation in range(generations):
        neighbours = np.zeros_like(board)
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if down == 0 and right == 0:
                    continue
                neighbours += np.roll(board, (down, right), axis=(0, 1))
        alive = (neighbours == 3) | ((neighbours == 2) & (board == 1))
        new = alive.astype(board.dtype)
        if np.array_equal(new, board):
            return board, generation
        board = new
    return board, generations


#: Concentrations of the two substances of `gray_scott`, with a rim of one cell.
substance_u = np.ones((10, 10))
substance_v = np.zeros((10, 10))


def laplacian(field: Array) -> Array:
    """Return what flows into each cell from its four neighbours."""
    around = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
    return around - 4 * field[1:-1, 1:-1]


def gray_scott(steps: int, feed: float = 0.037, kill: float = 0.06) -> None:
    """Simulate two substances that diffuse and react, in the arrays of this module."""
    for _ in range(steps):
        u = substance_u[1:-1, 1:-1]
        v = substance_v[1:-1, 1:-1]
        reaction = u * v**2
        du = 0.16 * laplacian(substance_u) - reaction + feed * (1 - u)
        dv = 0.08 * laplacian(substance_v) + reaction - (feed + kill) * v
        u += du
        v += dv
        for field in (substance_u, substance_v):
            field[0, :] = field[-2, :]
            field[-1, :] = field[1, :]
            field[:, 0] = field[:, -2]
            field[:, -1] = field[:, 1]


def _life_arguments(size: Size) -> tuple[Any, ...]:
    n, generations = (12, 30) if size == "test" else (500, 120)
    board = np.zeros((n, n), dtype=np.uint8)
    if size == "test":  # dies out into a still block
        board[4:7, 3:6] = [[0, 1, 0], [1, 1, 0], [0, 1, 0]]
        board[5, 4] = 0
        return board, generations
    return (np.random.default_rng(0).random((n, n)) < 0.3).astype(np.uint8), generations


def _gray_scott_arguments(size: Size) -> tuple[Any, ...]:
    global substance_u, substance_v
    n, steps = (16, 12) if size == "test" else (256, 150)
    noise = np.random.default_rng(0).random((n, n))
    substance_u = 1 - 0.05 * noise
    substance_v = 0.05 * noise
    middle = slice(n // 2 - n // 8, n // 2 + n // 8)
    substance_u[middle, middle] = 0.5
    substance_v[middle, middle] = 0.25
    return (steps,)


def _substances(_: tuple[Any, ...]) -> tuple[Array, ...]:
    return substance_u, substance_v


def _numba_life() -> Call:
    import numba

    @numba_jit()
    def lives(above: Any, row: Any, below: Any, left: Any, j: Any, right: Any) -> Any:
        around = above[left] + above[j] + above[right] + row[left] + row[right]
        around += below[left] + below[j] + below[right]
        return (around == 3) | ((around == 2) & (row[j] == 1))

    @numba_jit(parallel=True)
    def life(board: Any, generations: Any) -> Any:
        n, m = board.shape
        board, new = board.copy(), np.empty_like(board)
        for generation in range(generations):
            changes = 0
            for i in numba.prange(n):
                above, row, below = board[i - 1], board[i], board[i + 1 if i < n - 1 else 0]
                for j in range(1, m - 1):
                    new[i, j] = lives(above, row, below, j - 1, j, j + 1)
                new[i, 0] = lives(above, row, below, m - 1, 0, 1)
                new[i, m - 1] = lives(above, row, below, m - 2, m - 1, 0)
                changes += np.sum(new[i] != row)
            if changes == 0:
                return board, generation
            board, new = new, board
        return board, generations

    return life


def _numba_gray_scott() -> Call:
    import numba

    @numba_jit()
    def close(field: Any) -> None:
        field[0, :] = field[-2, :]
        field[-1, :] = field[1, :]
        field[:, 0] = field[:, -2]
        field[:, -1] = field[:, 1]

    @numba_jit(parallel=True)
    def advance(u: Any, v: Any, steps: Any, feed: Any, kill: Any) -> None:
        n, m = u.shape
        du, dv = np.zeros_like(u), np.zeros_like(v)
        for _ in range(steps):
            for i in numba.prange(1, n - 1):
                for j in range(1, m - 1):
                    reaction = u[i, j] * v[i, j] ** 2
                    lu = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]
                    lv = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4 * v[i, j]
                    du[i, j] = 0.16 * lu - reaction + feed * (1 - u[i, j])
                    dv[i, j] = 0.08 * lv + reaction - (feed + kill) * v[i, j]
            for i in numba.prange(1, n - 1):
                for j in range(1, m - 1):
                    u[i, j] += du[i, j]
                    v[i, j] += dv[i, j]
            close(u)
            close(v)

    # To Numba a module's array is a constant, so it gets the arrays as arguments.
    return lambda steps: advance(substance_u, substance_v, steps, 0.037, 0.06)


def _jax_life() -> Call:
    import jax
    import jax.numpy as jnp

    def life(board: Any, generations: Any) -> Any:
        def play(state: Any) -> Any:
            generation, board, _ = state
            shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
            neighbours = sum(jnp.roll(board, shift, axis=(0, 1)) for shift in shifts)
            alive = (neighbours == 3) | ((neighbours == 2) & (board == 1))
            new = alive.astype(board.dtype)
            still = jnp.array_equal(new, board)
            return generation + ~still, new, still

        def goes_on(state: Any) -> Any:
            return (state[0] < generations) & ~state[2]

        generation, board, _ = jax.lax.while_loop(goes_on, play, (0, board, False))
        return board, generation

    return jax_jit(life)


def _jax_gray_scott() -> Call:
    import jax

    def advance(u: Any, v: Any, steps: Any, feed: Any, kill: Any) -> Any:
        def edges(field: Any) -> Any:
            field = field.at[0, :].set(field[-2, :])
            field = field.at[-1, :].set(field[1, :])
            field = field.at[:, 0].set(field[:, -2])
            return field.at[:, -1].set(field[:, 1])

        def step(_: Any, state: Any) -> Any:
            u, v = state
            reaction = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
            du = 0.16 * laplacian(u) - reaction + feed * (1 - u[1:-1, 1:-1])
            dv = 0.08 * laplacian(v) + reaction - (feed + kill) * v[1:-1, 1:-1]
            return edges(u.at[1:-1, 1:-1].add(du)), edges(v.at[1:-1, 1:-1].add(dv))

        return jax.lax.fori_loop(0, steps, step, (u, v))

    compiled = jax_jit(advance)
    return lambda steps: compiled(substance_u, substance_v, steps, 0.037, 0.06)


PROGRAMS = (
    Program(life, _life_arguments, peers={"numba": _numba_life, "jax": _jax_life}),
    Program(
        gray_scott,
        _gray_scott_arguments,
        written=_substances,
        peers={"numba": _numba_gray_scott, "jax": _jax_gray_scott},
    ),
)
