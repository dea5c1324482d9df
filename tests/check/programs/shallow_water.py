"""Simulate waves in a basin with the shallow-water equations.

A drop falls into a basin with a sloping floor and an island. The equations are
solved by Lax and Wendroff's method in two steps, with bottom friction and a sponge
at two edges. Energy, volume and the height at some gauges are recorded.

    python shallow_water.py --steps 200 --size 300
"""

import argparse
import dataclasses
import time

import numpy as np

GRAVITY = 9.81


@dataclasses.dataclass
class Basin:
    """The floor of the basin and what damps the waves."""

    floor: np.ndarray
    friction: np.ndarray
    sponge: np.ndarray
    spacing: float


@dataclasses.dataclass
class Gauges:
    """Where the height is recorded, and what was."""

    rows: np.ndarray
    columns: np.ndarray
    records: list


# ---------------------------------------------------------------------------
# Setting up
# ---------------------------------------------------------------------------


def make_basin(size, spacing=10.0):
    """A sloping floor with an island, rough near the shore."""
    x = np.linspace(-1.0, 1.0, size)
    xx, yy = np.meshgrid(x, x, indexing="ij")
    floor = -20.0 + 6.0 * xx
    island = 15.0 * np.exp(-((xx - 0.3) ** 2 + (yy + 0.2) ** 2) / 0.02)
    floor = floor + island
    friction = 0.002 + 0.02 * np.exp(floor / 5.0)
    edge = np.minimum(np.arange(size), np.arange(size)[::-1]) / 12.0
    sponge = np.ones((size, size)) * np.minimum(edge, 1.0)[:, None] ** 0.02
    return Basin(floor, friction, sponge, spacing)


def drop(basin, height=2.0):
    """The depth of water after a drop has fallen in."""
    size = basin.floor.shape[0]
    x = np.linspace(-1.0, 1.0, size)
    xx, yy = np.meshgrid(x, x, indexing="ij")
    surface = height * np.exp(-((xx + 0.4) ** 2 + (yy - 0.3) ** 2) / 0.01)
    return surface - basin.floor


def make_gauges(size, count=5):
    """Gauges on a diagonal."""
    places = np.linspace(size // 5, 4 * size // 5, count).astype(int)
    return Gauges(places, places[::-1].copy(), [])


# ---------------------------------------------------------------------------
# The equations
# ---------------------------------------------------------------------------


def flux_x(depth, u_momentum, v_momentum):
    """What flows in the direction of rows."""
    u = u_momentum / depth
    pressure = 0.5 * GRAVITY * depth * depth
    return u_momentum, u_momentum * u + pressure, v_momentum * u


def flux_y(depth, u_momentum, v_momentum):
    """What flows in the direction of columns."""
    v = v_momentum / depth
    pressure = 0.5 * GRAVITY * depth * depth
    return v_momentum, u_momentum * v, v_momentum * v + pressure


def half_step_x(field, flux, ratio):
    """Values halfway between rows, half a step later."""
    middle = 0.5 * (field[1:, 1:-1] + field[:-1, 1:-1])
    return middle - 0.5 * ratio * (flux[1:, 1:-1] - flux[:-1, 1:-1])


def half_step_y(field, flux, ratio):
    """Values halfway between columns, half a step later."""
    middle = 0.5 * (field[1:-1, 1:] + field[1:-1, :-1])
    return middle - 0.5 * ratio * (flux[1:-1, 1:] - flux[1:-1, :-1])


def full_step(field, along_x, along_y, ratio):
    """The inner points, a whole step later."""
    change = (along_x[1:] - along_x[:-1]) + (along_y[:, 1:] - along_y[:, :-1])
    return field[1:-1, 1:-1] - ratio * change


def sources(depth, u_momentum, v_momentum, floor, friction, spacing, dt):
    """Slope of the floor and friction at the bottom."""
    inner = depth[1:-1, 1:-1]
    slope_x = (floor[2:, 1:-1] - floor[:-2, 1:-1]) / (2 * spacing)
    slope_y = (floor[1:-1, 2:] - floor[1:-1, :-2]) / (2 * spacing)
    speed = np.sqrt(u_momentum**2 + v_momentum**2)[1:-1, 1:-1] / inner
    damping = 1.0 / (1.0 + dt * friction[1:-1, 1:-1] * speed / inner)
    return -dt * GRAVITY * inner * slope_x, -dt * GRAVITY * inner * slope_y, damping


def reflect(field, sign_x, sign_y):
    """Walls all around."""
    field[0, :] = sign_x * field[1, :]
    field[-1, :] = sign_x * field[-2, :]
    field[:, 0] = sign_y * field[:, 1]
    field[:, -1] = sign_y * field[:, -2]


def advance(depth, u_momentum, v_momentum, floor, friction, sponge, spacing, dt):
    """One step in time."""
    ratio = dt / spacing
    fx = flux_x(depth, u_momentum, v_momentum)
    fy = flux_y(depth, u_momentum, v_momentum)

    hx = half_step_x(depth, fx[0], ratio)
    ux = half_step_x(u_momentum, fx[1], ratio)
    vx = half_step_x(v_momentum, fx[2], ratio)
    hy = half_step_y(depth, fy[0], ratio)
    uy = half_step_y(u_momentum, fy[1], ratio)
    vy = half_step_y(v_momentum, fy[2], ratio)

    gx = flux_x(hx, ux, vx)
    gy = flux_y(hy, uy, vy)
    push_x, push_y, damping = sources(depth, u_momentum, v_momentum, floor, friction, spacing, dt)

    new_depth = depth.copy()
    new_u = u_momentum.copy()
    new_v = v_momentum.copy()
    new_depth[1:-1, 1:-1] = full_step(depth, gx[0], gy[0], ratio)
    new_u[1:-1, 1:-1] = (full_step(u_momentum, gx[1], gy[1], ratio) + push_x) * damping
    new_v[1:-1, 1:-1] = (full_step(v_momentum, gx[2], gy[2], ratio) + push_y) * damping
    reflect(new_depth, 1.0, 1.0)
    reflect(new_u, -1.0, 1.0)
    reflect(new_v, 1.0, -1.0)
    return new_depth, new_u * sponge, new_v * sponge


# ---------------------------------------------------------------------------
# Watching
# ---------------------------------------------------------------------------


def energy(depth, u_momentum, v_momentum, floor, spacing):
    """Kinetic and potential energy."""
    kinetic = 0.5 * (u_momentum**2 + v_momentum**2) / depth
    surface = depth + floor
    potential = 0.5 * GRAVITY * surface**2
    return float(kinetic.sum() * spacing**2), float(potential.sum() * spacing**2)


def record(gauges, depth, floor):
    """Note the height of the surface at the gauges."""
    surface = depth[gauges.rows, gauges.columns] + floor[gauges.rows, gauges.columns]
    gauges.records.append(surface)


def stable_step(depth, spacing):
    """A step in time that the fastest wave doesn't outrun."""
    return 0.3 * spacing / float(np.sqrt(GRAVITY * depth.max()))


def arrival_times(gauges, dt, threshold=0.01):
    """When the wave reached each gauge."""
    heights = np.abs(np.array(gauges.records))
    reached = heights > threshold
    first = np.argmax(reached, axis=0)
    return np.where(reached.any(axis=0), first * dt, np.nan)


def simulate(basin, gauges, steps):
    """Run the simulation, and return the state and the energies."""
    depth = drop(basin)
    u_momentum = np.zeros_like(depth)
    v_momentum = np.zeros_like(depth)
    dt = stable_step(depth, basin.spacing)
    energies = []
    begin = 0.0
    for step in range(steps + 2):
        if step == 2:  # The first steps warm everything up.
            begin = time.perf_counter()
        depth, u_momentum, v_momentum = advance(
            depth,
            u_momentum,
            v_momentum,
            basin.floor,
            basin.friction,
            basin.sponge,
            basin.spacing,
            dt,
        )
        record(gauges, depth, basin.floor)
        if step % 20 == 0:
            energies.append(energy(depth, u_momentum, v_momentum, basin.floor, basin.spacing))
    return depth, np.array(energies), dt, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--size", type=int, default=300)
    options = parser.parse_args()

    basin = make_basin(options.size)
    gauges = make_gauges(options.size)
    depth, energies, dt, seconds = simulate(basin, gauges, options.steps)

    arrivals = arrival_times(gauges, dt)
    volume = float(depth.sum()) * basin.spacing**2
    print(f"volume {volume:.6e}, highest {float((depth + basin.floor).max()):.4f}")
    print(f"energy {energies[0].sum():.4e} -> {energies[-1].sum():.4e}")
    print("arrivals " + " ".join(f"{t:.1f}" for t in arrivals))
    print(f"work: {seconds:.4f} s")


if __name__ == "__main__":
    main()
