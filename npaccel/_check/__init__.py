"""Compare compiled functions with plain NumPy, and say at which line the two part.

`_instrument` rewrites the user's function so that every operation passes through
an observer; `_observers` has those: one records, one narrows as ``default_float``
does, one perturbs, one promotes as NumPy 1 did. The public functions are built on
them: `_checking` (check), `_promotion` (check_promotion), `_precision`
(audit_precision). `_transfers` watches copies between host and device.
"""
