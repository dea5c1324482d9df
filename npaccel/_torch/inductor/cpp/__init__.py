"""C++ that Inductor generates for CPUs: vectors, reductions, checks, threads.

Each module changes one part of the generator. Read `vector_ops` first.
"""
