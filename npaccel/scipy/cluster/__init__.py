"""`scipy.cluster`, with functions that take tensors."""

from npaccel.scipy.cluster import hierarchy as hierarchy
from npaccel.scipy.cluster import vq as vq
