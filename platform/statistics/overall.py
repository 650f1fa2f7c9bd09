"""Ranks across tasks: one normalised score and one mean rank a row, every task weighing the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from longwave.platform.statistics.median import typical
from longwave.platform.statistics.ranking import standings
from longwave.platform.statistics.stats import Estimate, check_level, check_scores, direction, summary

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from longwave.platform.statistics.scale import Scale, Score

DRAWS = 1000
"""Bootstrap samples: the Monte Carlo error of an interval's width is about 1 %."""
FEWEST_TASKS = 5
"""Tasks from which on a score has an interval: where seeds diverge, that of fewer covers far less than it says."""


def normalised(rows: Sequence[Sequence[Score]], scale: Scale, trivial: float) -> list[list[float]]:
    """Return the scores of one task on a scale that tasks share: 0 at the trivial predictor, 1 at the best median.

    A seed's gain over the trivial predictor is at least 0, and 0 where the seed diverged: one would use the trivial
    predictor in its place. So one exploding seed costs a row one seed, and no score leaves the scale at the bottom.
    The worst row would be a poor zero: it changes with the pool, and one bad row would make all others look alike. A
    seed may lie above 1. Where no row's median is better than the trivial predictor, all scores are 0: what single
    lucky seeds gain is no scale.

    Args:
        rows: Test metrics of each row's seeds; None where a seed diverged.
        trivial: Metric of the best trivial predictor.

    Raises:
        ValueError: As ``median`` for a row, or ``check_scores`` for ``trivial``.
    """
    sign = direction(scale.goal)
    check_scores([trivial])
    best = max((-typical(seeds, scale) - sign * trivial for seeds in rows), default=0.0)
    if best <= 0:
        return [[0.0 for _ in seeds] for seeds in rows]
    return [[0.0 if s is None else max(0.0, sign * (s - trivial)) / best for s in seeds] for seeds in rows]


def overall_score(tasks: Sequence[Sequence[float]], rng: Generator, level: float = 0.95) -> Estimate:
    """Return one row's mean over tasks of its mean over seeds, with a stratified bootstrap interval.

    This is the mean of a bounded gain: its value to a user who falls back on the trivial predictor. It has an interval
    from ``FEWEST_TASKS`` on.

    The bootstrap draws new seeds within each task, from the normal law with the task's mean and std, and takes the
    interval from the quantile of |mean* − mean| / error*: Krishnamoorthy, Lu and Mathew, Computational Statistics and
    Data Analysis 2007. Only the stds are drawn; given them the ratio is normal, which leaves less noise. Drawing from
    the seeds themselves is no good at our n: with 3 seeds the percentile interval covers 75 % to 88 %, and the interval
    of the ratio is up to twice as wide as need be, or infinite. The scale's two anchors count as given.

    Args:
        tasks: Normalised scores of the row's seeds on each task. One task with a single seed leaves no interval.
        rng: Source of all randomness; one of its own for each row makes a row's interval independent of the pool.

    Raises:
        ValueError: No tasks, a level outside (0, 1), or as ``check_scores``.
    """
    check_level(level)
    if not tasks:
        raise ValueError("An overall score needs at least one task.")
    cells = [summary(seeds) for seeds in tasks]
    mean = math.fsum(cell.mean for cell in cells) / len(cells)
    spreads = [cell.std for cell in cells if cell.std is not None]
    if len(spreads) < len(cells) or len(cells) < FEWEST_TASKS:
        return Estimate(mean)
    if not any(spreads):
        return Estimate(mean, mean, mean)
    import numpy as np

    freedom = np.array([cell.n - 1 for cell in cells])
    error = np.array(spreads) / np.sqrt(freedom + 1) / len(cells)
    whole = math.hypot(*error)
    # A drawn variance over the one seen: χ² over its degrees of freedom, and independent of the mean.
    spread = rng.chisquare(freedom, (DRAWS, len(cells))) / freedom
    half = _quantile(np.sqrt(spread @ (error / whole) ** 2), level) * whole
    return Estimate(mean, mean - half, mean + half)


def _quantile(scale: NDArray[float64], level: float) -> float:
    """Return q with P(|Z| ≤ q S) = level for normal Z and S drawn from ``scale``, (draws,), by Newton's method."""
    import numpy as np
    from scipy.special import ndtr, ndtri

    q, step = float(ndtri((1 + level) / 2)), math.inf
    while abs(step) > 1e-6 * q:
        tail = float(np.mean(ndtr(-q * scale))) - (1 - level) / 2
        slope = float(np.mean(scale * np.exp(-((q * scale) ** 2) / 2))) / math.sqrt(2 * math.pi)
        step = tail / slope
        q += step
    return q


def task_ranks(rows: Sequence[Sequence[Score]], scale: Scale) -> list[float]:
    """Return the rank of each row's median on one task, 1 for the best; equal medians share theirs."""
    medians = [typical(seeds, scale) for seeds in rows]
    return [sum(m < median for m in medians) + (1 + medians.count(median)) / 2 for median in medians]


def mean_ranks(
    tasks: Sequence[Sequence[Sequence[Score]]], scales: Sequence[Scale], alpha: float = 0.05
) -> list[Estimate]:
    """Return each row's mean rank over tasks, and the lowest and highest mean rank its rank ranges allow.

    Each task's ranges are taken at alpha over the number of tasks, so that all of them hold together with probability
    1 − alpha. A mean rank may lie outside where a task's ranges, which are about single seeds, and its medians differ.

    Args:
        tasks: For each task, the scores of each row's seeds; the rows are the same in all.
        scales: Of each task.

    Raises:
        ValueError: No tasks, tasks with different numbers of rows, or as ``standings``.
    """
    if len({len(rows) for rows in tasks}) != 1:
        raise ValueError(f"Every task needs all rows, got {[len(rows) for rows in tasks]} rows.")
    ranks = []
    for rows, scale in zip(tasks, scales, strict=True):
        spans = standings(rows, scale, alpha / len(tasks))
        ranks.append([(rank, at.low, at.high) for rank, at in zip(task_ranks(rows, scale), spans, strict=True)])
    return [
        Estimate(*(math.fsum(part) / len(tasks) for part in zip(*row, strict=True))) for row in zip(*ranks, strict=True)
    ]
