"""Where one more seed of a row is expected, and what would be noticed of another."""

from __future__ import annotations

import math
from collections.abc import Sequence

from longwave.platform.statistics.contrast import logs
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.stats import Difference, Summary, summary

WRONG = 1.5
"""Ratio of errors that a re-run is to catch."""
LEAST_POWER = 0.1
"""Chance to catch it below which a re-run inside verifies nothing: a true row falls outside in half as many cases."""


def prediction_interval(scores: Sequence[float], scale: Scale, level: float = 0.95) -> tuple[float, float] | None:
    """Return the prediction interval of one more score at confidence ``level``: mean ± t·std·√(1 + 1/n) of logs.

    The logs are those of errors; a metric without a positive scale is taken as it is. None for a single score, and for
    a few that are all equal: they say nothing about the spread.
    """
    known = logs(scores, scale)
    spread = summary(known or scale.errors(scores))
    if spread.std is None:
        return None
    error = spread.std * math.sqrt(1 + 1 / spread.n)
    interval = Difference(spread.mean, error, spread.n - 1, 2 / (spread.n + 1)).interval(level)
    if interval is None:
        return None
    # exp overflows above 709. An error below the metric's floor counts as none.
    errors = [math.exp(min(end, 700.0)) for end in interval] if known else list(interval)
    low, high = sorted(scale.score(0.0 if known and e <= scale.floor else e) or 0.0 for e in errors)
    return low, high


def reach(scores: Sequence[float], scale: Scale, level: float = 0.95) -> float | None:
    """Return the factor between the typical error and the ends of ``prediction_interval``, above 1.

    None where there is no interval, or the metric has no positive scale.
    """
    spread = _spread(scores, scale)
    return math.exp(min(_half(spread, level), 700.0)) if spread else None


def caught(scores: Sequence[float], scale: Scale, ratio: float, level: float = 0.95) -> float | None:
    """Return the chance that a seed whose errors are ``ratio`` times as large falls outside ``prediction_interval``.

    By the noncentral t, if the scatter of the scores is that of their law: given a drawn deviation the gap is normal.
    None where ``reach`` is.
    """
    spread = _spread(scores, scale)
    if spread is None or spread.std is None:
        return None
    import numpy as np
    from scipy.special import chdtri, ndtr, stdtrit

    freedom = spread.n - 1
    away = math.log(ratio) / (spread.std * math.sqrt(1 + 1 / spread.n))
    drawn = np.sqrt(chdtri(freedom, (np.arange(1000) + 0.5) / 1000) / freedom)
    bound = float(stdtrit(freedom, (1 + level) / 2)) * drawn
    return float(np.mean(ndtr(away - bound) + ndtr(-away - bound)))


def can_fail(scores: Sequence[float], scale: Scale) -> bool:
    """Return whether a score inside ``prediction_interval`` says anything: a wrong one would fall outside at times."""
    power = caught(scores, scale, WRONG)
    return power is None or power >= LEAST_POWER


def _spread(scores: Sequence[float], scale: Scale) -> Summary | None:
    """Return mean, std and number of the logs of errors; None where there are none, or they do not spread."""
    known = logs(scores, scale)
    spread = summary(known) if known else None
    return spread if spread and spread.std else None


def _half(spread: Summary, level: float) -> float:
    """Return half of the prediction interval of one more value."""
    error = (spread.std or 0.0) * math.sqrt(1 + 1 / spread.n)
    low, high = Difference(0.0, error, spread.n - 1, 0.0).interval(level) or (0.0, 0.0)
    return (high - low) / 2
