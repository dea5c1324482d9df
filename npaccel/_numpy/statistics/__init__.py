"""Reductions, cumulative functions, quantiles, histograms, sorting and sets.

Read `sorting` as an example of a module of rows.
"""
