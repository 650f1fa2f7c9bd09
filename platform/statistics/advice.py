"""Number of seeds needed to rank models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import count

from longwave.platform.statistics.contrast import POWER
from longwave.platform.statistics.few_seeds import ALONE, JUMP, QUARTILE, jumps
from longwave.platform.statistics.ranking import FEW, GUARD, ROOM, hidden_by_luck
from longwave.platform.statistics.ranktest import STEADIER
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import diverged_share
from longwave.platform.wording import describe_count

FEW_ITEMS = 2000
"""Most test items for which a board states the effect of another split."""
FEWEST_PARTED = 5
"""Fewest seeds of a row that can fall into two groups."""
WIDE_JUMP = 0.8
"""``JUMP`` for rows of fewer than ``FEW`` seeds, whose neighbours are far from each other by chance."""
CLEAR = 3.0
"""A difference worth ranking, in standard deviations between seeds: a seed is then better with probability 0.98."""


def advice(models: int, seeds: int) -> str:
    """Return one sentence: the differences between models that this number of seeds detects, and how many seeds are
    enough. Empty for fewer than two models.

    Raises:
        ValueError: As ``power``.
    """
    if models < 2:
        return ""
    enough = enough_seeds(models)
    gap = detectable(models, seeds)
    if gap is None:
        few = describe_count(seeds, "seed")
        return f"With {few} no difference between {models} rows is detected; {enough} seeds detect {CLEAR:g} SD."
    detected = f"With {seeds} seeds only differences of {gap:.1f} SD or more are detected ({100 * POWER:g} % power)"
    return f"{detected}." if seeds >= enough else f"{detected}; with {enough}, {CLEAR:g} SD."


@lru_cache(256)
def enough_seeds(models: int) -> int:
    """Return the smallest number of seeds per model that detects ``CLEAR`` with ``POWER``."""
    return next(n for n in count(2) if power(models, n, CLEAR) >= POWER)


@lru_cache(256)
def detectable(models: int, seeds: int) -> float | None:
    """Return the smallest difference, in standard deviations to .1, that is detected with ``POWER``; None above 100."""
    return next((k / 10 for k in range(1, 1001) if power(models, seeds, k / 10) >= POWER), None)


def power(models: int, seeds: int, effect: float, alpha: float = 0.05) -> float:
    """Return the power of ``ranking.apart`` for two of ``models``, with ``seeds`` of each. Computed from Student's t at
    Holm's first step, for normal logs of equal variance: within .1 of the simulated boards of ``make honesty``, in
    which half of the models are better. Given the variances of both rows, which are independent of the means, the gap
    is normal. It is 0 if even complete separation does not pass the guards.

    Args:
        effect: The difference in standard deviations between seeds.

    Raises:
        ValueError: Fewer than two models, or no seed.
    """
    if models < 2 or seeds < 1:
        raise ValueError(f"A rank takes two models and a seed of each, got {models} models and {seeds} seeds.")
    pairs, separation = math.comb(models, 2), 2 / math.comb(2 * seeds, seeds)
    guarded = ROOM * pairs * separation > alpha or seeds < FEW
    if separation > max(GUARD, alpha / pairs):
        return 0.0
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    freedom, others = seeds - 1, models - 2
    variances = chdtri(freedom, (np.arange(24) + 0.5) / 24) / freedom
    min_variance = 0.0
    if guarded and others:
        min_variance = ALONE if others == 1 else float(chdtri(freedom, 1 - QUARTILE)) / freedom
        freedom += STEADIER
    a = np.maximum(variances, min_variance)
    total = a[:, None] + a
    bound = -stdtrit(freedom * total / np.maximum(a[:, None], a), alpha / pairs / 2) * np.sqrt(total / 2)
    return float(np.mean(ndtr(effect * math.sqrt(seeds / 2) - bound)))


def luck_note(rows: Sequence[Sequence[Score]], scale: Scale) -> str:
    """Return a sentence if few seeds may hide that rows sometimes fail to learn, with the seeds needed; else empty.

    Args:
        rows: Test metrics of the seeds of each row of one board, None for a diverged one.

    Raises:
        ValueError: As ``hidden_by_luck``.
    """
    pairs, seeds = hidden_by_luck(rows, scale)
    if not pairs:
        return ""
    differing = f"{pairs} pair{'s differ' if pairs > 1 else ' differs'}"
    return (
        f"{differing} consistently, but by no more than the seeds of other rows differ among each other. With so few "
        f"seeds that happens by luck, so no difference is claimed; {seeds} seeds a row would be enough."
    )


def parting_note(rows: Sequence[Sequence[Score]], scale: Scale) -> str:
    """Return a sentence on power if the seeds of rows of ``FEWEST_PARTED`` or more fall into two groups; else empty.

    They do if the largest distance of neighbouring seeds, in logs, is at least ``JUMP`` of the row's range, or
    ``WIDE_JUMP`` for few seeds, with a quarter of the seeds on either side: of ten normal seeds in 0.4 % of rows, of
    uniform ones in 2 %; of five in 0.7 % and 1.6 %.

    Args:
        rows: Test metrics of the seeds of each row of one board, None for a diverged one.
        scale: Of the metric.
    """
    import numpy as np

    if scale.perfect is None:
        return ""
    parted = 0
    for row in rows:
        if len(row) < FEWEST_PARTED:
            continue
        seeds = np.array([scale.log_errors(row)])
        [jump], ended = jumps(seeds), seeds[np.isfinite(seeds)]
        share = JUMP if len(row) >= FEW else WIDE_JUMP
        parted += bool(jump > 0 and (np.isinf(jump) or jump >= share * np.ptp(ended)))
    if not parted:
        return ""
    return (
        f"The seeds of {describe_count(parted, 'row')} fall into two groups, as where some learn and others do not. A "
        "row of which 6 of 10 seeds learn differs significantly from one of which none does on 15 % of such boards, "
        "with 20 seeds on 56 %."
    )


def split_note(accuracy: float, items: int) -> str:
    """Return a sentence on the effect of another split of the test items; empty for more than ``FEW_ITEMS``. From
    Clopper and Pearson's interval of a share: the sampling error of an accuracy due to independent items.

    Args:
        accuracy: The best median of a board, in %.
        items: Test items, which all seeds of all rows share.
    """
    if not 0 < items <= FEW_ITEMS:
        return ""
    share = diverged_share(round(accuracy * items / 100), items)
    assert share.low is not None and share.high is not None
    digits = 1 if accuracy < 99 or accuracy == 100 else 2  # only a perfect accuracy is written as 100.0
    here, low, high = (f"{number:.{digits}f}" for number in (accuracy, 100 * share.low, 100 * share.high))
    return (
        f"All seeds share the same {items:,} test items: if these are independent, an accuracy of {here} on them means "
        f"{low} to {high} in general (95 %). Ranks ignore this uncertainty."
    )
