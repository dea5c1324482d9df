"""Kernels without torch's headers: what they need of them is written in front of them.

`names` says what a kernel may use, `preamble` writes the text, of which files in `.h` are parts.
A name that a new release of torch generates goes into `names`, and what it means into a part.
"""
