"""How many seeds it takes to rank so many models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import count

from longwave.platform.statistics.few_seeds import ALONE, QUARTILE
from longwave.platform.statistics.ranking import FEW, GUARD, ROOM, hidden_by_luck
from longwave.platform.statistics.ranktest import STEADIER
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import diverged_share

FEW_ITEMS = 2000
"""Test items up to which a board says what another split would change."""
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
        counted = f"{seeds} seed{'s' * (seeds > 1)}"
        return f"With {counted} no difference between {models} models is detected; at least {enough} seeds are needed."
    sees = f"With {seeds} seeds only differences of {gap:.1f} SD or more are detected ({100 * POWER:g} % power)"
    return f"{sees}." if seeds >= enough else f"{sees}; with {enough}, {CLEAR:g} SD."


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

    By Student's t at Holm's first step, for normal logs of one spread: within .1 of the simulated boards of ``make
    honesty``, of which half the models are better. Given the variances of both rows, which are independent of the
    means, the gap is normal. It is 0 where even complete separation passes no guard.

    Args:
        effect: The difference in standard deviations between seeds.

    Raises:
        ValueError: Fewer than two models or seeds.
    """
    if models < 2 or seeds < 1:
        raise ValueError(f"A rank takes two models and a seed of each, got {models} models and {seeds} seeds.")
    pairs, separation = math.comb(models, 2), 2 / math.comb(2 * seeds, seeds)
    few = ROOM * pairs * separation > alpha or seeds < FEW
    if separation > max(GUARD, alpha / pairs):
        return 0.0
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    freedom, others = seeds - 1, models - 2
    drawn = chdtri(freedom, (np.arange(24) + 0.5) / 24) / freedom
    least = 0.0
    if few and others:
        least = ALONE if others == 1 else float(chdtri(freedom, 1 - QUARTILE)) / freedom
        freedom += STEADIER
    a = np.maximum(drawn, least)
    whole = a[:, None] + a
    bound = -stdtrit(freedom * whole / np.maximum(a[:, None], a), alpha / pairs / 2) * np.sqrt(whole / 2)
    return float(np.mean(ndtr(effect * math.sqrt(seeds / 2) - bound)))


def luck_note(rows: Sequence[Sequence[Score]], scale: Scale) -> str:
    """Return a sentence where rows learn or do not and few seeds hide that: how many seeds would do; empty elsewhere.

    Args:
        rows: Test metrics of the seeds of each row of one board, None where one diverged.

    Raises:
        ValueError: As ``hidden_by_luck``.
    """
    pairs, seeds = hidden_by_luck(rows, scale)
    if not pairs:
        return ""
    apart = f"{pairs} pair{'s differ' if pairs > 1 else ' differs'}"
    return (
        f"{apart} in every seed, yet by no more than seeds of other rows differ among each other: so few may show one "
        f"side of a row by luck. Nothing is claimed of them; {seeds} seeds a row would do."
    )


def split_note(accuracy: float, items: int) -> str:
    """Return in a sentence what another split of the test items would change; empty for more than ``FEW_ITEMS``.

    By Clopper and Pearson's interval of a share: how far the draw of independent items alone moves an accuracy.

    Args:
        accuracy: The best median of a board, in %.
        items: Test items, which all seeds of all rows share.
    """
    if not 0 < items <= FEW_ITEMS:
        return ""
    share = diverged_share(round(accuracy * items / 100), items)
    assert share.low is not None and share.high is not None
    return (
        f"All seeds share one split of {items:,} test items: an accuracy of {accuracy:.1f} on it stands for "
        f"{100 * share.low:.1f} to {100 * share.high:.1f} on other splits, as far as items are independent (95 %). No "
        "rank here speaks of those."
    )
