"""`sklearn.cross_decomposition`, accelerated."""

from npaccel._sklearn._namespace import mirror

__all__, __getattr__, __dir__ = mirror("cross_decomposition")
