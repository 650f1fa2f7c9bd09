"""All optimisers that a recipe may name, one file each.

May import: torch, models.base.param, longwave.platform.training.optimiser.
To add an optimiser: one file here that binds OPTIMISER = Optimiser(...). It is found automatically; there is no list to
edit.
"""
