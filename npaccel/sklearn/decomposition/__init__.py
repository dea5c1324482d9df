"""`sklearn.decomposition`, accelerated."""

from npaccel._sklearn.dispatch.mirror import mirror

__all__, __getattr__, __dir__ = mirror("decomposition")
