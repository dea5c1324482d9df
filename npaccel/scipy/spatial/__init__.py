"""`scipy.spatial`, with functions that take tensors: those of ``scipy.spatial.distance``."""

from npaccel.scipy.spatial import distance as distance
