"""Graphs on sharded arrays: what a rank computes of a captured graph, and what goes between ranks.

`compile` first, then `partitioner`, which asks `rules` along which axes an operation may be cut.
"""
