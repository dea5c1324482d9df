"""Subscripts: basic, by arrays, by masks; ``take`` and its relatives."""
