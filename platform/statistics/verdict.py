"""Whether our scores reproduce a number that a paper prints."""

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
"""Seeds that ended below which every verdict is ``undecided``."""
MOST_SEEDS = 1000
"""Stands for any number of seeds: what so many do not decide, none would."""
LARGEST = 700.0
"""Log of the largest ratio that is reported; a float holds up to 709."""
REPEATED = ("mean ± std", "mean", "one run")
"""Kinds of printed numbers that can be ``reproduced``: of the others it is not known what they repeat."""
RUNS = ("one run", "unlabelled", "mean of several")
"""Kinds that may be of one run: all our seeds lie on one side of what is better or worse."""
CARRIED = 0.8
"""Standard deviation of our logs up to which they say whether a mean is better or worse."""
UNSEEN = 10
"""Seeds from which on ours are better than a mean without a std: fewer may miss the bad seeds that theirs had."""


@dataclass(frozen=True)
class Verdict:
    """How our scores stand to a printed number.

    Attributes:
        word: ``reproduced``: our typical error is surely within the margin of the paper's, the noise of both counted.
            ``consistent``: it is surely within the margin of the printed number, whatever run that came from.
            ``better``, ``worse``: surely apart, and not surely within the margin. Else ``undecided``.
        ratio: Our error over the printed one, above 1 where ours is worse, with its 90 % interval. Ours is typical, the
            geometric mean of the seeds that ended; against a mean it is the mean of a log-normal law, and against a
            best of k our expected best of k. A number of which
            it is not said what it is counts as one run, except that the interval beside a best of several reaches from
            one run to the best of ``SEVERAL``. No interval for one seed; None where no ratio exists.
        n, diverged: Our seeds that ended, and those that diverged.
        kind: Of the printed number, as ``Printed.kind``.
        more: Seeds of ours that would decide, if gap and scatter stay as seen; 0 where decided, None where none would.
        limit: Whether more seeds of ours cannot settle it: none would decide, or turn consistent to reproduced.
        why: For readers, what keeps the word from being another: a sentence, empty where nothing does.
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
    """Our mean error beside a printed one, as they are: an interval that one bad seed of ours widens.

    Attributes:
        mean, std: Of our errors.
        low, high: What rounds to the printed error.
        theirs: Standard deviation of the paper's errors: the printed one, and at least ours at that size; else ours.
        runs: Of the paper.
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
    """Ours beside a printed number, on logs of errors.

    Attributes:
        gap, low, high: Ours less the printed one, as it stands and at both ends of what rounds to it.
        noise: What chance makes of it.
        least, most: Our best and our worst seed less our typical error.
        plain: Ours as it is, of a mean.
        margin, full_margin: Log of the ratio within which the number counts as met; the full one is far from trivial.
    """

    gap: float
    low: float
    high: float
    noise: Noise
    least: float
    most: float
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
            better = better and self.high - shift < -half and self.high + self.most < 0
            worse = worse and self.low - shift > half and self.low + self.least > 0
        return "worse" if worse else "better" if better else None

    def _means_apart(self, n: int) -> tuple[bool, bool]:
        """Return whether our mean is surely below the printed one, and whether above: by logs and as it is."""
        told = self.noise.relative is not None
        if self.noise.spread > CARRIED:
            return False, False
        wide = max(self.noise.spread, self.noise.theirs)
        level = 0.95 if told else 0.99
        below = self.high < -self.noise.mean_half(n, level, wide) and self.plain.below(n, level)
        above = self.low > self.noise.mean_half(n, 0.95, wide) and self.plain.above(n, 0.95)
        return below and (told or n >= UNSEEN), above

    def word(self, n: int) -> Word:
        if self.reproduced(n):
            return "reproduced"
        return "consistent" if self.consistent(n) else self.apart(n) or "undecided"

    def more(self, n: int) -> int | None:
        """Return the least number of seeds above ``n`` that decide, None where ``MOST_SEEDS`` do not."""
        return _least(n, self.consistent) or _least(n, lambda seeds: self.apart(seeds) is not None)


def verdict(
    scores: Sequence[Score], printed: Printed, scale: Scale, margin: float = 1.25, trivial: float | None = None
) -> Verdict:
    """Return how ``scores``, (n,), None for a diverged seed, stand to a printed number.

    With g the log of our typical error less the log of the printed error and s the standard deviation of our logs:
    ``reproduced`` by two one-sided tests at 5 % that g lies within ± log ``margin`` (Schuirmann 1987), the noise of
    both sides counted; ``consistent`` by the same tests with our noise alone; ``better`` and ``worse`` by a two-sided
    test at 5 %; in this order. Where the paper prints no std, ours stands for it. What rounding the printed number
    hides counts against every word. A diverged seed leaves only ``worse``.

    Beside a mean typical is our mean, and a word needs two intervals: that of a log-normal law, which is wide where
    logs are, and the plain one, which is wide where one seed dominates. Neither word is said where s is above
    ``CARRIED``. Without a printed std, "better" needs 99 % and ``UNSEEN`` seeds. Beside what may be one run all our
    seeds must lie on one side of it.

    Equal scores have no spread to test with. Where the metric has a least error, they are known to that alone, and s
    is at least that error over our typical one.

    Args:
        scores: The test metric of every planned seed.
        printed: In the unit of the scores; the worst of several runs is judged by nobody.
        scale: How scores become errors.
        margin: Ratio of errors within which the number counts as met, above 1.
        trivial: Score of the best trivial predictor; the margin is at most a quarter of the way to it, in logs.

    Raises:
        ValueError: A margin of 1 or less, or a score that is not finite.
    """
    if not margin > 1:
        raise ValueError(f"A margin is a ratio above 1, got {margin}.")
    ended = [score for score in scores if score is not None]
    n, diverged = len(ended), len(scores) - len(ended)

    def judge(word: Word, ratio: Estimate | None, more: int | None, limit: bool, why: str) -> Verdict:
        return Verdict(word, ratio, n, diverged, printed.kind, more, limit, why)

    unlucky = f"{diverged} of {n + diverged} diverged." if diverged else ""
    if reason := _no_ratio(ended, printed, scale):
        return judge("undecided", None, None, False, reason if ended else unlucky or reason)
    case = _case(ended, printed, scale, margin, trivial)
    ratio = _ratio(case, n)
    word = case.word(n) if n >= FEWEST else "undecided"
    if unlucky:
        bad = word == "worse"
        return judge("worse" if bad else "undecided", ratio, 0 if bad else None, False, unlucky)
    if n < FEWEST:
        return judge(word, ratio, FEWEST, False, f"A word needs {FEWEST} seeds that ended.")
    return judge(word, ratio, *_outlook(word, case, n))


def _no_ratio(ended: Sequence[float], printed: Printed, scale: Scale) -> str:
    """Return why our error has no ratio to the printed one; empty where it has."""
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
    """Return the case of our seeds that ended beside a printed number; both have errors above 0."""
    errors = scale.errors(ended)
    middle, spread = mean_std([math.log(error) for error in errors])
    mean, std = mean_std(errors)
    error, half, runs = scale.error(printed.value), printed.rounding or 0.0, printed.n or 1
    relative = None if printed.std is None else printed.std / error
    noise = Noise(printed.kind, runs, relative, max(spread or 0.0, scale.floor / math.exp(middle)))
    least, most = sorted(scale.error(printed.value + side) for side in (-half, half))
    low, high = (math.log(end) if end > 0 else -math.inf for end in (least, most))
    ours = max(std or 0.0, scale.floor)
    # A printed std is theirs; without one ours stands for it, at our size.
    theirs = ours if printed.std is None else max(printed.std, ours / mean * error)
    plain = _Plain(mean, ours, least, most, theirs, runs)
    full_margin = width = math.log(margin)
    if trivial is not None and (beaten := scale.error(trivial)) > 0:
        away = math.log(beaten)
        width = min(full_margin, max(away - high, low - away, 0.0) / 4)
    typical = middle + noise.shift
    best, worst = (math.log(end) - typical for end in (min(errors), max(errors)))
    return _Case(
        typical - math.log(error), typical - high, typical - low, noise, best, worst, plain, width, full_margin
    )


def _ratio(case: _Case, n: int) -> Estimate | None:
    """Return the ratio of errors with its 90 % interval; None beyond all floats."""
    noise = replace(case.noise, kind="one run") if case.noise.kind == "unlabelled" else case.noise
    low, high = case.less(noise.gap(n, 0.9)) if n > 1 else (-math.inf, math.inf)
    gap = case.gap - noise.expected
    if gap > LARGEST:
        return None
    return Estimate(math.exp(gap), math.exp(low), math.exp(high)) if high < LARGEST else Estimate(math.exp(gap))


def _outlook(word: Word, case: _Case, n: int) -> tuple[int | None, bool, str]:
    """Return how many seeds would decide, whether none of ours can, and a sentence on it."""
    if word == "consistent":
        if best := _least(n, case.reproduced):
            return 0, False, f"{best} of our seeds may show it reproduced."
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
    """Return the least number of seeds above ``n`` that decide, None where ``MOST_SEEDS`` do not."""
    if n >= MOST_SEEDS or not decides(MOST_SEEDS):
        return None
    return n + 1 + bisect_left(range(n + 1, MOST_SEEDS), True, key=decides)
