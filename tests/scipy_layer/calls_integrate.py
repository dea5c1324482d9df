"""Calls of functions of `scipy.integrate`."""

CALLS = {
    "integrate.simpson": [
        "x",
        "tall, axis=0",
        "tall, sorted_x[:5]",
        "x, sorted_x",
        "x, sorted_x, axis=-1",
        "x[:49], dx=0.1",
        "x[:2], sorted_x[:2]",
        "x[:3]",
        "one",
        "image, dx=0.5, axis=0",
        "cube, axis=1",
        "tall, xp.cumsum(xp.abs(tall), 1)",
        "integers",
        "with_nan",
        "x, 0 * x",
        "z",
    ],
    "integrate.fixed_quad": [
        "lambda t: xp.exp(-t * t), zero_d, 2.0",
        "lambda t, a: a * t ** 3, 0.0, one[0], (2.0,), 4",
        "lambda t: xp.stack([t, t ** 2]), zero_d, 1.5, n=3",
    ],
    "integrate.solve_ivp": [
        "lambda t, y: -y, (0, 3), w",
        "lambda t, y: -y * t, (0, 3), w, method='RK23'",
        "lambda t, y: -y * t, (0, 3), w, method='DOP853'",
        "lambda t, y: -y + xp.sin(y), (0, 3), w, t_eval=[0, 0.5, 1.25, 3]",
        "lambda t, y: -y * t, (3, 0), w, t_eval=[3, 2.5, 0.25], method='RK23'",
        "lambda t, y, a: a * y, (0, 1), w, args=(-2.0,)",
        "lambda t, y: [y[1], -y[0]], (0, 2), w[:2], max_step=0.25",
        "lambda t, y: -y, (0, 1), w, first_step=0.1, rtol=1e-5, atol=1e-8",
        "lambda t, y: -y, (1, 1), w",
        "lambda t, y: 1j * y, (0, 1), z",
        "lambda t, y: -y, (0, 1), w[:3], method='BDF'",
        "lambda t, y: -y, (0, 2), w[:3], events=lambda t, y: y[0] - 0.1",
    ],
    "integrate.cumulative_simpson": ["x", "tall, axis=0, initial=0", "x, x=xp.cumsum(w, 0)"],
    "integrate.cumulative_trapezoid": ["x", "x, sorted_x", "tall, dx=0.1, axis=0, initial=0"],
    "integrate.romb": ["x[:33]", "tall[:, :5], dx=0.5", "image[:17], axis=0"],
    "integrate.trapezoid": ["x", "x, sorted_x", "tall, dx=0.1, axis=0", "integers", "cube, axis=1"],
    "integrate.cubature": ["lambda t: xp.exp(-t[:, 0]), zero_d[None], xp.ones_like(zero_d)[None]"],
    "integrate.tanhsinh": ["lambda t: t ** 0.5, 0 * w, w, rtol=1e-2", "lambda t: t, zero_d, 2"],
    "integrate.nsum": ["lambda k: 1 / k ** 2, one, np.inf"],
    "integrate.quad": ["lambda t, a: float(a) * t, 0, 1, args=(zero_d,)"],
    "integrate.dblquad": ["lambda t, s, a: float(a) * t * s, 0, 1, 0, 1, args=(zero_d,)"],
    "integrate.tplquad": ["lambda t, s, r, a: float(a), 0, 1, 0, 1, 0, 1, args=(zero_d,)"],
    "integrate.nquad": ["lambda t, a: float(a) * t, [(0, 1)], args=(zero_d,)"],
    "integrate.quad_vec": ["lambda t, a: t * a, 0, 1, args=(w,), epsabs=1e-3"],
    "integrate.odeint": ["lambda y, t: -y, w[:3], sorted_x"],
    "integrate.solve_bvp": [
        "lambda t, y: xp.stack([y[1], -y[0]]), lambda a, b: xp.stack([a[0], b[0] - 1])"
        ", xp.cumsum(w[:5], 0), xp.zeros_like(points[:5, :2]).T",
    ],
    "integrate.qmc_quad": [
        "lambda t: xp.exp(-t[0]), xp.zeros_like(one), one, n_points=8"
        ", qrng=scipy.stats.qmc.Halton(1, rng=1)",
    ],
}

ERRORS = {
    "integrate.simpson": ["empty", "x, y[:3]", "x, axis=2"],
    "integrate.fixed_quad": ["lambda t: t, zero_d, np.inf"],
    "integrate.solve_ivp": [
        "lambda t, y: -y, (0, 3), tall",
        "lambda t, y: -y, (0, 3), w, 'RK99'",
        "lambda t, y: -y, (0, 3), w, t_eval=[4]",
        "lambda t, y: -y, (0, 3), w, t_eval=[2, 1]",
        "lambda t, y: -y, (0, 3), w, first_step=-1",
        "lambda t, y: -y, (0, 3), w, max_step=0",
        "lambda t, y: -y, (0, 3), w, atol=-1",
        "lambda t, y: -y[:2], (0, 3), w",
        "lambda t, y: -y, (0, 3), with_nan",
    ],
}

#: The host chooses the steps.
READS = {name: CALLS[name] for name in ("integrate.solve_ivp", "integrate.tanhsinh")}
