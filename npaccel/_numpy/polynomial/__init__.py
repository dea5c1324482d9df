"""`numpy.polynomial` and the older ``poly*`` functions."""
