"""Loops in Inductor's code.

In: scans, operators whose body is a graph. Out: a loop in the generated module, whose body is
compiled once. Read `scans` first.
"""
