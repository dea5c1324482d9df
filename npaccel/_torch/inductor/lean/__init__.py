"""Kernels without torch's headers: what they need of them is written in front of them.

In: the C++ of a kernel. Out: the same with the parts that it uses, or word that it needs the
headers.

`names` says what a kernel may use, `preamble` writes the text, of which files in `.h` are parts. A
name that a new release of torch generates goes into `names`, and what it means into a part.
"""
