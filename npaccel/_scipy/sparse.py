"""`scipy.sparse` is about SciPy's own sparse arrays, which are on the host."""

from npaccel._scipy.dispatch.table import through_host

through_host(
    "sparse.eye sparse.eye_array sparse.identity sparse.load_npz sparse.rand sparse.random "
    "sparse.random_array",
    "takes no arrays",
    takes_arrays=False,
)
# A tensor is no sparse array of SciPy's, wherever it is.
through_host(
    "sparse.issparse sparse.isspmatrix sparse.isspmatrix_bsr sparse.isspmatrix_coo "
    "sparse.isspmatrix_csc sparse.isspmatrix_csr sparse.isspmatrix_dia sparse.isspmatrix_dok "
    "sparse.isspmatrix_lil",
    "asks for the class of an object",
    takes_arrays=False,
)
through_host(
    "sparse.block_array sparse.block_diag sparse.bmat sparse.diags sparse.diags_array "
    "sparse.expand_dims sparse.hstack sparse.kron sparse.kronsum sparse.permute_dims "
    "sparse.save_npz sparse.spdiags sparse.swapaxes sparse.tril sparse.triu sparse.vstack",
    "it's about SciPy's sparse arrays, which are on the host",
)
through_host("sparse.find", "it goes by way of SciPy's sparse arrays, which are on the host")
through_host(
    "sparse.get_index_dtype sparse.safely_cast_index_arrays",
    "it looks for a dtype of NumPy's",
)
