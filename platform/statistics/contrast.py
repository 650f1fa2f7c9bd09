"""Comparison of two rows: probability of being better, ratio of errors, decision, and seeds needed for one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from longwave.platform.statistics.ranking import decide
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Difference, Estimate, check_level, difference, summary, t_quantile
from longwave.platform.wording import describe_count

Decision = Literal["better", "worse", "equivalent", "undecided"]
POWER = 0.8
"""Power from which on a number of seeds counts as enough."""
LIMIT = 100
"""Largest number of further seeds that is considered."""
EFFICIENCY = 3 / math.pi
"""Asymptotic relative efficiency of a rank test against Student's, for normal scores. Source: Hodges and Lehmann,
Ann. Math. Statist. 1956."""


@dataclass(frozen=True)
class Contrast:
    """The first of two rows compared with the second.

    Attributes:
        improvement: Probability that one of its seeds is better than one of the other's.
        ratio: Its error over the other's, geometric means of the seeds that ended; see ``ratio``.
        decision: Result of the guarded rank test of this pair, and of the margin if there is one.
        more: Approximate number of seeds to add to each row for a decision; 0 if decided, None if above ``LIMIT``.
    """

    improvement: Estimate
    ratio: Estimate | None
    decision: Decision
    more: int | None

    @property
    def hint(self) -> str:
        """What would settle the comparison, in words; empty if decided."""
        if self.decision != "undecided":
            return ""
        if self.improvement.low is None:
            return "one seed cannot decide"
        if self.more is None:
            return f"even {LIMIT} more seeds would not decide"
        return f"about {describe_count(self.more, 'more seed')}"


def contrast(
    a: Sequence[Score], b: Sequence[Score], scale: Scale, margin: float | None = None, level: float = 0.95
) -> Contrast:
    """Compare the scores ``a``, (n,), with the scores ``b``, (m,); a diverged seed is worse than any other.

    Two rows are ``equivalent`` if two one-sided tests at 1 − level show that the ratio is in 1/margin … margin. This
    takes precedence, because a difference can be significant and still too small to matter. With a diverged seed, rows
    are never equivalent.

    Args:
        margin: Ratio of errors that makes no difference, above 1; None: every difference counts.

    Raises:
        ValueError: As ``improvement``, a margin of 1 or less, or a level outside (0, 1); with a margin, outside (½, 1).
    """
    check_level(level)
    if margin is not None and level <= 0.5:
        raise ValueError(f"With a margin the level must be above 0.5, got level={level}.")
    if margin is not None and not 1 < margin < math.inf:
        raise ValueError(f"A margin is a ratio of errors above 1, got margin={margin}.")
    if None in (*a, *b):
        margin = None
    probability = improvement(a, b, scale, level)
    inner = ratio(a, b, scale, 2 * level - 1) if margin else None
    decision: Decision = "equivalent" if within(inner, margin) else decide(a, b, scale, 1 - level)
    return Contrast(
        improvement=probability,
        ratio=ratio(a, b, scale, level),
        decision=decision,
        more=0 if decision != "undecided" else more_seeds(a, b, scale, margin, level),
    )


def within(ratio: Estimate | None, margin: float | None) -> bool:
    """Return whether the interval of a ratio is inside 1/margin … margin; False if either is unknown."""
    if ratio is None or ratio.low is None or ratio.high is None or margin is None:
        return False
    return 1 / margin <= ratio.low and ratio.high <= margin


def improvement(a: Sequence[Score], b: Sequence[Score], scale: Scale, level: float = 0.95) -> Estimate:
    """Return the probability that a seed of ``a`` is better than one of ``b``, ties counting half.

    The estimate θ is Mann and Whitney's share of pairs; two diverged seeds tie. Its variance is at most θ (1 − θ) /
    min(n, m) for any two distributions (Birnbaum and Klose, Annals of Mathematical Statistics 1957), as if only min(n,
    m) independent pairs had been compared; the interval is Wilson's score interval with that variance. With 3, 5 or 10
    seeds, spreads up to 1 : 4 and up to two seeds of five diverged it covers 93 % to 100 % for θ from
    0.1 to 0.9, and 91 % at worst beyond. There is no interval if either row has one seed.

    Raises:
        ValueError: Either row has no seed, a score is not finite, or the level is outside (0, 1).
    """
    ours, theirs = (scale.errors(check(side)) for side in (a, b))
    smaller = min(len(ours), len(theirs))
    wins = sum((x < y) + 0.5 * (x == y) for x in ours for y in theirs)
    share = float(wins / (len(ours) * len(theirs)))
    if smaller < 2:
        return Estimate(share)
    z = _normal((1 + check_level(level)) / 2) / math.sqrt(smaller)
    middle = share + z * z / 2
    half = z * math.sqrt(share * (1 - share) + z * z / 4)
    return Estimate(share, max(0.0, (middle - half) / (1 + z * z)), min(1.0, (middle + half) / (1 + z * z)))


def ratio(a: Sequence[Score], b: Sequence[Score], scale: Scale, level: float = 0.95) -> Estimate | None:
    """Return the error of ``a`` over that of ``b``, geometric means of the seeds that ended; above 1: ``a`` is worse.

    The interval is Welch's on logs, with cautious degrees of freedom (``difference``), without diverged seeds. None if
    no seed of a row ended, or the metric has no positive scale.
    """
    ours, theirs = logs(a, scale), logs(b, scale)
    if not ours or not theirs:
        return None
    first, second = summary(ours), summary(theirs)
    gap = difference(first, second, cautious=True)
    return factor(first.mean - second.mean, gap.interval(level) if gap else None)


def logs(scores: Sequence[Score], scale: Scale) -> list[float]:
    """Return the logs of the errors of the seeds that ended; none if an error is not positive on this scale."""
    errors = [scale.error(score) for score in scores if score is not None]
    if scale.perfect is None or min(errors, default=0.0) <= 0:
        return []
    return [math.log(error) for error in errors]


def more_seeds(
    a: Sequence[Score], b: Sequence[Score], scale: Scale, margin: float | None = None, level: float = 0.95
) -> int | None:
    """Return the smallest number of seeds to add to each row for a decision with 80 % power; None above 100. The power
    assumes the observed means and standard deviations of logs, see ``chance``; if a seed diverged and neither row is
    better in all pairs, the observed share of pairs, by Noether's formula (Journal of the American Statistical
    Association 1987). Of a row that diverged wholly, ranks take as many seeds as the smaller row has. All of this is
    uncertain, so the number is only a guide. None also if a row has one seed.
    """
    if (fewest := min(len(a), len(b))) < 2:
        return None
    share = improvement(a, b, scale).value
    sizes = [(more, len(a) + more, len(b) + more) for more in range(1, LIMIT + 1)]
    if None in (*a, *b) and 0 < share < 1:
        away, required = abs(share - 0.5), _normal((1 + level) / 2) + _normal(POWER)
        return next((k for k, n, m in sizes if math.sqrt(12 * n * m / (n + m)) * away >= required), None)
    if not any(score is not None for score in a) or not any(score is not None for score in b):
        return next((k for k, _, _ in sizes if 2 / math.comb(2 * (fewest + k), fewest + k) <= 1 - level), None)
    first, second = map(summary, _values(a, b, scale))
    if None in (*a, *b) or not (logs(a, scale) and logs(b, scale)):
        margin = None  # it is a factor between errors
    gaps = ((k, difference(replace(first, n=n), replace(second, n=m), cautious=True)) for k, n, m in sizes)
    return next((k for k, gap in gaps if gap and chance(gap, margin, level) >= POWER), None)


def chance(gap: Difference, margin: float | None = None, level: float = 0.95) -> float:
    """Return the probability of a decision if ``gap``, of logs, is the truth. The rank test is approximated by
    Student's t with ``EFFICIENCY`` of the seeds, by the noncentral t, and only with as many seeds as an exact rank test
    needs to reject at all.
    """
    edge = math.log(margin) if margin else -math.inf
    if not gap.error:
        return float(gap.p_value <= 1 - level or abs(gap.value) <= edge)
    decided = 0.0
    if gap.separation <= 1 - level:
        ranks = replace(gap, error=gap.error / math.sqrt(EFFICIENCY))
        decided = _surely_above(ranks, 0.0, level) + _surely_above(replace(ranks, value=-gap.value), 0.0, level)
    if not margin:
        return decided
    inner = 2 * level - 1
    inside = _surely_above(gap, -edge, inner) + _surely_above(replace(gap, value=-gap.value), -edge, inner) - 1
    return min(1.0, decided + max(0.0, inside))


def check(scores: Sequence[Score]) -> Sequence[Score]:
    """Return ``scores`` after checking them.

    Raises:
        ValueError: There are none, or one is not finite; a diverged seed is None.
    """
    if not scores:
        raise ValueError("A row needs at least one seed to be compared.")
    bad = [i for i, score in enumerate(scores) if score is not None and not math.isfinite(score)]
    if bad:
        raise ValueError(f"Scores must be finite, a diverged seed None; not finite at positions {bad}.")
    return scores


def _surely_above(gap: Difference, bound: float, level: float) -> float:
    """Return the probability that the interval is above ``bound`` if ``gap`` is the truth."""
    from scipy.special import nctdtr

    t = t_quantile(gap.freedom, (1 + level) / 2)
    return 1 - float(nctdtr(gap.freedom, (gap.value - bound) / gap.error, t))


def _values(a: Sequence[Score], b: Sequence[Score], scale: Scale) -> tuple[list[float], list[float]]:
    """Return the values for Welch's test: logs of errors, or errors if either row has no logs. A diverged seed counts
    as the worst of its pair.
    """
    sides = [logs(row, scale) for row in (a, b)]
    if not all(sides):
        sides = [scale.errors([score for score in row if score is not None]) for row in (a, b)]
    worst = max(map(max, sides))
    ours, theirs = ([*side, *[worst] * row.count(None)] for side, row in zip(sides, (a, b), strict=True))
    return ours, theirs


def _normal(p: float) -> float:
    """Return z with P(Z ≤ z) = p."""
    from scipy.special import ndtri

    return float(ndtri(p))


def factor(value: float, interval: tuple[float, float] | None) -> Estimate:
    """Return a gap of logs and its interval as a ratio."""
    # The interval of two very different seeds can exceed the largest float, about e to the power of 709.
    return Estimate(*(math.exp(max(-700.0, min(700.0, end))) for end in (value, *(interval or ()))))
