"""`fori_loop`, `while_loop`, `scan` and `cond`.

`primitives` defines them in NumPy, `bodies` compiles what they are given when a jitted function
calls them, `carry` checks what a loop hands on. Read `primitives` first.
"""
