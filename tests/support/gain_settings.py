"""A module that a step reads a number of."""

SCALE = 0.5
