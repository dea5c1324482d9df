"""Ufuncs: NumPy chooses the loop, torch computes it.

In: a ufunc, or a method of one, and its operands. Out: tensors in the dtypes of NumPy's loop.

`ufuncs` lists them, `dispatch` calls one, `kernels` and the modules beside it compute. `methods`
and `reductions` are ``reduce``, ``accumulate``, ``reduceat`` and ``outer``. Read `dispatch` first.
"""
