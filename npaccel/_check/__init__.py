"""Compare compiled functions with plain NumPy, and say at which line the two part.

`instrument` rewrites the user's function so that every operation passes through
an observer; `observers` has those: one records, one narrows as ``default_float``
does, one perturbs, one promotes as NumPy 1 did. The public functions are built on
them: `check` (check), `promotion_report` (check_promotion), `precision_audit`
(audit_precision). `transfers` watches copies between host and device.
"""
