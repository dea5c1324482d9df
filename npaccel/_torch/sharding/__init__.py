"""Graphs on sharded arrays: what a rank computes of a captured graph, and what goes between ranks.

In: a graph of whole arrays, and how its inputs are sharded. Out: the graph of one rank, with
collectives, compiled.

`compile` first, then `partitioner`, which asks `rules` along which axes an operation may be cut.
`layout` says what a rank has of an array, `reducers` combine what ranks have computed.
"""
