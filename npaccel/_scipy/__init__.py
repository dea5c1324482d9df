"""SciPy on tensors: one table of SciPy's functions, and the routes that calls take.

``_listing`` reads SciPy's own names and capabilities, ``_table`` holds what npaccel declares of
them, ``routes`` makes the callables, ``_patching`` puts them under SciPy's own names. The other
modules are chapters: native functions of one submodule of SciPy each.
"""
