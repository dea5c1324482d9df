"""Calls with sharded arrays, torch's DTensors, in a program that runs once for each rank.

In: a function and DTensors. Out: DTensors, of which each rank has computed its part.

`calls` first: the function is captured for the whole arrays, and each rank compiles its part of the
graph, which `npaccel._torch.sharding` makes. `npaccel._runtime.ranks.agreement` sees to it that
ranks do the same.
"""
