"""Functions of `scipy.integrate` on tensors.

In: samples, or a function and where it begins. Out: integrals and solutions, on the same device.

Modules without an underscore declare rows of the table; the others are what they share. `rules`
sums samples, `ivp` solves equations step by step with `_runge_kutta`. Read `rules` first.
"""
