"""Simulated pairs of rows: how often intervals of P(better) and of ratios cover, and whether promised seeds decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from honesty.claims import Line
from honesty.simulated_boards import Case, seeded_generator
from longwave.platform.statistics.contrast import improvement, more_seeds, ratio
from longwave.platform.statistics.paired import paired_contrast
from longwave.platform.statistics.ranking import decide
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate

SCALE = Scale()
COVERED = 0.93
"""Smallest coverage of a 95 % interval."""
SEEDS_SO_FAR = 5
"""Seeds of each row at the time of a promise."""


@dataclass(frozen=True)
class PairLaw:
    """Log-normal errors of two rows.

    Attributes:
        effect: How much worse the second row's logs are on average.
        stds: Standard deviations of both rows' logs.
        diverged: Share of each row's seeds that diverge.
    """

    effect: float
    stds: tuple[float, float] = (1.0, 1.0)
    diverged: tuple[float, float] = (0.0, 0.0)

    @property
    def name(self) -> str:
        """The distribution, in words."""
        lost = f", {self.diverged[0]:.0%} and {self.diverged[1]:.0%} diverge" if any(self.diverged) else ""
        return f"logs {self.effect:g} apart, sd {self.stds[0]:g} and {self.stds[1]:g}{lost}"

    @property
    def better(self) -> float:
        """Probability that a seed of the first row is better; two diverged ones count half."""
        a, b = self.diverged
        ended = NormalDist().cdf(self.effect / math.hypot(*self.stds))
        return (1 - a) * (1 - b) * ended + (1 - a) * b + a * b / 2

    def draw(self, rng: Generator, n: int) -> tuple[list[Score], list[Score]]:
        """Return n seeds of each row."""
        a, b = (
            [None if rng.random() < lost else float(x) for x in np.exp(mean + std * rng.standard_normal(n))]
            for mean, std, lost in zip((0.0, self.effect), self.stds, self.diverged, strict=True)
        )
        return a, b

    def typical(self, n: int) -> tuple[list[Score], list[Score]]:
        """Return n seeds of each row with exactly these shares diverged and the logs' means and deviations."""
        a, b = (
            [*draw_exactly(mean, std, n - round(n * lost)), *[None] * round(n * lost)]
            for mean, std, lost in zip((0.0, self.effect), self.stds, self.diverged, strict=True)
        )
        return a, b


COVERAGE = [
    PairLaw(effect, (1.0, std), diverged)
    for effect in (0.0, 1.8)
    for std in (1.0, 3.0)
    for diverged in ((0.0, 0.0), (0.2, 0.2), (0.4, 0.0))
]
PROMISES = [
    PairLaw(1.5),
    PairLaw(1.0, (1.0, 0.5)),
    PairLaw(2.0, (0.5, 1.5)),
    PairLaw(4.0, diverged=(0.2, 0.2)),
    PairLaw(6.0, diverged=(0.4, 0.4)),
]


def draw_exactly(mean: float, std: float, n: int = SEEDS_SO_FAR) -> list[Score]:
    """Return errors whose logs have exactly this mean and standard deviation."""
    spread = np.arange(n) - (n - 1) / 2
    return list(map(float, np.exp(mean + std * spread / spread.std(ddof=1))))


@dataclass(frozen=True)
class SeedPairLaw:
    """Two rows whose errors share a factor of each seed.

    Attributes:
        name: The distribution.
        unshared: From a generator and a shape, the unshared part of the logs, with median difference 0.
        shared: Standard deviation of the shared part.
        lost: Share of each row's seeds that diverge.
    """

    name: str
    unshared: Callable[[Generator, int], NDArray[Any]]
    shared: float = 1.0
    lost: float = 0.0

    def draw(self, rng: Generator, n: int, effect: float = 0.0) -> tuple[list[Score], list[Score]]:
        """Return n seeds of each row, the first row's logs lower by ``effect``."""
        shared = self.shared * rng.standard_normal(n)
        rows = [shared + self.unshared(rng, n) - effect, shared + self.unshared(rng, n)]
        a, b = ([None if rng.random() < self.lost else float(x) for x in np.exp(row)] for row in rows)
        return a, b


SEED_PAIRS = [
    SeedPairLaw("normal logs, .9 of the spread shared", lambda rng, n: 0.33 * rng.standard_normal(n)),
    SeedPairLaw("normal logs, nothing shared", lambda rng, n: rng.standard_normal(n), 0.0),
    SeedPairLaw("exponential logs, half shared", lambda rng, n: rng.exponential(size=n)),
    SeedPairLaw("learn or not, each by itself", lambda rng, n: 5.0 * (rng.random(n) < 0.5)),
    SeedPairLaw("normal logs, 20 % diverge", lambda rng, n: 0.33 * rng.standard_normal(n), 1.0, 0.2),
]


def pair_cases(cases: int, seeds: Sequence[int] = (3, 5, 10)) -> list[Case]:
    """Return the cases of two rows against each other."""
    covered = [partial(better_covered, law, n, cases) for law in COVERAGE for n in seeds]
    ratios = [partial(ratio_covered, law, n, cases) for law in COVERAGE if not any(law.diverged) for n in seeds]
    seeded = [partial(seeds_paired, law, n, cases) for law in SEED_PAIRS for n in (5, 10, 20)]
    return [*covered, *ratios, *seeded, *(partial(check_promised_seeds, law, cases // 4) for law in PROMISES)]


def better_covered(law: PairLaw, n: int, cases: int) -> list[Line]:
    """Return how often the interval of P(better) contains the law's value."""
    rng = seeded_generator(law.name, n)
    share = sum(_is_inside(improvement(*law.draw(rng, n), SCALE), law.better) for _ in range(cases)) / cases
    return [_coverage_line(f"P(better) {law.better:.2f}: {law.name}, n {n}", share, cases)]


def ratio_covered(law: PairLaw, n: int, cases: int) -> list[Line]:
    """Return how often the interval of the ratio contains the law's value."""
    rng, truth = seeded_generator("ratio", law.name, n), math.exp(-law.effect)
    share = sum(_is_inside(ratio(*law.draw(rng, n), SCALE), truth) for _ in range(cases)) / cases
    return [_coverage_line(f"ratio {truth:.2g}: {law.name}, n {n}", share, cases)]


def seeds_paired(law: SeedPairLaw, n: int, cases: int) -> list[Line]:
    """Return how often equal rows are decided by paired seeds, and unequal ones, compared with the unpaired test."""
    rng = seeded_generator("seed by seed", law.name, n)
    false = sum(paired_contrast(*law.draw(rng, n), SCALE).decision != "undecided" for _ in range(cases)) / cases
    case = f"equal seeds, {law.name}; n {n}"
    pairs = [law.draw(rng, n, 0.5) for _ in range(max(1, cases // 10))]
    power = sum(paired_contrast(a, b, SCALE).decision == "better" for a, b in pairs) / len(pairs)
    other = sum(decide(a, b, SCALE) == "better" for a, b in pairs) / len(pairs)
    return [
        Line(case, "false ≤ .05", f"{false:.3f}", false <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / cases)),
        Line(f"{case}, errors ÷ 1.65", "power: printed, beside the unpaired", f"{power:.2f} / {other:.2f}", True),
    ]


def check_promised_seeds(law: PairLaw, cases: int) -> list[Line]:
    """Return how often the number of seeds promised from two typical rows of five decides; 30 % more must be enough."""
    more = more_seeds(*law.typical(SEEDS_SO_FAR), SCALE)
    assert more is not None
    n, rng = SEEDS_SO_FAR + more, seeded_generator("promise", law.name, more)
    sizes = (math.floor(0.7 * n), n, math.ceil(1.3 * n))
    few, decided, many = (
        sum(decide(*law.draw(rng, size), SCALE) != "undecided" for _ in range(cases)) / cases for size in sizes
    )
    result = f"{decided:.2f} with {n} seeds, {few:.2f} with {sizes[0]}, {many:.2f} with {sizes[2]}"
    return [Line(f"promised seeds decide: {law.name}", ".80, ± 30 % of the seeds", result, few < 0.8 < many)]


def _is_inside(interval: Estimate | None, truth: float) -> bool:
    if interval is None or interval.low is None or interval.high is None:
        return False
    return interval.low <= truth <= interval.high


def _coverage_line(case: str, share: float, cases: int) -> Line:
    slack = 3 * math.sqrt(COVERED * (1 - COVERED) / cases)
    return Line(case, f">= {COVERED}", f"{share:.3f}", share >= COVERED - slack)
