"""Estimators on DTensors: each rank reduces its part, and what is fitted is scikit-learn's.

`calls` first: it says which methods are computed so. Others are computed on whole arrays, on each
rank, and `report_` says so. The modules beside it have kernels, which `npaccel.jit` compiles for
each rank's part.
"""
