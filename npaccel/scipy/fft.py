"""`scipy.fft`, with functions that take tensors."""

from npaccel._scipy._namespace import mirror

__all__, __getattr__, __dir__ = mirror("fft")
