"""Functions that take objects of SciPy's own, not arrays."""

from npaccel._scipy.dispatch.table import through_host

through_host(
    "stats.abs stats.exp stats.log stats.truncate stats.order_statistic stats.make_distribution",
    "takes a random variable",
    takes_arrays=False,
)
