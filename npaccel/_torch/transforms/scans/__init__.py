"""Loops in what is transformed: a scan over the body of a loop, an operator with a derivative.

In: the body of a loop, a graph of ATen's calls. Out: ``torch.ops.npaccel.scan``, whose body is
compiled once, whatever the number of iterations.

`body` holds the graph, `operator` is the operator, `rules` its derivative and its batch, `pruning`
takes out what nothing uses, `segments` computes again instead of keeping. Read `body` first.
"""
