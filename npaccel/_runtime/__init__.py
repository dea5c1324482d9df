"""Run time of compiled code, without the compiler.

In: arguments, and what the compiler has found out or a cache entry holds. Out: results as NumPy
gives them.

`arguments` makes the key of a call and tensors of its arrays, `guards` what else a capture depends
on. `plan` says what a call does, `emit` writes it as lines of Python, `runner` makes a function of
them; loops make calls on tensors of the same lines. `artifacts` keeps compiled signatures on
disk. `outputs`, `device_transfer`, `host_rng` and `error_translation` serve results, devices,
random numbers and errors. Nothing here imports Dynamo or Inductor: a process that finds its code
on disk needs neither. Read `runner` first.
"""
