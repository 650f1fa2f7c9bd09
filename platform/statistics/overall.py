"""Scores across tasks: one bounded gain and one mean rank per row, with equal weights of tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median as middle
from typing import TYPE_CHECKING

from longwave.platform.statistics.median import typical
from longwave.platform.statistics.ranking import standings
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate, check_level, check_scores, direction, mean_std, summary

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

DRAWS = 1000
"""Bootstrap samples: the Monte Carlo error of an interval's width is about 1 %."""
FEWEST_TASKS = 5
"""Fewest tasks for an interval of a score: if seeds diverge, its coverage with fewer is far below the level."""


@dataclass(frozen=True)
class TaskScores:
    """The results of one task, for overall scores.

    Attributes:
        name: Name of the task with its variant.
        rows: Test metrics of each model's seeds, None for a diverged one; every task has the same models in order.
        scale: Conversion of scores to errors; its ``perfect`` score is a gain of 1, its ``floor`` half a test item.
        trivial: Metric of the best trivial predictor, a gain of 0.
    """

    name: str
    rows: Sequence[Sequence[Score]]
    scale: Scale
    trivial: float

    @property
    def top(self) -> float:
        """The score with a gain of 1: the perfect one, else the best median of ``rows``."""
        return self.best_median if self.scale.perfect is None else self.scale.perfect

    @property
    def best_median(self) -> float:
        """The best median of ``rows``; the trivial predictor's score if none is finite."""
        error = min((typical(seeds, self.scale) for seeds in self.rows), default=math.inf)
        return self.trivial if math.isinf(error) else -direction(self.scale.goal) * error

    @property
    def why_left_out(self) -> str:
        """Why no gain can be measured here; empty if it can. The best median must exceed the trivial predictor by more
        than one test item, and ``top`` by more than the median of the rows' standard deviations.
        """
        gap = direction(self.scale.goal) * (self.best_median - self.trivial)
        if gap <= 0:
            return "no median is better than the trivial predictor"
        if gap <= 2 * self.scale.floor:
            return f"the best median is within one test item, {2 * self.scale.floor:.3g}, of the trivial predictor"
        ended = ([score for score in seeds if score is not None] for seeds in self.rows)
        stds = [mean_std(scores)[1] for scores in ended if len(scores) > 1]
        noise = middle([std for std in stds if std is not None]) if stds else 0.0
        if self.unit <= noise:
            return f"a gain of 1 is {self.unit:.3g} there, less than the seeds' std, {noise:.3g}"
        return ""

    @property
    def unit(self) -> float:
        """How much better ``top`` is than the trivial predictor: a gain of 1."""
        return direction(self.scale.goal) * (self.top - self.trivial)

    def gains(self, scores: Sequence[Score]) -> list[float]:
        """Return ``unbounded_gains`` in [0, 1].

        So a gain is 0 if the seed diverged or is worse than the trivial predictor, which one would use instead: a
        diverged seed costs a row no more than that seed.

        Raises:
            ValueError: As ``unbounded_gains``.
        """
        return [min(1.0, max(0.0, gain)) for gain in self.unbounded_gains(scores)]

    def unbounded_gains(self, scores: Sequence[Score]) -> list[float]:
        """Return the gain of each score over the trivial predictor: 1 at ``top``, −∞ if diverged; all 0 without a gain
        of 1.

        Raises:
            ValueError: A score or the trivial predictor's is not finite.
        """
        check_scores([self.trivial, *(score for score in scores if score is not None)])
        sign, unit = direction(self.scale.goal), self.unit
        if unit <= 0:
            return [0.0] * len(scores)
        return [-math.inf if score is None else sign * (score - self.trivial) / unit for score in scores]


@dataclass(frozen=True)
class OverallScores:
    """One score per model over tasks.

    Attributes:
        scores: Score of each model, in the order of the rows; empty if no task counts.
        tasks: Names of the tasks that count.
        left_out: Reasons why tasks do not count, by name.
        tops: Score with a gain of 1 on each task that counts and has no perfect score, by name; editions store it.
    """

    scores: Sequence[Estimate]
    tasks: Sequence[str]
    left_out: Mapping[str, str]
    tops: Mapping[str, float]


def overall_scores(tasks: Sequence[TaskScores]) -> OverallScores:
    """Return each model's ``overall_score`` over the tasks that measure a gain, and which tasks do not.

    Raises:
        ValueError: Tasks with different numbers of rows, or as ``TaskScores.gains`` and ``overall_score``.
    """
    import numpy as np

    if len({len(task.rows) for task in tasks}) > 1:
        raise ValueError(f"Every task needs all rows, got {[len(task.rows) for task in tasks]} rows.")
    left_out = {task.name: why for task in tasks if (why := task.why_left_out)}
    counting = [task for task in tasks if task.name not in left_out]
    # One generator per row, so that its interval does not depend on other rows.
    gains = zip(*([task.gains(seeds) for seeds in task.rows] for task in counting), strict=True)
    scores = [overall_score(row, np.random.default_rng(0)) for row in gains]
    tops = {task.name: task.top for task in counting if task.scale.perfect is None}
    return OverallScores(scores, [task.name for task in counting], left_out, tops)


def overall_score(tasks: Sequence[Sequence[float]], rng: Generator, level: float = 0.95) -> Estimate:
    """Return one row's mean over tasks of its mean over seeds, with a stratified bootstrap interval.

    This is the mean of a bounded gain: the value to a user who falls back on the trivial predictor. It has an interval
    from ``FEWEST_TASKS`` tasks on.

    The bootstrap draws new seeds within each task from the normal distribution with the task's mean and std, and takes
    the interval from the quantile of |mean* − mean| / error*: Krishnamoorthy, Lu and Mathew, Computational Statistics
    and Data Analysis 2007. Only the stds are drawn; given them the ratio is normal, which reduces noise. Resampling the
    seeds themselves does not work at our n: with 3 seeds the percentile interval covers 75 % to 88 %, and the interval
    of the ratio is up to twice as wide as necessary, or infinite. The interval is clipped to [0, 1]. Both ends of the
    scale are taken as known.

    Args:
        tasks: Gains of the row's seeds on each task, in [0, 1]. If a task has a single seed, there is no interval.
        rng: Source of all randomness; with one per row, a row's interval is independent of the pool.

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
    total = math.hypot(*error)
    # Drawn over observed variance: χ² over its degrees of freedom, independent of the mean.
    spread = rng.chisquare(freedom, (DRAWS, len(cells))) / freedom
    half = _quantile(np.sqrt(spread @ (error / total) ** 2), level) * total
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half))


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
    """Return the rank of each row's median on one task, 1 for the best; equal medians share the mean rank."""
    medians = [typical(seeds, scale) for seeds in rows]
    return [sum(m < median for m in medians) + (1 + medians.count(median)) / 2 for median in medians]


def mean_ranks(
    tasks: Sequence[Sequence[Sequence[Score]]], scales: Sequence[Scale], alpha: float = 0.05
) -> list[Estimate]:
    """Return each row's mean rank over tasks, and the lowest and highest mean rank that its rank ranges allow. Each
    task's ranges are at alpha over the number of tasks, so that all hold together with probability 1 − alpha. A mean
    rank can be outside its range, because ranges are about single seeds, and the rank is that of the median.

    Args:
        tasks: For each task, the scores of each row's seeds; the rows are the same in all.
        scales: Scale of each task.

    Raises:
        ValueError: No tasks, tasks with different numbers of rows, or as ``standings``.
    """
    if len({len(rows) for rows in tasks}) != 1:
        raise ValueError(f"Every task needs all rows, got {[len(rows) for rows in tasks]} rows.")
    ranks = []
    for rows, scale in zip(tasks, scales, strict=True):
        spans = standings(rows, scale, alpha / len(tasks))
        ranks.append(
            [(rank, standing.low, standing.high) for rank, standing in zip(task_ranks(rows, scale), spans, strict=True)]
        )
    return [
        Estimate(*(math.fsum(part) / len(tasks) for part in zip(*row, strict=True))) for row in zip(*ranks, strict=True)
    ]
