"""Compile the body of a loop once, instead of unrolling it.

In: a function, its options, and its log. Out: what makes its calls: a `Dispatcher` where nothing
loops, else a `Driver`.

`make_dispatcher` decides which. `partition` splits the function, from its source, into regions:
straight-line code and loop bodies. Each region is compiled like a function of its own, and the rest
stays Python, which `driver` runs. `nests` hands loops over single elements to Numba, and
`control_flow` is `npaccel.fori_loop` and the like. Read `driver/driver.py` first.
"""
