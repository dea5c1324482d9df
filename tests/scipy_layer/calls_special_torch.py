"""Calls of functions of `scipy.special` that torch has."""

CALLS = {
    "special.erfinv": ["signed_unit", "special", "empty"],
}
