"""`scipy.fft`, with functions that take tensors."""

from npaccel._scipy.dispatch.mirror import mirror

__all__, __getattr__, __dir__ = mirror("fft")
