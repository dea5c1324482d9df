"""Transforms of captured functions: derivatives and batches.

In: the marks that a traced function has called (`npaccel._runtime.transform_marks`). Out: a graph
in which each region between two marks is one node, whose target applies `torch.func` to the region
without its writes in place. Read `regions` first.
"""
