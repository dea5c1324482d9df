"""Passes over captured graphs, before Inductor has them.

In: a graph of NumPy calls, one node each. Out: the same graph with fewer copies and sizes, what is
known of its outputs, or the line at which it can't be compiled rightly.

`passes` lists them in order. `alias_checks` and `read_only_outputs` are about views;
`masked_sizes`, `merge_masks` and `merge_rolls` make graphs cheaper; `early_checks` orders checks
before writes. Read `alias_checks` first.
"""
