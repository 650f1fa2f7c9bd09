"""Prediction interval of one more seed of a row, and its power against a wrong one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from longwave.platform.statistics.contrast import logs
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.stats import Difference, Summary, summary, t_quantile

LEVEL = 0.95
"""Confidence of the interval."""
WRONG = 1.5
"""Ratio of errors that a re-run should detect."""
LEAST_POWER = 0.1
"""Power below which a re-run inside verifies nothing; a true row falls outside half as often."""


def prediction_interval(scores: Sequence[float], scale: Scale) -> tuple[float, float] | None:
    """Return the prediction interval of one more score at confidence ``LEVEL``: mean ± t·std·√(1 + 1/n) of logs.

    The logs are those of errors; a metric without a positive scale is used without logs. None for a single score, and
    for few equal ones, whose variance is unknown.
    """
    log_errors = logs(scores, scale)
    spread = summary(log_errors or scale.errors(scores))
    if spread.std is None:
        return None
    error = spread.std * math.sqrt(1 + 1 / spread.n)
    interval = Difference(spread.mean, error, spread.n - 1, 2 / (spread.n + 1)).interval(LEVEL)
    if interval is None:
        return None
    # exp overflows above 709. An error below the metric's floor counts as zero.
    errors = [math.exp(min(end, 700.0)) for end in interval] if log_errors else list(interval)
    if scale.goal == "max" and scale.perfect is not None:
        errors = [min(error, scale.perfect) for error in errors]  # no accuracy is negative
    low, high = sorted(scale.score(0.0 if log_errors and e <= scale.floor else e) or 0.0 for e in errors)
    return low, high


def find_interval_factor(scores: Sequence[float], scale: Scale) -> float | None:
    """Return the factor between the typical error and the ends of ``prediction_interval``, above 1. None if there is no
    interval, or the metric has no positive scale.
    """
    spread = _spread(scores, scale)
    return math.exp(min(_half(spread), 700.0)) if spread else None


def find_detection_chance(scores: Sequence[float], scale: Scale, ratio: float) -> float | None:
    """Return the probability that a seed whose errors are ``ratio`` times as large falls outside
    ``prediction_interval``. By the noncentral t, with the observed standard deviation as the true one. None if
    ``reach`` is None.
    """
    spread = _spread(scores, scale)
    if spread is None or spread.std is None:
        return None
    import numpy as np
    from scipy.special import chdtri, ndtr

    freedom = spread.n - 1
    distance = math.log(ratio) / (spread.std * math.sqrt(1 + 1 / spread.n))
    deviations = np.sqrt(chdtri(freedom, (np.arange(1000) + 0.5) / 1000) / freedom)
    bound = t_quantile(freedom, (1 + LEVEL) / 2) * deviations
    return float(np.mean(ndtr(distance - bound) + ndtr(-distance - bound)))


def can_fail(scores: Sequence[float], scale: Scale) -> bool:
    """Return whether a score inside ``prediction_interval`` is evidence, because a wrong one may fall outside."""
    power = find_detection_chance(scores, scale, WRONG)
    return power is None or power >= LEAST_POWER


def _spread(scores: Sequence[float], scale: Scale) -> Summary | None:
    """Return mean, std and number of the logs of errors; None if there are none, or all are equal."""
    log_errors = logs(scores, scale)
    spread = summary(log_errors) if log_errors else None
    return spread if spread and spread.std else None


def _half(spread: Summary) -> float:
    """Return half the width of the prediction interval of one more value."""
    error = (spread.std or 0.0) * math.sqrt(1 + 1 / spread.n)
    low, high = Difference(0.0, error, spread.n - 1, 0.0).interval(LEVEL) or (0.0, 0.0)
    return (high - low) / 2
