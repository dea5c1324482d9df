"""`sklearn.ensemble`, accelerated."""

from npaccel._sklearn._namespace import mirror

__all__, __getattr__, __dir__ = mirror("ensemble")
