"""Derivatives and batches of functions: `npaccel.grad`, `npaccel.vmap` and the like.

In: a function, jitted or not. Out: another function, which is compiled like any, whose body marks
where the given one begins and ends. Read `traced` first; `npaccel._torch.transforms` makes of the
marks what they mean.
"""
