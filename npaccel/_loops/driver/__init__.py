"""Run a function that was split at its loops.

In: a partition and a call's arguments. Out: the call's result, by compiled regions, compiled bodies
and NumPy, whichever is faster where that was measured.

`driver` makes the program, `region` calls a region, `iterations` decides how a loop goes on while
it runs, `tensor_calls` leaves conversions out, `whole_function` goes back to the unsplit one. Read
`driver` first.
"""
