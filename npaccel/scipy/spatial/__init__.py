"""`scipy.spatial`, with functions and classes that take tensors."""

from npaccel._scipy.dispatch.mirror import mirror
from npaccel.scipy.spatial import distance as distance

__all__, __getattr__, __dir__ = mirror("spatial")
