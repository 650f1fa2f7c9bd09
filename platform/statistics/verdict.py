"""Whether our scores reproduce a published number."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from longwave.platform.statistics.printed import MEANS, Noise, Printed, t_quantile
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate, check_scores, mean_std

Word = Literal["reproduced", "consistent", "better", "worse", "undecided"]
ENOUGH = 5
"""Seeds below which a row is provisional."""
FEWEST = 3
"""Fewest seeds that ended for a verdict other than ``undecided``."""
MOST_SEEDS = 1000
"""Largest number of seeds considered: what these do not decide counts as undecidable."""
LARGEST = 700.0
"""Log of the largest ratio that is reported; a float holds up to 709."""
REPEATED = ("mean ± std", "mean", "one run")
"""Kinds of printed numbers that can be ``reproduced``; for the others the statistic is not known."""
RUNS = ("one run", "unlabelled", "mean of several")
"""Kinds that may be a single run: for better or worse, all our seeds must be on one side."""
CARRIED = 0.8
"""Largest standard deviation of our logs at which a mean can be better or worse."""
UNSEEN = 10
"""Fewest seeds to be better than a mean without a std, because fewer may miss bad seeds like theirs."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on our scores against a printed number.

    Attributes:
        word: ``reproduced``: our typical error is significantly within the margin of the paper's, allowing for the
            noise of both. ``consistent``: it is significantly within the margin of the printed number, whichever run
            that came from. ``better``, ``worse``: significantly different, and neither of the above. Else
            ``undecided``.
        ratio: Our error over the printed one, above 1 if ours is worse, with its 90 % interval. Ours is the geometric
            mean of the seeds that ended; against a mean it is the mean of a log-normal distribution, and against a best
            of k our expected best of k. A number without a stated statistic counts as one run, except that the interval
            for a best of several extends from one run to the best of ``SEVERAL``. No interval for one seed; None if no
            ratio exists.
        n, diverged: Number of our seeds that ended, and that diverged.
        kind: Kind of the printed number; see ``Printed.kind``.
        more: Number of our seeds that would decide, with the observed gap and variance; 0 if decided, None if no number
            would.
        limit: Whether more seeds of ours cannot settle it: none would decide, or turn consistent to reproduced.
        why: A sentence for readers on what prevents another verdict; empty if nothing does.
    """

    word: Word
    ratio: Estimate | None
    n: int
    diverged: int
    kind: str
    more: int | None
    limit: bool
    why: str


@dataclass(frozen=True)
class _Plain:
    """Our mean error compared with a printed one without logs: an interval that one bad seed of ours widens.

    Attributes:
        mean, std: Mean and standard deviation of our errors.
        low, high: Range of errors that round to the printed one.
        theirs: Standard deviation of the paper's errors: the printed one, but at least ours rescaled to their mean; or
            ours if none is printed.
        runs: Number of the paper's runs.
    """

    mean: float
    std: float
    low: float
    high: float
    theirs: float
    runs: int

    def half(self, n: int, level: float) -> float:
        """Return half of Student's interval of the difference with ``n`` seeds of ours."""
        error = math.hypot(self.std / math.sqrt(n), self.theirs / math.sqrt(self.runs))
        return t_quantile(n - 1, (1 + level) / 2) * error

    def below(self, n: int, level: float) -> bool:
        return self.mean - self.low < -self.half(n, level)

    def above(self, n: int, level: float) -> bool:
        return self.mean - self.high > self.half(n, level)


@dataclass(frozen=True)
class _Case:
    """Our error compared with a printed number, in logs.

    Attributes:
        gap, low, high: Ours minus the printed one, and minus both ends of its rounding range.
        noise: Distribution of the gap by chance.
        best_seed, worst_seed: Our best and our worst seed minus our typical error.
        plain: The comparison without logs, for a mean.
        margin, full_margin: Log of the ratio within which the number counts as met; the full one ignores trivial
            predictors.
    """

    gap: float
    low: float
    high: float
    noise: Noise
    best_seed: float
    worst_seed: float
    plain: _Plain
    margin: float
    full_margin: float

    def less(self, noise: tuple[float, float]) -> tuple[float, float]:
        return self.low - noise[1], self.high - noise[0]

    def within(self, noise: tuple[float, float]) -> bool:
        low, high = self.less(noise)
        return -self.margin < low and high < self.margin

    def reproduced(self, n: int) -> bool:
        return self.noise.kind in REPEATED and self.within(self.noise.gap(n, 0.9))

    def consistent(self, n: int) -> bool:
        return self.within(self.noise.own(n, 0.9))

    def apart(self, n: int) -> Literal["better", "worse"] | None:
        if self.noise.kind in MEANS:
            better, worse = self._means_apart(n)
        else:
            low, high = self.less(self.noise.gap(n, 0.95))
            better, worse = high < 0, low > 0
        if self.noise.kind in RUNS:
            half, shift = self.noise.one_run(n, 0.95), self.noise.shift
            better = better and self.high - shift < -half and self.high + self.worst_seed < 0
            worse = worse and self.low - shift > half and self.low + self.best_seed > 0
        return "worse" if worse else "better" if better else None

    def _means_apart(self, n: int) -> tuple[bool, bool]:
        """Return whether our mean is significantly below the printed one, and above: by logs and without logs."""
        has_std = self.noise.relative is not None
        if self.noise.spread > CARRIED:
            return False, False
        largest = max(self.noise.spread, self.noise.theirs)
        level = 0.95 if has_std else 0.99
        below = self.high < -self.noise.mean_half(n, level, largest) and self.plain.below(n, level)
        above = self.low > self.noise.mean_half(n, 0.95, largest) and self.plain.above(n, 0.95)
        return below and (has_std or n >= UNSEEN), above

    def word(self, n: int) -> Word:
        if self.reproduced(n):
            return "reproduced"
        return "consistent" if self.consistent(n) else self.apart(n) or "undecided"

    def more(self, n: int) -> int | None:
        """Return the smallest number of seeds above ``n`` that decides; None if ``MOST_SEEDS`` do not."""
        return _least(n, self.consistent) or _least(n, lambda seeds: self.apart(seeds) is not None)


def verdict(
    scores: Sequence[Score], printed: Printed, scale: Scale, margin: float = 1.25, trivial: float | None = None
) -> Verdict:
    """Return the verdict on ``scores``, (n,), None for a diverged seed, against a printed number. With g the log of our
    typical error minus the log of the printed error and s the standard deviation of our logs: ``reproduced`` by two
    one-sided tests at 5 % that g is within ± log ``margin`` (Schuirmann 1987), with the noise of both sides;
    ``consistent`` by the same tests with only our noise; ``better`` and ``worse`` by a two-sided test at 5 %; in this
    order. If the paper prints no std, ours is used. The rounding of the printed number counts against every verdict.
    With a diverged seed, only ``worse`` is possible.

    Against a mean, our mean is used, and better or worse needs two intervals: that of a log-normal distribution, which
    is wide if logs vary much, and that without logs, which is wide if one seed dominates. Neither is given if s is
    above ``CARRIED``. Without a printed std, "better" needs 99 % and ``UNSEEN`` seeds. Against what may be one run, all
    our seeds must be on one side of it.

    Equal scores have no variance for a test. If the metric has a smallest error, s is at least that error over our
    typical one.

    Args:
        scores: The test metric of every planned seed.
        printed: The number, in the unit of the scores; the worst of several runs gets no verdict.
        scale: Scale that turns scores into errors.
        margin: Ratio of errors within which the number counts as met, above 1.
        trivial: Score of the best trivial predictor; the margin is at most a quarter of the way to it, in logs.

    Raises:
        ValueError: The margin is 1 or less, or a score is not finite.
    """
    if not margin > 1:
        raise ValueError(f"A margin is a ratio above 1, got {margin}.")
    ended = [score for score in scores if score is not None]
    n, diverged = len(ended), len(scores) - len(ended)

    def judge(word: Word, ratio: Estimate | None, more: int | None, limit: bool, why: str) -> Verdict:
        return Verdict(word, ratio, n, diverged, printed.kind, more, limit, why)

    divergence = f"{diverged} of {n + diverged} diverged." if diverged else ""
    if reason := _no_ratio(ended, printed, scale):
        return judge("undecided", None, None, False, reason if ended else divergence or reason)
    case = _case(ended, printed, scale, margin, trivial)
    ratio = _ratio(case, n)
    word = case.word(n) if n >= FEWEST else "undecided"
    if divergence:
        is_worse = word == "worse"
        return judge("worse" if is_worse else "undecided", ratio, 0 if is_worse else None, False, divergence)
    if n < FEWEST:
        return judge(word, ratio, FEWEST, False, f"A word needs {FEWEST} seeds that ended.")
    return judge(word, ratio, *_outlook(word, case, n))


def _no_ratio(ended: Sequence[float], printed: Printed, scale: Scale) -> str:
    """Return why our error has no ratio to the printed one; empty if it has."""
    if not ended:
        return "No seed of ours ended."
    if printed.statistic in ("max", "min") and printed.statistic != scale.goal and printed.kind != "one run":
        return "The printed number is the worst of several runs."
    check_scores(ended)
    if scale.perfect is None:
        return "This metric has no score of zero error, so no ratio of errors."
    if scale.error(printed.value) <= 0:
        return "The printed error is zero: no ratio to it exists."
    if min(scale.errors(ended)) <= 0:
        return "A seed of ours has zero error: no ratio of it exists."
    return ""


def _case(ended: Sequence[float], printed: Printed, scale: Scale, margin: float, trivial: float | None) -> _Case:
    """Return the comparison of our seeds that ended with a printed number; all errors are above 0."""
    errors = scale.errors(ended)
    middle, spread = mean_std([math.log(error) for error in errors])
    mean, std = mean_std(errors)
    error, half, runs = scale.error(printed.value), printed.rounding or 0.0, printed.n or 1
    relative = None if printed.std is None else printed.std / error
    noise = Noise(printed.kind, runs, relative, max(spread or 0.0, scale.floor / math.exp(middle)))
    lowest, highest = sorted(scale.error(printed.value + side) for side in (-half, half))
    low, high = (math.log(end) if end > 0 else -math.inf for end in (lowest, highest))
    ours = max(std or 0.0, scale.floor)
    # Without a printed std, ours is used.
    theirs = ours if printed.std is None else max(printed.std, ours / mean * error)
    plain = _Plain(mean, ours, lowest, highest, theirs, runs)
    full_margin = width = math.log(margin)
    if trivial is not None and (beaten := scale.error(trivial)) > 0:
        trivial_log = math.log(beaten)
        width = min(full_margin, max(trivial_log - high, low - trivial_log, 0.0) / 4)
    typical = middle + noise.shift
    best, worst = (math.log(end) - typical for end in (min(errors), max(errors)))
    return _Case(
        typical - math.log(error), typical - high, typical - low, noise, best, worst, plain, width, full_margin
    )


def _ratio(case: _Case, n: int) -> Estimate | None:
    """Return the ratio of errors with its 90 % interval; None if it overflows."""
    noise = replace(case.noise, kind="one run") if case.noise.kind == "unlabelled" else case.noise
    low, high = case.less(noise.gap(n, 0.9)) if n > 1 else (-math.inf, math.inf)
    gap = case.gap - noise.expected
    if gap > LARGEST:
        return None
    return Estimate(math.exp(gap), math.exp(low), math.exp(high)) if high < LARGEST else Estimate(math.exp(gap))


def _outlook(word: Word, case: _Case, n: int) -> tuple[int | None, bool, str]:
    """Return how many seeds would decide, whether none of ours can, and a sentence on that."""
    if word == "consistent":
        if needed := _least(n, case.reproduced):
            return 0, False, f"{needed} of our seeds may show it reproduced."
        return 0, True, f"The printed number is {_called(case.noise)}, so more seeds of ours cannot show it reproduced."
    if word != "undecided":
        return 0, False, ""
    if more := case.more(n):
        return more, False, f"{more} of our seeds would settle it."
    if case.noise.kind in MEANS and case.noise.spread > CARRIED:
        return None, False, f"Our seeds vary too much for a mean to be compared (SD of logs {case.noise.spread:.2g})."
    reason = f"is {_called(case.noise)}"
    if replace(case, low=case.gap, high=case.gap).more(n - 1):
        reason = "is rounded too coarsely"
    elif replace(case, margin=case.full_margin).more(n - 1):
        reason = "lies too close to a trivial predictor"
    return None, True, f"The printed number {reason}, so more seeds of ours cannot settle it."


def _called(noise: Noise) -> str:
    return {
        "mean ± std": f"a mean ± std of {noise.runs}",
        "mean": f"a mean of {noise.runs}",
        "mean of several": "a mean of runs that the paper does not count",
        "one run": "one run",
        "best of k": f"the best of {noise.runs}",
        "best of several": "the best of runs that the paper does not count",
        "unlabelled": "of runs that the paper does not describe",
    }[noise.kind]


def _least(n: int, decides: Callable[[int], bool]) -> int | None:
    """Return the smallest number of seeds above ``n`` that decides; None if ``MOST_SEEDS`` do not."""
    if n >= MOST_SEEDS or not decides(MOST_SEEDS):
        return None
    return n + 1 + bisect_left(range(n + 1, MOST_SEEDS), True, key=decides)
