"""`scipy.signal`, with functions that take tensors."""

from npaccel._scipy.dispatch.mirror import mirror
from npaccel.scipy.signal import windows as windows

__all__, __getattr__, __dir__ = mirror("signal")
