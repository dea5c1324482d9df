"""Calls of `scipy.sparse`, whose results are SciPy's own sparse arrays."""

CALLS = {
    "sparse.block_array": ["[[square, None], [None, wide]]"],
    "sparse.block_diag": ["[square, wide]"],
    "sparse.bmat": ["[[square, None], [None, wide]]"],
    "sparse.diags": ["[x, y[:49]], offsets=[0, 1]"],
    "sparse.diags_array": ["[x, y[:49]], offsets=[0, 1]"],
    "sparse.find": ["square * (square > 0)"],
    "sparse.get_index_dtype": ["integers"],
    "sparse.hstack": ["[scipy.sparse.eye_array(6), square]"],
    "sparse.kron": ["square, spd"],
    "sparse.kronsum": ["square, spd"],
    "sparse.spdiags": ["wide, [0, 1, 2, 3, 4, 5, 6, 7], 6, 6"],
    "sparse.tril": ["square"],
    "sparse.triu": ["square, 1"],
    "sparse.vstack": ["[scipy.sparse.eye_array(6), square]"],
    # These take SciPy's sparse arrays, or write files.
    "sparse.expand_dims": ["scipy.sparse.eye_array(3), axis=0"],
    "sparse.permute_dims": ["scipy.sparse.eye_array(3), (1, 0)"],
    "sparse.safely_cast_index_arrays": [],
    "sparse.save_npz": [],
    "sparse.swapaxes": ["scipy.sparse.eye_array(3), 0, 1"],
}
