"""Type a loop nest as NumPy types it, and write it for Numba.

In: statements on single elements. Out: the source of a function that Numba compiles without
deciding on any dtype itself.

`lower_nest` writes the function, `statements` and `expressions` its code, `operators` NumPy's
arithmetic on numbers, `array_access` reads and writes of elements, `calls` the user's own
functions; `types` names the types, and `hoisted_checks` takes checks of subscripts out of loops.
Read `lower_nest` first, then `expressions`.
"""
