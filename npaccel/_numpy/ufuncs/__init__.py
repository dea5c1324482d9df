"""Ufuncs: NumPy chooses the loop, torch computes it.

`ufuncs` lists them, `dispatch` calls one, `kernels` and the modules beside it compute. `methods`
and `reductions` are ``reduce``, ``accumulate``, ``reduceat`` and ``outer``. Read `dispatch` first.
"""
