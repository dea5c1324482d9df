"""`sklearn.dummy`, accelerated."""

from npaccel._sklearn._namespace import mirror

__all__, __getattr__, __dir__ = mirror("dummy")
