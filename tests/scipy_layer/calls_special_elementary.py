"""Calls of functions of `scipy.special` that are made of elementary ones."""

CALLS = {
    "special.exprel": ["x", "special", "empty", "zero_d"],
}
