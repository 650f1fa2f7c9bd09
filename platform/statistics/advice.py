"""How many seeds it takes to rank so many models."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count

from longwave.platform.statistics.ranking import GUARD

POWER = 0.8
"""Chance to find a difference that a number of seeds must give to be called enough."""
CLEAR = 3.0
"""A difference worth ranking, in standard deviations between seeds: a seed is then better in 98 cases of 100."""


def advice(models: int, seeds: int) -> str:
    """Return one sentence: which differences so many seeds find between so many models, and how many find more.

    Empty where fewer than two models ask for no rank.

    Raises:
        ValueError: As ``power``.
    """
    if models < 2:
        return ""
    enough = enough_seeds(models)
    gap = detectable(models, seeds)
    if gap is None:
        return (
            f"{seeds} seed{'s' * (seeds > 1)} cannot rank {models} models, whatever they differ by: it takes {enough}."
        )
    sees = f"differences from {gap:.1f} standard deviations on are found in {100 * POWER:g} % of cases"
    if seeds >= enough:
        return f"{seeds} seeds rank {models} models: {sees}."
    return f"{seeds} seeds hardly rank {models} models: {sees}; {enough} seeds find {CLEAR:g}."


@lru_cache(256)
def enough_seeds(models: int, effect: float = CLEAR) -> int:
    """Return the least number of seeds of each model that finds ``effect``, above 0, with ``POWER``."""
    return next(n for n in count(2) if power(models, n, effect) >= POWER)


@lru_cache(256)
def detectable(models: int, seeds: int) -> float | None:
    """Return the least difference, in standard deviations to .1, that is found with ``POWER``; None above 100."""
    return next((k / 10 for k in range(1, 1001) if power(models, seeds, k / 10) >= POWER), None)


def power(models: int, seeds: int, effect: float, alpha: float = 0.05) -> float:
    """Return the chance that ``ranking.apart`` tells two of ``models`` apart, with ``seeds`` of each.

    By the noncentral t at Holm's first step, for normal logs of one spread: within .1 of the simulated boards of
    ``make honesty``, of which half the models are better. Given the share of one variance in both, t is noncentral with
    2 (n − 1) degrees of freedom, and the test takes n − 1 over the larger share. It is 0 where even complete separation
    passes no guard.

    Args:
        effect: The difference in standard deviations between seeds.

    Raises:
        ValueError: Fewer than two models or seeds.
    """
    if models < 2 or seeds < 1:
        raise ValueError(f"A rank takes two models and a seed of each, got {models} models and {seeds} seeds.")
    pairs = math.comb(models, 2)
    if 2 / math.comb(2 * seeds, seeds) > max(GUARD, alpha / pairs):
        return 0.0
    import numpy as np
    from scipy.special import betaincinv, nctdtr, stdtrit

    half = (seeds - 1) / 2
    share = betaincinv(half, half, (np.arange(32) + 0.5) / 32)
    bound = -stdtrit((seeds - 1) / np.maximum(share, 1 - share), alpha / pairs / 2)
    return float(np.mean(1 - nctdtr(2 * (seeds - 1), effect * math.sqrt(seeds / 2), bound)))
