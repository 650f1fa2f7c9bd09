"""Whether our scores reproduce a number that a paper prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from longwave.platform.statistics.stats import Difference, Summary, check_level, difference, direction, summary
from longwave.platform.statistics.trajectory import expected_best

Word = Literal["reproduced", "better", "worse", "undecided"]
ENOUGH = 5
"""Scores below which nothing is called reproduced: 5 tell a printed run 3.1 std away apart, 3 not one 4.9 std away."""
CLOSE = 2.0
"""Standard deviations within which a printed number is reproduced."""
MOST = 100
"""Runs that a paper has made at most which prints the best of it does not say how many."""
MARGIN = 2.0
"""Standard deviations by which we may be better than a paper without anybody asking why."""


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it.

    Attributes:
        value: In the unit of our scores.
        statistic: What it is of the paper's runs: ``mean``, ``best``, ``min``, ``max``, or any other word.
        std, n: Standard deviation and number of those runs, where printed.
    """

    value: float
    statistic: str = "mean"
    std: float | None = None
    n: int | None = None

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit of ``value``; a trailing zero in print is lost in a float."""
        return 10.0 ** int(Decimal(str(self.value)).as_tuple().exponent) / 2


@dataclass(frozen=True)
class Verdict:
    """How our scores stand to a printed number.

    Attributes:
        word: ``better`` or ``worse`` where they are told apart, else ``reproduced`` or, with few scores, ``undecided``.
        gap: How much better ours is, in our standard deviations; None without one.
        ours: The number of ours that was compared.
        basis: What it is: ``"mean"``, ``"expected best of 10"``.
        alike: Whether it is the same statistic as the printed one.
        n, printed_n: Scores on both sides; None where the paper does not say.
        too_good: We are surely more than ``MARGIN`` standard deviations better: look for a leak or another metric.
    """

    word: Word
    gap: float | None
    ours: float
    basis: str
    alike: bool
    n: int
    printed_n: int | None
    too_good: bool


def verdict(scores: Sequence[float], printed: Printed, goal: str, level: float = 0.95) -> Verdict:
    """Return how ``scores``, (n,), stand to a printed number.

    The question is whether both could come from the same procedure. What a paper does not print is filled in its
    favour: its std is ours, its number is that of one run. So with one printed run a difference counts only outside
    our prediction interval, and more seeds of ours cannot turn a lucky run of theirs into a failure of ours. A
    difference that rounding the printed number explains does not count either.

    An extreme of n runs is compared with our expected extreme of n, which varies less than one run. Where we have
    fewer scores, or n is unknown, ours is less extreme by an unknown amount: our best of few can be better than their
    best of many, but is worse only if none of their runs, ``MOST`` where n is unknown, could be as good: if the chance
    that one is, times their number, is small still.

    Inside the interval it is ``reproduced`` within ``CLOSE`` of the larger standard deviation, with enough scores; what
    lies further could be chance, but scores that scatter so widely repeat nothing: ``undecided``.

    ``too_good`` is a one-sided test, as in MLPerf's reference convergence points, but against a gain of ``MARGIN``
    of the larger standard deviation: an honest repetition passes MLPerf's own threshold in one case of twenty.

    Raises:
        ValueError: As ``check_scores``, another goal than max or min, or a level outside (0, 1).
    """
    sign, ours = direction(goal), summary(scores)
    check_level(level)
    value, basis, alike, barred = _counterpart(scores, ours.mean, printed, goal)
    gap = _difference(Summary(sign * value, ours.std, ours.n), printed, sign)
    one = _difference(Summary(sign * ours.mean, ours.std, ours.n), printed, sign)
    beyond = one is not None and one.p_value * (printed.n or MOST) <= 1 - level
    return Verdict(
        word=_word(gap, ours.n, max(ours.std or 0.0, printed.std or 0.0), None if beyond else barred, level),
        gap=sign * (value - printed.value) / ours.std if ours.std else None,
        ours=value,
        basis=basis,
        alike=alike,
        n=ours.n,
        printed_n=printed.n,
        too_good=barred != "better" and _too_good(gap, max(ours.std or 0.0, printed.std or 0.0), level),
    )


def _extreme(printed: Printed, goal: str) -> str | None:
    """Return ``"max"`` or ``"min"`` where the printed number is the extreme of several runs."""
    return {"best": goal, "max": "max", "min": "min"}.get(printed.statistic)


def _counterpart(
    scores: Sequence[float], mean: float, printed: Printed, goal: str
) -> tuple[float, str, bool, Word | None]:
    """Return our number to compare, what it is, whether it is the printed statistic, and the word it cannot decide."""
    extreme = _extreme(printed, goal)
    if extreme is None:
        return mean, "mean", printed.statistic == "mean", None
    barred: Word = "worse" if extreme == goal else "better"
    if printed.n is None:
        return mean, "mean", False, barred
    k = min(printed.n, len(scores))
    value = expected_best(scores, extreme)[k - 1].value
    return value, f"expected {printed.statistic} of {k}", k == printed.n, None if k == printed.n else barred


def _difference(ours: Summary, printed: Printed, sign: int) -> Difference | None:
    """Return how much better ours is, where either side's spread is known; the smaller by what rounding explains."""
    one_run = _extreme(printed, "max") is not None or not printed.n
    n = 1 if one_run or not printed.n else printed.n
    theirs = Summary(sign * printed.value, printed.std if n > 1 else None, n)
    gap, known = difference(ours, theirs), theirs if ours.std is None else ours
    if gap is None and known.std is not None:
        error = known.std * math.sqrt(1 / ours.n + 1 / n)
        gap = Difference(ours.mean - theirs.mean, error, known.n - 1, 2 / math.comb(ours.n + n, n))
    if gap is None:
        return None
    return replace(gap, value=math.copysign(max(0.0, abs(gap.value) - printed.rounding), gap.value))


def _word(gap: Difference | None, n: int, std: float, barred: Word | None, level: float) -> Word:
    if gap is None:
        return "undecided"
    if gap.p_value <= 1 - level:
        word: Word = "better" if gap.value > 0 else "worse"
        return "undecided" if word == barred else word
    same = gap.value == 0 or abs(gap.value) <= CLOSE * std
    return "reproduced" if n >= ENOUGH and same else "undecided"


def _too_good(gap: Difference | None, std: float, level: float) -> bool:
    """Return whether a one-sided test, by the noncentral t, says that we are over ``MARGIN`` deviations better."""
    if gap is None:
        return False
    if not gap.error:
        return gap.value > 0 and gap.p_value / 2 <= 1 - level
    from scipy.special import nctdtr

    return bool(nctdtr(gap.freedom, MARGIN * std / gap.error, gap.value / gap.error) >= level)
