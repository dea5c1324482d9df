"""Functions of `scipy.linalg` that go through the host, or take no arrays."""

from npaccel._scipy.dispatch.table import through_host

through_host(
    "linalg.dft linalg.hadamard linalg.helmert linalg.hilbert linalg.invhilbert "
    "linalg.invpascal linalg.pascal",
    "takes no arrays",
    takes_arrays=False,
    is_pure=True,
)
through_host(
    "linalg.find_best_blas_type linalg.get_blas_funcs linalg.get_lapack_funcs",
    "it finds routines for NumPy's arrays",
)
through_host(
    "linalg.cholesky_banded linalg.cho_solve_banded",
    "elimination in a band goes row by row",
)
through_host(
    "linalg.schur linalg.rsf2csf linalg.funm linalg.hessenberg linalg.matrix_balance "
    "linalg.qz linalg.ordqz linalg.ldl linalg.cossin",
    "torch doesn't have this variant",
)
through_host(
    "linalg.solve_sylvester linalg.solve_lyapunov linalg.solve_continuous_lyapunov "
    "linalg.solve_continuous_are linalg.solve_discrete_are",
    "it goes by a Schur form, which torch doesn't have",
)
through_host(
    "linalg.qr_insert linalg.qr_delete linalg.qr_update",
    "the factors are turned by one plane rotation after the other",
)
through_host("linalg.clarkson_woodruff_transform", "SciPy's random numbers are drawn on the host")
