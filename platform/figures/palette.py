"""One fixed colour a model family, the same in the Lab, in every edition and in every figure."""

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
"""By the ``family`` of a model's registration. A test holds that they are told apart with deuteranopia, protanopia and
tritanopia, and seen on white and on the Lab's dark ground."""
NEUTRAL = "#868E97"
"""What is of no family: trivial predictors, models that nobody registered here."""
DIVERGED = "#D9483B"
"""Shares and cells of runs that diverged."""


def family_colour(family: str) -> str:
    """Return the colour of a model family."""
    return FAMILIES.get(family, NEUTRAL)
