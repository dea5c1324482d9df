"""`numpy.vectorize`: functions of single numbers, computed for whole arrays. Read `calls` first."""
