"""Calls of functions of `scipy.optimize`."""

#: For SciPy's own code, which calls it with arrays, and for torch's derivatives.
_BOWL = "lambda p: float(((p - 1.5) ** 2).sum())"
_FAR = "lambda p, a: float(((p - float(a)) ** 2).sum())"
_QUARTIC = "lambda p: ((p - 1.5) ** 4).sum()"
_SLOPES = "jac=lambda p: 4 * (p - 1.5) ** 3"
_VALLEY = "lambda p: (100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2).sum()"

CALLS = {
    "optimize.approx_fprime": [
        "x, lambda p: (p ** 3).sum()",
        "x, lambda p: (p ** 3).sum(), 1e-6",
        "x[:4], lambda p, a: a * p ** 2, w[:4] * 1e-6, 2.0",
        "integers[:4], lambda p: (p ** 2).sum()",
    ],
    "optimize.check_grad": [
        "lambda p: (p ** 2).sum(), lambda p: 3 * p, x",
        "lambda p, a: (a * p ** 2).sum(), lambda p, a: a * p, x, 2.0",
        "lambda p: (p ** 2).sum(), lambda p: 3 * p, x, direction='random', rng=1",
    ],
    "optimize.curve_fit": [
        "lambda t, a, b: a * xp.exp(-b * t), positive, 2 * xp.exp(-0.7 * positive) + 0.1 * x",
        "lambda t, a, b: a * t + b, x, y",
        "lambda t, a, b: a * t + b, x, y, [2.0, 1.0], w",
        "lambda t, a, b: a * t + b, x, y, (2, 1), w, True",
        "lambda t, a, b: a * t + b, x, y + x, [0.5, 0.1], bounds=([0, -1], [2, 1])",
        "lambda t, a, b: a * t + b, x, y, jac=lambda t, a, b: xp.stack([t, 0 * t + 1]).T",
        "lambda t, a, b: a * t[0] + b * t[1], xp.stack([x, w]), y",
        "lambda t, a: a * t, x, y, method='trf'",
        "lambda t, a: a * t, x, y, full_output=True",
    ],
    "optimize.newton": [
        "lambda t: t ** 3 - w, positive, lambda t: 3 * t ** 2",
        "lambda t: t ** 3 - w, positive, lambda t: 3 * t ** 2, fprime2=lambda t: 6 * t",
        "lambda t: t ** 3 - w, positive",
        "lambda t, a: t ** 2 - a, positive, lambda t, a: 2 * t, (2.0,)",
        "lambda t: t * t - 2, one, lambda t: 2 * t",
        "lambda t: t * 0, x, lambda t: t",
    ],
    "optimize.rosen": ["x", "tall", "xp.stack([x, y])"],
    "optimize.rosen_der": ["x", "vector"],
    "optimize.rosen_hess": ["vector"],
    "optimize.rosen_hess_prod": ["vector, 2 * vector"],
    "optimize.isotonic_regression": ["x", "x, weights=w, increasing=False"],
    "optimize.linear_sum_assignment": ["square", "wide, maximize=True"],
    "optimize.linprog": ["xp.abs(vector), bounds=(1, 2)", "vector, square, w[:6], bounds=(0, 1)"],
    "optimize.lsq_linear": ["tall, x[:12]"],
    "optimize.milp": ["xp.abs(vector)"],
    "optimize.nnls": ["tall, x[:12]"],
    "optimize.quadratic_assignment": ["spd, symmetric"],
    "optimize.bisect": ["lambda t, a: t ** 3 - float(a), 0.0, 2.0, (zero_d,)"],
    "optimize.brentq": ["lambda t, a: t ** 3 - float(a), 0.0, 2.0, (zero_d,)"],
    "optimize.brenth": ["lambda t, a: t ** 3 - float(a), 0.0, 2.0, (zero_d,)"],
    "optimize.ridder": ["lambda t, a: t ** 3 - float(a), 0.0, 2.0, (zero_d,)"],
    "optimize.toms748": ["lambda t, a: t ** 3 - float(a), 0.0, 2.0, (zero_d,)"],
    "optimize.root_scalar": ["lambda t, a: t ** 3 - float(a), (zero_d,), bracket=(0, 2)"],
    "optimize.fixed_point": ["lambda t: (t + 2 / t) / 2, one"],
    "optimize.root": ["lambda p: p * p * p - 1, w[:3]"],
    "optimize.fsolve": ["lambda p: p * p * p - 1, w[:3]"],
    **{
        f"optimize.{name}": ["lambda p: p - 0.5 * xp.cos(p), w[:3]"]
        for name in (*("anderson", "broyden1", "broyden2", "diagbroyden", "newton_krylov"),)
    },
    "optimize.excitingmixing": ["lambda p: p - 0.5 * xp.cos(p), w[:3], iter=2"],
    "optimize.linearmixing": ["lambda p: p - 0.5 * xp.cos(p), w[:3], iter=2"],
    "optimize.leastsq": ["lambda p: p ** 2 - 1, w[:3]"],
    "optimize.line_search": ["lambda p: float((p ** 2).sum()), lambda p: 2 * p, x, -x"],
    "optimize.minimize_scalar": ["lambda t, a: (t - float(a)) ** 2, args=(zero_d,)"],
    "optimize.fminbound": ["lambda t, a: (t - float(a)) ** 2, 0, 2, (zero_d,)"],
    "optimize.brent": ["lambda t, a: (t - float(a)) ** 2, (zero_d,)"],
    "optimize.golden": ["lambda t, a: (t - float(a)) ** 2, (zero_d,)"],
    "optimize.bracket": ["lambda t, a: float(t - float(a)) ** 2, args=(zero_d,)"],
    "optimize.basinhopping": [f"{_BOWL}, w[:2], 2, rng=1"],
    "optimize.brute": [
        "lambda p, a: float(((p - float(a)) ** 2).sum()), ((0, 1), (0, 1)), (zero_d,), 3"
    ],
    "optimize.differential_evolution": [
        f"{_FAR}, [(0, 1)] * 2, (zero_d,), maxiter=2, rng=1",
    ],
    "optimize.direct": [
        "lambda p, a: float(((p - float(a)) ** 2).sum()), [(0, 1)], args=(zero_d,)"
    ],
    "optimize.dual_annealing": [
        f"{_FAR}, [(0, 1)] * 2, (zero_d,), maxiter=2, rng=1",
    ],
    "optimize.shgo": ["lambda p, a: float(((p - float(a)) ** 2).sum()), [(0, 1)] * 2, (zero_d,)"],
    "optimize.fmin": [f"{_BOWL}, w[:2], disp=False"],
    "optimize.fmin_bfgs": [f"{_BOWL}, w[:2], lambda p: 2 * (p - 1.5), disp=False"],
    "optimize.fmin_cg": [f"{_BOWL}, w[:2], lambda p: 2 * (p - 1.5), disp=False"],
    "optimize.fmin_ncg": [f"{_BOWL}, w[:2], lambda p: 2 * (p - 1.5), disp=False"],
    "optimize.fmin_l_bfgs_b": [f"{_BOWL}, w[:2], lambda p: 2 * (p - 1.5)"],
    "optimize.fmin_tnc": [
        "lambda p, a: (float((p ** 2).sum()), 2 * p), [2.0, 1.0], args=(zero_d,), messages=0"
    ],
    "optimize.fmin_powell": [f"{_BOWL}, w[:2], disp=False"],
    "optimize.fmin_cobyla": [f"{_BOWL}, w[:2], [], disp=0"],
    "optimize.fmin_slsqp": [
        "lambda p, a: float(((p - float(a)) ** 2).sum()), [2.0, 1.0], args=(zero_d,), disp=0"
    ],
    "optimize.minimize": [
        f"{_QUARTIC}, x, {_SLOPES}, options={{'maxiter': 5}}",
        f"{_QUARTIC}, x, {_SLOPES}, method='CG', options={{'maxiter': 5}}",
        f"{_QUARTIC}, x, {_SLOPES}, method='Newton-CG', hess=lambda p: 12 * xp.diag((p - 1.5) ** 2)"
        ", options={'maxiter': 5}",
        f"{_VALLEY}, vector, method='Nelder-Mead', options={{'maxiter': 40}}",
        f"{_BOWL}, vector, method='Powell'",
        "lambda p, a: float(((p - float(a)) ** 2).sum()), [2.0, 1.0], (zero_d,), 'SLSQP'",
        "lambda p: float((p * p).sum()), vector, method='BFGS', jac='3-point'"
        ", options={'maxiter': 1}",
    ],
    "optimize.least_squares": ["lambda p: p ** 2 - 1, w[:3], loss='soft_l1'"],
}

ERRORS = {
    "optimize.minimize": [
        f"{_BOWL}, tall",
        f"{_BOWL}, x, method='nothing'",
        "lambda p: p, x",
        f"{_BOWL}, one, method='L-BFGS-B', bounds=[(1, 0)]",
    ],
    "optimize.least_squares": [
        "lambda p: p ** 2 - 1, w[:3], method='nothing'",
        "lambda p: p[:1], w[:3], method='lm'",
        "lambda p: p ** 2 - 1, w[:3], bounds=(1, 0)",
        "lambda p: p * np.nan, w[:3]",
    ],
    "optimize.curve_fit": [
        "lambda t, a: a * t, x, with_nan",
        "lambda t, a, b: a * t + b, x[:1], y[:1]",
        "lambda t, a: a * t, x, y, sigma=w[:3]",
    ],
    "optimize.newton": ["lambda t: t, x, tol=-1", "lambda t: t ** 2 + 1, x, lambda t: 2 * t"],
    "optimize.approx_fprime": ["tall, lambda p: p.sum()"],
}

#: The host chooses where to go.
READS = {
    name: CALLS[name]
    for name in (
        *("minimize", "least_squares", "curve_fit", "newton", "root", "fsolve"),
        *("brentq", "brenth", "bisect"),
    )
    for name in [f"optimize.{name}"]
}
