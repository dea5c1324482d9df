"""`numpy.polynomial` and the older ``poly*`` functions.

In: coefficients and points as tensors. Out: tensors, by rows of the table.

`polynomials` has the older functions, `series` evaluates the six kinds of series, `algebra` adds,
multiplies and converts them, `calculus` differentiates, integrates and fits; `inlined` lists what
is traced as NumPy has written it. Read `series` first.
"""
