"""Functions of `scipy.spatial` on tensors.

In: tensors of vectors, or of sets of them. Out: distances, on the same device.

Modules without an underscore declare rows of the table; the others are what they share. `vectors`
takes two vectors, `tables` all pairs of two sets, `forms` converts tables, `host` lists what goes
through the host; `_distance` has the metrics. Read `tables` first.
"""
