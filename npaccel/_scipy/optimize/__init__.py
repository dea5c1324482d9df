"""Functions of `scipy.optimize` on tensors.

In: functions of tensors, and where to begin. Out: SciPy's results, with tensors in them.

Modules without an underscore declare rows of the table; the others are what they share. `minimize`,
`least_squares`, `roots`, `brackets` and `systems` take the calls, `_minimizers` and
`_least_squares` the steps, `_objectives` values and gradients. Read `minimize` first.
"""
