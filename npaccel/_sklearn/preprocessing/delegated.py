"""Transformers that scikit-learn's own code computes on tensors."""

from __future__ import annotations

from npaccel._sklearn.dispatch.table import delegated

# Its code takes tensors (scikit-learn 1.9), which its tags don't say.
delegated("preprocessing.MaxAbsScaler")
