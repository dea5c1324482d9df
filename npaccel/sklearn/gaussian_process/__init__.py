"""`sklearn.gaussian_process`, accelerated."""

from npaccel._sklearn.dispatch.mirror import mirror

__all__, __getattr__, __dir__ = mirror("gaussian_process")
