"""A module from which a step reads a number."""

SCALE = 0.5
