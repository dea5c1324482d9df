"""The table of NumPy functions, and what all categories share.

`table` is the table, `dtypes` NumPy's promotion on torch's dtypes, `context` what holds while a
function is traced. `operators`, `methods` and `storing` have rows of their own; `not_compiled` and
`known_differences` say what isn't as in NumPy, and why. Read `table` first.
"""
