"""Calls of functions of `scipy.interpolate`."""

# A text may close the call's bracket: "x, y)(t" evaluates the spline that the function gives.
_GRID = "(xp.cumsum(w[:4], 0), xp.cumsum(w[:5], 0)), cube[..., 0]"

CALLS = {
    "interpolate.interpn": [
        f"{_GRID}, xp.stack([xp.cumsum(w[:4], 0), xp.cumsum(w[:4], 0)], -1), bounds_error=False",
        f"{_GRID}, (w[:3], w[:3]), 'nearest', False, None",
        f"{_GRID}, (w[:3], w[:3]), 'linear', False, None",
        f"{_GRID}, (with_nan, x), 'linear', False",
        f"{_GRID}, (with_nan, x), 'linear', False, 2.5",
        f"{_GRID}, (w[0] + 0 * unit[:3, None], w[0] + unit[:4] * w[1])",
        "(xp.cumsum(w[:4], 0),), cube, w[0] + unit[:7, None] * w[1]",
        "([3.0, 2.0, 1.0, 0.0],), cube, [[0.5], [2.25]]",
        f"{_GRID}, (w[:3], w[:3]), 'pchip', False, None",
        f"{_GRID}, (w[:3], w[:3]), 'slinear', False, None",
    ],
    "interpolate.pchip_interpolate": [
        "xp.cumsum(w, 0), y, positive",
        "xp.cumsum(w, 0), y, positive, 1",
        "xp.cumsum(w, 0), y, positive, [0, 1, 2]",
        "xp.cumsum(w[:5], 0), tall, 1.5, axis=1",
        "xp.cumsum(w[:2], 0), y[:2], with_nan",
    ],
    "interpolate.make_interp_spline": [
        "sorted_x, y)(x",
        *(f"sorted_x, y, {k})(x" for k in range(6)),
        "sorted_x[:5], tall, axis=1)(x",
        "sorted_x[:12], tall)(x, 1",
        "sorted_x[:12], tall)(x, 3",
        "sorted_x[:5], tall[:5] + 1j, 2)(with_nan",
        "sorted_x, y, bc_type='natural')(x",
        "sorted_x, y, bc_type=([(1, 0.5)], [(2, 0.0)]))(x",
        "sorted_x, y)(0.25",
    ],
    "interpolate.krogh_interpolate": ["sorted_x[:4], y[:4], x"],
    "interpolate.barycentric_interpolate": ["sorted_x[:4], y[:4], x"],
    "interpolate.griddata": [
        "points[:, :2], points[:, 2], points2[:, :2]",
        "points[:, :2], points[:, 2], points2[:, :2], 'nearest'",
        "sorted_x, y, x",
    ],
    "interpolate.approximate_taylor_polynomial": [
        "lambda t, *a: np.exp(t) * float(zero_d), 0, 3, float(one[0])",
    ],
    "interpolate.lagrange": ["sorted_x[:3], y[:3]"],
    "interpolate.pade": ["w[:4], 1"],
    "interpolate.splrep": ["sorted_x, y"],
    "interpolate.splprep": ["[x, y]"],
    "interpolate.splev": ["x, (sorted_x[:10], y[:10], 3)", "x, (sorted_x[:10], y[:10], 3), 1"],
    "interpolate.splint": ["-1.0, 1.0, (sorted_x[:10], y[:10], 3)"],
    "interpolate.sproot": ["(sorted_x[:10], y[:10], 3)"],
    "interpolate.spalde": ["sorted_x[4:6], (sorted_x[:10], y[:10], 3)"],
    "interpolate.splder": ["(sorted_x[:10], y[:10], 3)"],
    "interpolate.splantider": ["(sorted_x[:10], y[:10], 3)"],
    "interpolate.insert": [
        "float(sorted_x[4]) + 0.01, (sorted_x[:10], y[:10], 3))[0].sum() * (1",
    ],
    "interpolate.bisplrep": ["x, y, w, s=50"],
    "interpolate.bisplev": ["sorted_x, sorted_x, (sorted_x[:6], sorted_x[:6], y[:16], 1, 1)"],
    "interpolate.make_lsq_spline": [
        "sorted_x, y, [sorted_x[0]] * 4 + [0.0] + [sorted_x[-1]] * 4)(x"
    ],
    "interpolate.make_smoothing_spline": ["sorted_x, y, lam=0.5)(x"],
    "interpolate.make_splrep": ["sorted_x, y, s=20)(x"],
    "interpolate.make_splprep": ["xp.stack([sorted_x, y]), s=20)[0](unit"],
    "interpolate.generate_knots": ["sorted_x, y, s=20).__next__("],
}

ERRORS = {
    "interpolate.interpn": [
        f"{_GRID}, (x, x)",
        f"{_GRID}, (x, x, x)",
        f"{_GRID}, (x, x), 'some'",
        "(x[:4], w[:5]), cube[..., 0], (w[:3], w[:3])",
        "(w[:3], w[:5]), cube[..., 0], (w[:3], w[:3])",
    ],
    "interpolate.make_interp_spline": ["x, y", "sorted_x[:3], y[:3]", "sorted_x, with_nan"],
    "interpolate.pchip_interpolate": ["x, y, w", "sorted_x, with_nan, w", "sorted_x, y[:3], w"],
}
