"""NumPy's own kernels as torch operators, on host memory.

Compiled code calls them where they are faster than torch's, or where torch has none; from disk too,
so nothing here imports the compiler. `registration` makes an operator of a function on arrays,
`blocked` shares it out among threads. Read `kernels` first.
"""
