"""Calls of the ufuncs of `scipy.special` that npaccel has for arrays of all arguments."""

#: Of one argument: the array that it's mostly defined for.
_ONE = {
    "x": "cosm1 erf erfc erfcx erfi dawsn exprel expm1 exp2 exp10 expit log_expit ndtr log_ndtr "
    "gammasgn wrightomega i0e i1e round cbrt",
    "large": "sindg cosdg tandg j0 j1 sici gamma rgamma gammaln psi zetac wofz",
    "positive": "log1p loggamma entr y0 y1 k0 k0e k1 k1e exp1 expi spence kolmogorov ellipkm1 "
    "i0 i1 fresnel shichi",
    "unit": "logit ndtri ellipk ellipe kolmogi erfcinv",
    "signed_unit": "erfinv",
}
#: Where SciPy's own value isn't right for some of the special numbers: 1e-30, or -inf.
_NOT_SPECIAL = ("fresnel",)

CALLS = {
    f"special.{name}": [array, "special", "zero_d", "empty"]
    for array, names in _ONE.items()
    for name in names.split()
    if name not in _NOT_SPECIAL
}
CALLS |= {
    "special.fresnel": ["positive", "large", "with_nan", "zero_d", "empty"],
    "special.cotdg": ["large", "with_nan", "zero_d", "empty", "integers"],
    "special.ndtri_exp": ["-positive", "-large * large", "special", "empty"],
    "special.radian": ["x, y, w", "integers, 30, 15.5"],
    "special.voigt_profile": ["x, w, w", "x, w, 0.0", "x, 0.0, 0.5", "special, 0.5, 0.25"],
}
CALLS["special.gamma"] += ["integers", "counts", "booleans"]
CALLS["special.erf"] += ["integers", "mask", "x.reshape(5, 10)[:, ::2]", "z"]
CALLS["special.j0"] += ["integers", "positive"]
CALLS["special.psi"] += ["integers", "positive", "z"]
CALLS["special.wofz"] += ["z", "-z", "x"]
CALLS["special.expm1"] += ["integers", "z"]
CALLS["special.zetac"] += ["positive"]
CALLS["special.gammaln"] += ["positive", "integers"]
CALLS["special.exp10"] += ["integers"]
CALLS["special.cbrt"] += ["large", "integers"]
CALLS["special.ellipk"] += ["-positive"]
CALLS["special.ellipe"] += ["-positive"]
CALLS["special.round"] += ["xp.floor(large) + 0.5"]

#: Of two arguments.
CALLS |= {
    "special.agm": ["positive, w", "-positive, -w", "special, 2.0", "3.0, 0 * w"],
    "special.beta": ["positive, w", "large, x", "integers, 2", "special, 1.5", "empty, 1.0"],
    "special.betaln": ["positive, w", "large, x", "integers, 2", "special, 1.5", "500 * w, 20 * w"],
    "special.binom": ["integers, counts[0, 0]", "large, 3", "positive, w", "w, -w", "40, integers"],
    "special.boxcox": ["w, x", "positive, 0.0", "special, 0.5", "integers, 2", "w, 1e-25"],
    "special.boxcox1p": ["w, x", "positive, 0.0", "special, 0.5", "integers, 2"],
    "special.inv_boxcox": ["w, x", "positive, 0.0", "special, 0.5", "integers, 2", "x, 0.1"],
    "special.inv_boxcox1p": ["w, x", "positive, 0.0", "special, 0.5", "integers, 2", "x, 0.1"],
    "special.chdtr": ["w, positive", "integers, w", "special, 1.5", "1.5, special", "3, empty"],
    "special.chdtrc": ["w, positive", "integers, w", "special, 1.5", "1.5, special", "3, empty"],
    "special.chdtri": ["w, unit", "20 * w, unit", "1.5, unit"],
    "special.ellipkinc": ["x, unit", "large, unit", "x, -positive", "special, 0.5", "1.0, special"],
    "special.ellipeinc": ["x, unit", "large, unit", "x, -positive", "special, 0.5", "1.0, special"],
    "special.elliprc": ["positive, w", "positive, -w", "special, 0.5"],
    "special.ellipj": ["x, unit", "large, 0.5", "x, 0.0", "x, 1.0", "special, 0.25"],
    "special.gammainc": ["w, positive", "20 * w, 20 * positive", "special, 1.5", "1.5, special"],
    "special.gammaincc": ["w, positive", "20 * w, 20 * positive", "special, 1.5", "1.5, special"],
    "special.gammaincinv": ["w, unit", "20 * w, unit", "integers + 1, 0.25", "1.5, special"],
    "special.gammainccinv": ["w, unit", "20 * w, unit", "integers + 1, 0.25", "1.5, special"],
    "special.huber": ["w, x", "1.0, special", "special, 1.5", "2, integers"],
    "special.pseudo_huber": ["w, x", "1.0, special", "special, 1.5", "2, integers"],
    "special.kl_div": ["w, positive", "special, 1.5", "1.5, special", "integers, 2"],
    "special.rel_entr": ["w, positive", "special, 1.5", "1.5, special", "integers, 2", "w, w"],
    "special.owens_t": ["x, y", "large, y", "special, 0.5", "0.5, special", "x, 1.0"],
    "special.pdtr": ["integers, w", "positive, w", "special, 2.0", "2, special", "20, 20 * w"],
    "special.pdtrc": ["integers, w", "positive, w", "special, 2.0", "2, special", "20, 20 * w"],
    "special.pdtri": ["integers, unit", "3, unit"],
    "special.poch": ["w, x", "integers, 3", "positive, integers", "20 * w, 30 * w", "special, 2.0"],
    "special.powm1": ["w, x", "w, 1e-8 * x", "special, 2", "special, 0.5", "integers, 3"],
    "special.stdtr": ["w, x", "integers + 1, y", "special, 1.5", "2.5, special", "300 * w, y"],
    "special.stdtrit": ["w + 0.5, unit", "integers + 1, unit", "300 * w, unit"],
    "special.xlogy": ["x, w", "special, 0.0", "0.0, special", "integers, 2"],
    "special.xlog1py": ["x, w", "special, 0.0", "0.0, special", "integers, 2"],
}

#: Of three arguments.
CALLS |= {
    "special.betainc": [
        *("w, positive, unit", "100 * w, 200 * w, unit", "special, 1.5, 0.5", "1.5, special, 0.5"),
        *("1.5, 2.5, special", "2, integers + 1, 0.25"),
    ],
    "special.betaincc": ["w, positive, unit", "100 * w, 200 * w, unit", "1.5, 2.5, special"],
    "special.betaincinv": ["w, positive, unit", "100 * w, 200 * w, unit"],
    "special.betainccinv": ["w, positive, unit", "100 * w, 200 * w, unit"],
    "special.bdtr": ["integers, 12, unit", "2, counts, 0.25", "special, 12, 0.5"],
    "special.bdtrc": ["integers, 12, unit", "2, counts, 0.25", "special, 12, 0.5"],
    "special.bdtri": ["integers, 12, unit"],
    "special.nbdtr": ["integers, 12, unit", "2, counts, 0.25"],
    "special.nbdtrc": ["integers, 12, unit", "2, counts, 0.25"],
    "special.nbdtri": ["integers, 12, unit"],
    "special.elliprd": ["w, positive, unit", "0, w, unit", "special, 1.5, 0.5"],
    "special.elliprf": ["w, positive, unit", "0, w, unit", "special, 1.5, 0.5"],
    "special.elliprg": ["w, positive, unit", "0, w, unit", "0.5, 0.5, w"],
    "special.fdtr": ["w, positive, unit", "20 * w, positive, unit", "3, 4, special"],
    "special.fdtrc": ["w, positive, unit", "20 * w, positive, unit", "3, 4, special"],
    "special.fdtri": ["w + 1, positive + 1, unit", "3, 4, unit"],
    "special.gdtr": ["w, positive, unit", "2, 3, special"],
    "special.gdtrc": ["w, positive, unit", "2, 3, special"],
    "special.gdtria": ["unit, positive, w"],
    "special.gdtrix": ["w, positive, unit"],
    "special.nrdtrimn": ["unit, w, x", "special, 1.0, 2.0"],
    "special.nrdtrisd": ["x, unit, w"],
}

ERRORS = {
    "special.erf": ["xp.asarray([1.0, 2.0]), 3.0, 4.0, 5.0", "", "x=x"],
    "special.gammainc": ["x, x[:3]", "z, z"],
    "special.gamma": ["'text'"],
    "special.ellipj": ["x, y[:4]"],
}
