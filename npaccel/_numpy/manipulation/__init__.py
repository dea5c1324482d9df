"""Shapes, joins, repetitions, rolls and padding."""
