"""`sklearn.feature_selection`, accelerated."""

from npaccel._sklearn.dispatch.mirror import mirror

__all__, __getattr__, __dir__ = mirror("feature_selection")
