"""`numpy.vectorize`: functions of single numbers, computed for whole arrays.

In: a function of numbers, and tensors of them. Out: a tensor of its results, in the dtype that
NumPy would give them.

`code` reads the function as a tree, `elements` stands for a number of each element, `calls`
evaluates the tree for all of them and chooses between the ways through it. Read `calls` first.
"""
