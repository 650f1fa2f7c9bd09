"""One fixed colour per model family, the same in the Lab, in every edition and in every figure."""

from __future__ import annotations

FAMILIES = {
    "multiscale": "#086AA5",
    "oscillator": "#D8580A",
    "gated": "#4AA578",
    "gated scan": "#B762FF",
    "ODE": "#8736D8",
    "delay": "#C961D8",
    "orthogonal": "#A58E4A",
    "plain": "#72634A",
    "message passing": "#8C5723",
    "state space": "#B8009D",
    "attention": "#7B26FE",
}
"""By the ``family`` of a model. A test checks that they are distinguishable with deuteranopia, protanopia and
tritanopia, and visible on white and on the Lab's dark background."""
NEUTRAL = "#868E97"
"""Colour of trivial predictors, and of models without a known family."""
DIVERGED = "#D9483B"
"""Colour of shares and cells of diverged runs."""


def family_colour(family: str) -> str:
    """Return the colour of a model family."""
    return FAMILIES.get(family, NEUTRAL)
