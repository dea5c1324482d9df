"""Functions of `scipy.special` that go through the host, and why."""

from __future__ import annotations

from npaccel._scipy.dispatch.table import through_host

through_host(
    "special.ai_zeros special.bi_zeros special.bei_zeros special.beip_zeros special.ber_zeros "
    "special.berp_zeros special.kei_zeros special.keip_zeros special.ker_zeros special.kerp_zeros "
    "special.kelvin_zeros special.erf_zeros special.fresnel_zeros special.fresnelc_zeros "
    "special.fresnels_zeros special.jn_zeros special.jnjnp_zeros special.jnp_zeros "
    "special.jnyn_zeros special.yn_zeros special.ynp_zeros special.y0_zeros special.y1_zeros "
    "special.y1p_zeros special.bernoulli special.euler special.mathieu_even_coef "
    "special.mathieu_odd_coef special.obl_cv_seq special.pro_cv_seq special.lqmn special.lmbda "
    "special.pbdn_seq special.pbdv_seq special.pbvv_seq special.riccati_jn special.riccati_yn",
    "takes no arrays",
    takes_arrays=False,
    is_pure=True,
)
through_host(
    "special.chebyc special.chebys special.chebyt special.chebyu special.gegenbauer "
    "special.genlaguerre special.hermite special.hermitenorm special.jacobi special.laguerre "
    "special.legendre special.sh_chebyt special.sh_chebyu special.sh_jacobi special.sh_legendre "
    "special.roots_chebyc special.roots_chebys special.roots_chebyt special.roots_chebyu "
    "special.roots_gegenbauer special.roots_genlaguerre special.roots_hermite "
    "special.roots_hermitenorm special.roots_jacobi special.roots_laguerre special.roots_legendre "
    "special.roots_sh_chebyt special.roots_sh_chebyu special.roots_sh_jacobi "
    "special.roots_sh_legendre",
    "takes no arrays",
    takes_arrays=False,
    is_pure=True,
)
through_host("special.geterr special.seterr", "sets how SciPy reports errors", takes_arrays=False)
through_host(
    "special.mathieu_a special.mathieu_b special.mathieu_cem special.mathieu_modcem1 "
    "special.mathieu_modcem2 special.mathieu_modsem1 special.mathieu_modsem2 special.mathieu_sem "
    "special.ellip_harm special.ellip_harm_2 special.ellip_normal",
    "each element needs an eigenvalue problem of its own size",
)
through_host(
    "special.obl_ang1 special.obl_ang1_cv special.obl_cv special.obl_rad1 special.obl_rad1_cv "
    "special.obl_rad2 special.obl_rad2_cv special.pro_ang1 special.pro_ang1_cv special.pro_cv "
    "special.pro_rad1 special.pro_rad1_cv special.pro_rad2 special.pro_rad2_cv",
    "each element needs an eigenvalue problem of its own size",
    wide=True,
)
through_host(
    "special.hyp1f1 special.hyp2f1 special.hyperu special.hyp0f1 special.pbdv special.pbvv "
    "special.pbwa special.wright_bessel special.log_wright_bessel special.besselpoly special.lqn",
    "each element takes the method, and the number of terms, that its parameters need",
)
through_host(
    "special.bdtrik special.bdtrin special.btdtria special.btdtrib special.chdtriv "
    "special.chndtr special.chndtridf special.chndtrinc special.chndtrix special.fdtridfd "
    "special.gdtrib special.nbdtrik special.nbdtrin special.ncfdtr special.ncfdtri "
    "special.ncfdtridfd special.ncfdtridfn special.ncfdtrinc special.nctdtr special.nctdtridf "
    "special.nctdtrinc special.nctdtrit special.pdtrik special.stdtridf special.tklmbda",
    "each element searches for a root, or sums as many terms as it needs",
)
through_host(
    "special.smirnov special.smirnovi special.stirling2",
    "each element sums as many terms as its first argument says",
)
through_host(
    "special.airy special.airye special.itairy special.bei special.beip special.ber special.berp "
    "special.kei special.keip special.kelvin special.ker special.kerp special.struve "
    "special.modstruve special.itstruve0 special.it2struve0 special.itmodstruve0 special.it2i0k0 "
    "special.it2j0y0 special.iti0k0 special.itj0y0 special.modfresnelm special.modfresnelp",
    "npaccel has no implementation of it yet",
)
through_host(
    "special.elliprj special.assoc_legendre_p special.assoc_legendre_p_all",
    "npaccel has no implementation of it yet",
)
