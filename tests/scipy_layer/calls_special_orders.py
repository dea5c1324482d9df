"""Calls of functions of `scipy.special` whose orders or sizes are numbers, and of reductions."""

_POLYNOMIALS = (
    *("chebyt", "chebyu", "chebyc", "chebys", "sh_chebyt", "sh_chebyu", "legendre"),
    *("sh_legendre", "laguerre", "hermite", "hermitenorm"),
)

CALLS = {
    f"special.eval_{name}": ["0, x", "1, x", "5, x", "3, with_nan", "2, zero_d", "4, empty"]
    for name in _POLYNOMIALS
}
CALLS["special.eval_chebyt"] += [
    "-3, x",
    "20, signed_unit",
    "3, integers",
    "2.5, unit",
    "integers, x",
]
CALLS["special.eval_chebyu"] += ["-3, x", "-1, x"]
CALLS["special.eval_legendre"] += ["-3, x", "30, signed_unit", "2.5, signed_unit"]
CALLS |= {
    "special.eval_jacobi": ["4, w, positive, x", "3, 0.5, -0.5, signed_unit", "1, 1.0, 1.0, x"],
    "special.eval_sh_jacobi": ["4, w + 1, unit, x", "3, 2.0, 1.0, unit", "0, 2.0, 1.0, unit"],
    "special.eval_gegenbauer": ["4, w, x", "3, 0.5, signed_unit", "0, 1.0, with_nan", "2, 0.0, x"],
    "special.eval_genlaguerre": ["4, w, x", "3, 0.5, positive", "0, 1.0, with_nan", "2, -1.5, x"],
    "special.assoc_laguerre": ["x, 3", "positive, 4, 1.5", "positive, 2, k=2"],
    "special.legendre_p": ["3, x", "0, signed_unit", "-4, x", "2, zero_d", "2, x, diff_n=1"],
    "special.legendre_p_all": ["4, x", "0, signed_unit", "2, zero_d"],
    "special.assoc_legendre_p": ["3, 2, signed_unit"],
    "special.assoc_legendre_p_all": ["3, 2, signed_unit"],
    "special.lpmv": [
        "0, 3, x",
        "2, 3, signed_unit",
        "-2, 3, signed_unit",
        "4, 3, x",
        "1, 2.5, unit",
    ],
    "special.sph_legendre_p": ["3, 2, x", "3, -2, x", "2, 4, x", "5, 0, zero_d"],
    "special.sph_legendre_p_all": ["3, 2, x", "2, 4, x"],
    "special.sph_harm_y": ["3, 2, x, y", "3, -2, x, y", "2, 4, x, 0.5", "5, 0, zero_d, y"],
    "special.sph_harm_y_all": ["3, 2, x, y", "2, 4, x, y"],
    "special.lqn": ["3, zero_d"],
}

_REAL = [
    "2, x",
    "0, large",
    "5, 20 * positive",
    "-3, positive",
    "1, special[:6]",
    "1.0, zero_d",
    "3, empty",
]

CALLS |= {
    "special.jv": [*_REAL, "2.5, positive", "1, z", "integers, w", "20, large", "2, integers"],
    "special.jve": _REAL,
    "special.yv": [*_REAL, "2.5, positive"],
    "special.yve": _REAL,
    "special.iv": ["2, x", "0, 10 * x", "1.5, positive", "2.5, 30 * w", "-3, positive", "4, empty"],
    "special.ive": [
        "2, x",
        "0, large",
        "1.5, positive",
        "2.5, 30 * w",
        "-3, positive",
        "20, 300 * w",
    ],
    "special.kv": ["2, x", "0, positive", "5, 20 * positive", "-3, positive", "0.5, positive"],
    "special.kve": ["2, x", "0, positive", "5, 20 * positive", "-3, positive"],
    "special.kn": ["2, x", "0, positive", "5, 20 * positive", "3, integers"],
    "special.yn": ["2, x", "0, positive", "5, 20 * positive", "-3, positive", "integers, w"],
    "special.expn": [
        *("0, w", "1, positive", "2, positive", "7, with_nan", "30, 20 * w", "2, 0 * w"),
        *("2, 1e-5 * w", "50, 99 * w", "99, 17 * w", "3, special"),
    ],
    "special.hankel1": ["0, positive", "2, large", "-3, positive", "0, zero_d", "2.5, positive"],
    "special.hankel1e": ["0, positive", "2, large", "1, z"],
    "special.hankel2": ["0, positive", "2, large", "-3, positive", "2, integers + 1"],
    "special.hankel2e": ["0, positive", "2, large"],
    "special.jvp": ["1, x", "0, positive, 2", "2, large, n=3", "1, x, 0", "2.5, positive"],
    "special.yvp": ["1, positive", "0, positive, 2", "2, 10 * w, n=3"],
    "special.ivp": ["1, x", "0, positive, 2", "2, 5 * w, n=3"],
    "special.kvp": ["1, positive", "0, positive, 2", "2, 10 * w, n=3", "1, positive, 0"],
    "special.h1vp": ["1, positive"],
    "special.h2vp": ["1, positive"],
}

_SPHERICAL = [
    *("0, x", "1, positive", "5, large", "2, special[3:7]", "1, positive, True", "0, x, True"),
    *("3, 20 * w, derivative=True", "2, zero_d", "3, empty"),
]

CALLS |= {
    "special.spherical_jn": [*_SPHERICAL, "integers, w", "1, z", "20, large"],
    "special.spherical_yn": _SPHERICAL,
    "special.spherical_in": _SPHERICAL,
    "special.spherical_kn": [
        "0, positive",
        "1, positive",
        "3, x",
        "2, w, True",
        "0, x, True",
        "2, zero_d",
    ],
}

CALLS |= {
    "special.comb": [
        "integers, 3",
        "12, integers",
        "integers, 2, repetition=True",
        "w, 0.5",
        "5, empty",
    ],
    "special.perm": ["integers, 3", "12, integers", "positive, 2", "w, 2"],
    "special.factorial": [
        "integers",
        "counts",
        "x",
        "with_nan",
        "zero_d",
        "empty",
        "integers, exact=True",
    ],
    "special.factorial2": ["integers", "counts", "integers - 3", "integers, exact=True"],
    "special.factorialk": ["integers, 3", "counts, 4", "integers, 1", "integers - 3, k=2"],
    "special.multigammaln": ["positive + 2, 3", "integers + 4, 5", "w + 1, 1"],
    "special.polygamma": [
        "1, positive",
        "0, x",
        "3, w",
        "2, integers + 1",
        "1, zero_d",
        "1, empty",
    ],
    "special.zeta": [
        *("positive", "large", "special[:7]", "1.5 + w, positive", "integers", "3, w"),
        "1 + w, 1.0",
    ],
    "special.sinc": ["x", "special", "integers", "zero_d", "empty"],
    "special.diric": ["x, 3", "large, 4", "x, 2.5", "0 * x, 4", "2 * np.pi * xp.floor(large), 4"],
    "special.softplus": ["x", "large", "special", "integers", "empty"],
    "special.logsumexp": [
        *("x", "image, axis=0", "image, -1", "cube, axis=(0, 2)", "x, b=w", "x, b=y"),
        *("x, b=y, return_sign=True", "image, 1, keepdims=True", "special", "zero_d"),
        *(
            "integers",
            "-np.inf * w",
            "wide, axis=1, b=wide, return_sign=True",
            "empty",
            "large, b=0 * w",
        ),
        "np.inf * w, b=x",
    ],
    "special.softmax": [
        "x",
        "image, axis=0",
        "cube, axis=(0, 2)",
        "integers",
        "zero_d",
        "large, -1",
    ],
    "special.log_softmax": [
        "x",
        "image, axis=0",
        "cube, axis=(0, 2)",
        "integers",
        "zero_d",
        "1e3 * x",
    ],
}

ERRORS = {
    "special.eval_hermite": ["2.5, x"],
    "special.logsumexp": ["x, axis=3", "x, b=y[:7]"],
    "special.softmax": ["x, axis=3"],
    "special.factorial": ["x, exact=True", "integers, extend='nothing'"],
    "special.factorialk": ["x, 2", "integers, 0"],
    "special.multigammaln": ["-w, 2", "w, 1.5"],
    "special.jvp": ["1, x, -1", "1, x, 1.5"],
    "special.comb": ["x, y[:3]"],
}
