"""Calls of functions of `scipy.special` that go through the host, one each."""

CALLS = {
    **{
        f"special.{name}": ["positive"]
        for name in (
            *("airy", "airye", "itairy", "bei", "beip", "ber", "berp", "kei", "keip", "kelvin"),
            *("ker", "kerp", "itstruve0", "it2struve0", "itmodstruve0", "it2i0k0", "it2j0y0"),
            *("iti0k0", "itj0y0", "modfresnelm", "modfresnelp"),
        )
    },
    **{
        f"special.{name}": ["w, positive"]
        for name in ("struve", "modstruve", "hyp0f1", "pbdv", "pbvv", "chdtriv", "pbwa")
    },
    **{f"special.{name}": ["2, positive"] for name in ("mathieu_a", "mathieu_b")},
    **{
        f"special.mathieu_{name}": ["2, w, positive"]
        for name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2")
    },
    **{f"special.{name}": ["0, 1, 0.5, signed_unit"] for name in ("pro_ang1", "obl_ang1")},
    **{
        f"special.{name}": ["0, 1, 0.5, 1 + w"]
        for name in ("pro_rad1", "pro_rad2", "obl_rad1", "obl_rad2")
    },
    **{f"special.{name}": ["0, 1, w"] for name in ("pro_cv", "obl_cv")},
    **{
        f"special.{name}": ["0, 1, 0.5, 1.2, signed_unit"]
        for name in ("pro_ang1_cv", "obl_ang1_cv")
    },
    **{
        f"special.{name}": ["0, 1, 0.5, 1.2, 1 + w"]
        for name in ("pro_rad1_cv", "pro_rad2_cv", "obl_rad1_cv", "obl_rad2_cv")
    },
    "special.ellip_harm": ["5, 8, 2, 1, positive"],
    "special.ellip_harm_2": ["5, 8, 2, 1, 10 + positive"],
    "special.ellip_normal": ["5, zero_d, 2, 1"],
    "special.elliprj": ["w, positive, unit, w"],
    "special.hyp1f1": ["w, positive, x"],
    "special.hyp2f1": ["w, positive, 2.5, unit"],
    "special.hyperu": ["w, positive, 0.5 + w"],
    "special.wright_bessel": ["w, positive, unit"],
    "special.log_wright_bessel": ["w, positive, unit"],
    "special.besselpoly": ["w, 1, unit"],
    "special.lambertw": ["x", "z, 1"],
    "special.smirnov": ["integers + 1, unit"],
    "special.smirnovi": ["integers + 1, unit"],
    "special.stirling2": ["integers, 3"],
    "special.tklmbda": ["x, w"],
    "special.bdtrik": ["unit, 12, 0.25"],
    "special.bdtrin": ["2, unit, 0.25"],
    "special.btdtria": ["unit, w, 0.5"],
    "special.btdtrib": ["w, unit, 0.5"],
    "special.chndtr": ["w, positive, 0.5"],
    "special.chndtridf": ["2.0, unit, 0.5"],
    "special.chndtrinc": ["2.0, 3.0, 0.5 * unit"],
    "special.chndtrix": ["unit, positive, 0.5"],
    "special.fdtridfd": ["2.0, 0.5 * unit, 1.5"],
    "special.gdtrib": ["w, unit, 1.5"],
    "special.nbdtrik": ["unit, 4, 0.25"],
    "special.nbdtrin": ["4, unit, 0.25"],
    "special.ncfdtr": ["w, positive, 0.5, unit"],
    "special.ncfdtri": ["2.0, 3.0, 0.5, unit"],
    "special.ncfdtridfd": ["2.0, 0.25, 0.5, 1.0 + 0 * unit"],
    "special.ncfdtridfn": ["3.0, 0.25, 0.5, 1.0 + 0 * unit"],
    "special.ncfdtrinc": ["2.0, 3.0, 0.25, 1.0 + 0 * unit"],
    "special.nctdtr": ["w, 0.5, x"],
    "special.nctdtridf": ["0.4, 0.5, 1.0 + 0 * unit"],
    "special.nctdtrinc": ["3.0, 0.4 + 0 * unit, 1.0"],
    "special.nctdtrit": ["3.0, 0.5, unit"],
    "special.pdtrik": ["unit, w"],
    "special.stdtridf": ["0.8, 0.5 + unit"],
}
