"""Functions that make arrays: of constants, ranges, grids."""
