"""Dispatch of estimators: the table, the routes, scikit-learn's own classes.

In: a method's call with data. Out: its result, computed on a device or by scikit-learn on the host.

`table` says where a name computes, `estimator` is the mixin of those on a device, `routes` takes a
call where it belongs, `transfers` alone copies between host and device. Read `estimator` first.
"""
