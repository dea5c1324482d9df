"""Subscripts: basic, by arrays, by masks; ``take`` and its relatives.

In: tensors and index keys. Out: views, copies, or tensors that were written to, by NumPy's rules.

`index_keys` takes a key apart, `indexing` reads and writes by it, `masking` does so for masks
without sizes that depend on the data, `taking` has the functions, `index_helpers` what makes keys
and grids, `strides` views by strides. Read `indexing` first.
"""
