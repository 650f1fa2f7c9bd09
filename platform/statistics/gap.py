"""Our error compared with a printed number: the gap between them in logs, and the tests that a verdict rests on."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from longwave.platform.statistics.printed import MEANS, Noise, Printed
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.stats import Estimate, mean_std, t_quantile

Word = Literal["reproduced", "consistent", "better", "worse", "undecided"]
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
class PlainGap:
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

    def half_interval(self, n: int, level: float) -> float:
        """Return half of Student's interval of the difference with ``n`` seeds of ours."""
        error = math.hypot(self.std / math.sqrt(n), self.theirs / math.sqrt(self.runs))
        return t_quantile(n - 1, (1 + level) / 2) * error

    def is_below(self, n: int, level: float) -> bool:
        """Return whether our mean is significantly below the printed one with ``n`` seeds."""
        return self.mean - self.low < -self.half_interval(n, level)

    def is_above(self, n: int, level: float) -> bool:
        """Return whether our mean is significantly above the printed one with ``n`` seeds."""
        return self.mean - self.high > self.half_interval(n, level)


@dataclass(frozen=True)
class Gap:
    """Our error compared with a printed number, in logs.

    Attributes:
        log_ratio, low, high: Ours minus the printed one, and minus both ends of its rounding range.
        noise: Distribution of the log ratio by chance.
        best_seed, worst_seed: Our best and our worst seed minus our typical error.
        plain: The comparison without logs, for a mean.
        margin, full_margin: Log of the ratio within which the number counts as met; the full one ignores trivial
            predictors.
    """

    log_ratio: float
    low: float
    high: float
    noise: Noise
    best_seed: float
    worst_seed: float
    plain: PlainGap
    margin: float
    full_margin: float

    def remove_noise(self, noise: tuple[float, float]) -> tuple[float, float]:
        """Return the interval of the log ratio without one of ``noise``, with the rounding of the printed number."""
        return self.low - noise[1], self.high - noise[0]

    def is_within_margin(self, noise: tuple[float, float]) -> bool:
        """Return whether that interval lies within the margin."""
        low, high = self.remove_noise(noise)
        return -self.margin < low and high < self.margin

    def is_reproduced(self, n: int) -> bool:
        """Return whether our typical error is within the margin of the paper's, with the noise of both."""
        return self.noise.kind in REPEATED and self.is_within_margin(self.noise.gap(n, 0.9))

    def is_consistent(self, n: int) -> bool:
        """Return whether our typical error is within the margin of the printed number, with our noise."""
        return self.is_within_margin(self.noise.own(n, 0.9))

    def better_or_worse(self, n: int) -> Literal["better", "worse"] | None:
        """Return whether our typical error is significantly better or worse than the printed one; None if neither."""
        if self.noise.kind in MEANS:
            better, worse = self._means_apart(n)
        else:
            low, high = self.remove_noise(self.noise.gap(n, 0.95))
            better, worse = high < 0, low > 0
        if self.noise.kind in RUNS:
            half, shift = self.noise.one_run(n, 0.95), self.noise.shift
            better = better and self.high - shift < -half and self.high + self.worst_seed < 0
            worse = worse and self.low - shift > half and self.low + self.best_seed > 0
        return "worse" if worse else "better" if better else None

    def _means_apart(self, n: int) -> tuple[bool, bool]:
        """Return whether our mean is significantly below the printed one, and above: by logs and without logs."""
        has_std = self.noise.relative is not None
        if self.noise.observed > CARRIED:
            return False, False
        largest = max(self.noise.spread, self.noise.theirs)
        level = 0.95 if has_std else 0.99
        below = self.high < -self.noise.mean_half(n, level, largest) and self.plain.is_below(n, level)
        above = self.low > self.noise.mean_half(n, 0.95, largest) and self.plain.is_above(n, 0.95)
        return below and (has_std or n >= UNSEEN), above

    def verdict_word(self, n: int) -> Word:
        """Return the verdict with ``n`` seeds of the observed gap and variance."""
        if self.is_reproduced(n):
            return "reproduced"
        return "consistent" if self.is_consistent(n) else self.better_or_worse(n) or "undecided"

    def seeds_to_decide(self, n: int) -> int | None:
        """Return the smallest number of seeds above ``n`` that decides; None if ``MOST_SEEDS`` do not."""
        decided = (self.is_consistent, lambda seeds: self.better_or_worse(seeds) is not None)
        return min(filter(None, (least_seeds(n, decides) for decides in decided)), default=None)

    def error_ratio(self, n: int) -> Estimate | None:
        """Return the ratio of errors with its 90 % interval; None if it overflows."""
        noise = replace(self.noise, kind="one run") if self.noise.kind == "unlabelled" else self.noise
        low, high = self.remove_noise(noise.gap(n, 0.9)) if n > 1 else (-math.inf, math.inf)
        expected = self.log_ratio - noise.expected
        if expected > LARGEST:
            return None
        return (
            Estimate(math.exp(expected), math.exp(low), math.exp(high))
            if high < LARGEST
            else Estimate(math.exp(expected))
        )


def compare_with_printed(
    ended: Sequence[float], printed: Printed, scale: Scale, margin: float, trivial: float | None
) -> Gap:
    """Return the comparison of our seeds that ended with a printed number; all errors are above 0."""
    errors = scale.errors(ended)
    middle, spread = mean_std([math.log(error) for error in errors])
    mean, std = mean_std(errors)
    error, half, runs = scale.error(printed.value), printed.rounding or 0.0, printed.n or 1
    relative = None if printed.std is None else printed.std / error
    noise = Noise(printed.kind, runs, relative, spread or 0.0, scale.floor / math.exp(middle))
    lowest, highest = sorted(scale.error(printed.value + side) for side in (-half, half))
    low, high = (math.log(end) if end > 0 else -math.inf for end in (lowest, highest))
    ours = max(std or 0.0, scale.floor)
    # Without a printed std, ours is used.
    theirs = ours if printed.std is None else max(printed.std, (std or 0.0) / mean * error)
    plain = PlainGap(mean, ours, lowest, highest, theirs, runs)
    full_margin = width = math.log(margin)
    if trivial is not None and (beaten := scale.error(trivial)) > 0:
        trivial_log = math.log(beaten)
        width = min(full_margin, max(trivial_log - high, low - trivial_log, 0.0) / 4)
    typical = middle + noise.shift
    best, worst = (math.log(end) - typical for end in (min(errors), max(errors)))
    return Gap(typical - math.log(error), typical - high, typical - low, noise, best, worst, plain, width, full_margin)


def least_seeds(n: int, decides: Callable[[int], bool]) -> int | None:
    """Return the smallest number of seeds above ``n`` that decides; None if ``MOST_SEEDS`` do not."""
    if n >= MOST_SEEDS or not decides(MOST_SEEDS):
        return None
    return n + 1 + bisect_left(range(n + 1, MOST_SEEDS), True, key=decides)
