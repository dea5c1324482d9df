"""C++ that Inductor generates for CPUs: vectors, reductions, checks, threads.

In: loops as Inductor schedules them. Out: C++ that computes them by vectors, in all threads where
that pays, and with NumPy's values.

Each module changes one part of the generator; `vector_helpers` are the functions that the code
calls. Read `vector_ops` first.
"""
