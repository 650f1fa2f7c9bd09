"""Simulated boards: error rates of ranks, intervals of medians and overall scores, and the power of ranks.

A case draws boards with its own generator, evaluates each with the platform, and returns lines. ``rank_cases`` and the
like list them; they can run in any order on any number of processes.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import norm

from honesty.claims import Line
from honesty.seed_laws import CHANCE, FEW_SEEDS, HONEST, UNEQUAL, UNSEEN, SeedLaw, Seeds, second_half, split_halves
from longwave.platform.statistics.advice import power
from longwave.platform.statistics.median import median
from longwave.platform.statistics.overall import mean_ranks, overall_score
from longwave.platform.statistics.ranking import apart, holm
from longwave.platform.statistics.scale import Scale, Score

Case = Callable[[], list[Line]]
SCALE = Scale()
SHAPES = ((3, 5), (8, 5), (8, 8), (8, 10), (8, 20), (20, 5), (20, 10), (20, 20))
"""Models and seeds."""
MIXED = (5, 10, 20)
FEW_SHAPES: tuple[tuple[int, Seeds], ...] = (
    *((m, n) for n in (5, MIXED) for m in (2, 3, 8, 13, 21)),
    (21, (5, 20)),
    *((m, n) for n in (7, 10, 20) for m in (3, 8, 13)),
    (13, (10, 20)),
)
"""Of the laws that are hard with few seeds."""
FALSE = 0.05
"""Largest share of boards with a false claim, unless a law names its rate."""
LOSS = {(3, 5): 0.18}
"""Largest loss of power against Welch's test on means, if above .05: the guard requires no overlap."""


@dataclass(frozen=True)
class Effect:
    """Half the models are better, by a ratio of errors or deviations of 5 %; ``failing`` seeds are at ``at``, a log."""

    sd: float = 0.0
    ratio: float = 1.0
    cv: float = 0.05
    failing: float = 0.0
    at: float = 0.0

    @property
    def name(self) -> str:
        """As the report prints it."""
        kind = f"{self.sd:g} sd" if self.sd else f"× {self.ratio:g}, cv {100 * self.cv:.0f} %"
        how = "diverge" if math.isinf(self.at) else "at chance"
        return kind + (f", all {100 * self.failing:.0f} % {how}" if self.failing else "")

    def draw(self, rng: Generator, m: int, n: int) -> NDArray[Any]:
        """Return errors, (models, seeds), the second half of the models better."""
        middle = np.where(split_halves(m), (1 - self.cv * self.sd) / self.ratio, 1.0)
        scale = self.cv if self.sd else self.cv * middle
        lost = rng.random((m, n)) < self.failing
        return np.where(lost, math.exp(self.at), np.maximum(1e-9, middle + scale * rng.standard_normal((m, n))))


EFFECTS = (
    *(Effect(sd=sd) for sd in (1.5, 2.0, 3.0, 5.0)),
    *(Effect(ratio=1.1, cv=cv) for cv in (0.05, 0.1)),
    *(Effect(ratio=1.3, cv=cv) for cv in (0.05, 0.1, 0.22)),
    *(Effect(ratio=2.0, cv=cv) for cv in (0.1, 0.22)),
    *(Effect(ratio=r, cv=0.1, failing=0.1, at=at) for at in (CHANCE, math.inf) for r in (1.3, 2.0)),
)


def rank_cases(boards: int, shapes: Sequence[tuple[int, int]] = SHAPES) -> list[Case]:
    """Return the cases of false claims and, on a third as many boards, of power; of 20 models half as many."""
    cases: list[Case] = []
    for m, n in shapes:
        count = boards if m < 20 else boards // 2
        cases += [partial(false_claims, law, m, n, count) for law in (*HONEST, *UNEQUAL)]
        cases += [partial(found_pairs, effect, m, n, max(1, count // 3)) for effect in EFFECTS]
    return cases


def few_seeds_cases(boards: int, shapes: Sequence[tuple[int, Seeds]] = FEW_SHAPES) -> list[Case]:
    """Return the cases of false claims in which few seeds may mislead; of 20 models and more half as many boards.

    Cells named by a law are drawn ten times as often: their rate is reported, not tested against a bound.
    """
    laws = (*FEW_SEEDS, *UNSEEN)

    def board_count(law: SeedLaw, m: int, n: Seeds) -> int:
        return boards * 10 if (m, n) in law.named else boards if m < 20 else max(1, boards // 2)

    return [partial(false_claims, law, m, n, board_count(law, m, n)) for law in laws for m, n in shapes]


def seeded_generator(*name: object) -> Generator:
    """Return a case's generator: the same in every run, another one for each case."""
    return np.random.default_rng(zlib.crc32(repr(name).encode()))


def to_scores(table: NDArray[Any], seeds: Sequence[int] = ()) -> list[list[Score]]:
    """Return errors as scores of rows, of each ``seeds`` or all seeds: None for diverged ones."""
    counts = seeds or [table.shape[1]] * len(table)
    rows = zip(table.tolist(), counts, strict=True)
    return [[None if math.isinf(error) else error for error in row[:n]] for row, n in rows]


def seeds_of(m: int, n: Seeds) -> list[int]:
    """Return the number of seeds of each of m models."""
    return [n] * m if isinstance(n, int) else [n[k % len(n)] for k in range(m)]


def name_shape(m: int, n: Seeds) -> str:
    """Return a shape in words: ``8 models, 5 / 10 / 20 seeds``."""
    return f"{m} models, {n if isinstance(n, int) else ' / '.join(map(str, n))} seeds"


def at_most(claimed: float, share: float, cases: int) -> bool:
    """Return whether a share is at most as claimed, within .01 or the sampling error of few cases."""
    return share <= claimed + max(0.01, 3 * math.sqrt(claimed * (1 - claimed) / cases))


def false_claims(law: SeedLaw, m: int, n: Seeds, boards: int) -> list[Line]:
    """Return the share of boards with a claim that is false on P(better seed), and of those with any."""
    rng, better = seeded_generator(law.name, m, n), law.better(m)
    truth, seeds = np.sign(better[:, None] - better), seeds_of(m, n)
    wrong = claiming = 0
    for _ in range(boards):
        verdicts = apart(to_scores(law.draw(rng, m, max(seeds)), seeds), SCALE)
        wrong += bool((verdicts * (verdicts != truth)).any())
        claiming += bool(verdicts.any())
    case, rate = f"{law.name}; {name_shape(m, n)}", wrong / boards
    line = Line(case, f"false ≤ {FALSE:.2f}", f"{rate:.3f}", at_most(FALSE, rate, boards))
    if (m, n) in law.named:
        limit = law.named[m, n]
        line = Line(case, f"named, outside .05: false ≤ {limit:.3f}", f"{rate:.3f}", at_most(limit, rate, boards))
    if law not in UNEQUAL:
        return [line]
    return [line, Line(case, "any claim: printed", f"{claiming / boards:.2f}", True)]


def found_pairs(effect: Effect, m: int, n: int, boards: int) -> list[Line]:
    """Return the share of true pairs found, that of Welch's test on means, and for sds the computed power."""
    rng = seeded_generator(effect.name, m, n)
    truth = np.sign(second_half(m)[:, None] - second_half(m))
    different = truth > 0
    ours = theirs = 0.0
    for _ in range(boards):
        errors = effect.draw(rng, m, n)
        ours += (apart(to_scores(errors), SCALE)[different] > 0).mean() / boards
        theirs += (means_apart(errors)[different] > 0).mean() / boards
    case = f"{effect.name}; {m} models, {n} seeds"
    loss = LOSS.get((m, n), 0.05)
    # Pairs of a board share seeds: the sampling unit is a whole board.
    noise = 3 * math.sqrt(0.25 / boards) / 2
    claimed = "printed" if effect.failing else f"power ≥ Welch on means − {loss:.2f}"
    holds = bool(effect.failing or ours >= theirs - loss - min(noise, 0.1) * (boards < 100))
    lines = [Line(case, claimed, f"{ours:.2f} / {theirs:.2f}", holds)]
    if effect.sd:
        computed = power(m, n, effect.sd)
        holds = bool(abs(ours - computed) <= 0.1 + noise * (boards < 100))
        lines.append(Line(case, f"advice computes {computed:.2f} ± .10", f"{ours:.2f}", holds))
    return lines


def means_apart(errors: NDArray[Any], alpha: float = 0.05) -> NDArray[Any]:
    """Return which are better by the earlier test: Welch's on means of finished seeds, with Holm's adjustment."""
    m = len(errors)
    ended = np.isfinite(errors)
    testable = np.flatnonzero(ended.sum(1) > 1)
    n = ended.sum(1)[testable]
    mean = np.array([errors[k, ended[k]].mean() for k in testable])
    error = np.array([errors[k, ended[k]].var(ddof=1) for k in testable]) / n
    i, j = np.triu_indices(len(testable), 1)
    whole = error[i] + error[j]
    freedom = whole / np.maximum(error[i] / (n[i] - 1), error[j] / (n[j] - 1))
    p = holm(2 * stdtr(freedom, -np.abs(mean[i] - mean[j]) / np.sqrt(whole)))
    signs = np.zeros((m, m), dtype=int)
    signs[testable[i], testable[j]] = np.where(p <= alpha, np.sign(mean[j] - mean[i]), 0)
    return signs - signs.T


@dataclass(frozen=True)
class MedianLaw:
    """A law of one row's seeds: the quantile of errors of a uniform number, and a share of seeds that fail at ``at``.

    The median of the whole is the quantile ½ / (1 − share) of those that do not fail.
    """

    name: str
    quantile: Callable[[NDArray[Any]], NDArray[Any]]
    failing: float = 0.0
    at: float = 10.0


MEDIANS = (
    *(MedianLaw(f"normal cv {100 * cv:.0f} %", lambda u, cv=cv: 1 + cv * norm.ppf(u)) for cv in (0.05, 0.22)),
    *(MedianLaw(f"log-normal σ {s:g}", lambda u, s=s: np.exp(s * norm.ppf(u))) for s in (0.2, 0.8, 1.5)),
    MedianLaw("exponential logs", lambda u: 1 / (1 - u)),
    *(MedianLaw(f"{100 * q:.0f} % at chance", lambda u: np.exp(0.1 * norm.ppf(u)), q) for q in (0.1, 0.2)),
    MedianLaw("20 % diverge", lambda u: np.exp(0.1 * norm.ppf(u)), 0.2, math.inf),
)


def interval_cases(cases: int, seeds: Sequence[int] = (5, 10, 20)) -> list[Case]:
    """Return the cases of how often the interval of a median covers."""
    return [partial(median_covered, law, n, cases) for law in MEDIANS for n in seeds]


def median_covered(law: MedianLaw, n: int, cases: int) -> list[Line]:
    """Return how often the interval of the median contains the law's median."""
    rng = seeded_generator(law.name, n)
    errors = law.quantile(rng.random((cases, n)))
    errors[rng.random((cases, n)) < law.failing] = law.at
    truth = float(law.quantile(np.array(0.5 / (1 - law.failing))))
    covered = 0
    for row in to_scores(errors):
        interval = median(row, SCALE)
        best, worst = (math.inf if end is None else end for end in (interval.best, interval.worst))
        covered += best <= truth <= worst
    share, slack = covered / cases, 3 * math.sqrt(0.05 * 0.95 / cases)
    fine = 0.93 - slack <= share <= 0.96 + slack
    return [Line(f"{law.name}; {n} seeds", "median covered .93 to .96", f"{share:.3f}", fine)]


def overall_cases(cases: int) -> list[Case]:
    """Return the cases of the overall score's interval, and of mean ranks."""
    shapes = [(tasks, lost, n) for tasks in (5, 20) for lost in (0.0, 0.1, 0.2) for n in (5, 10, 20)]
    cases_: list[Case] = [partial(score_covered, *shape, cases) for shape in shapes]
    learning = [(tasks, part, fail, n) for tasks in (5, 20) for part, fail in LEARNING for n in (5, 10, 20)]
    cases_ += [partial(learning_covered, *shape, cases) for shape in learning]
    return [*cases_, *(partial(false_mean_ranks, tasks, n, cases) for tasks, n in ((3, 5), (3, 10), (10, 10)))]


def score_covered(tasks: int, lost: float, n: int, cases: int) -> list[Line]:
    """Return how often a score's interval contains the mean gain, if a share of seeds diverges and scores 0."""
    rng = seeded_generator(tasks, lost, n)
    middle = 0.9 - np.linspace(0, 0.5, tasks)
    gains = np.clip(middle[:, None] + 0.03 * rng.standard_normal((cases, tasks, n)), 0.0, 1.0)
    gains[rng.random(gains.shape) < lost] = 0.0
    truth = float((1 - lost) * middle.mean())
    case = f"overall score of {tasks} tasks, {100 * lost:.0f} % diverge; {n} seeds"
    return [_covered_line(case, gains, truth, 0.9 if lost and tasks < 20 else 0.93, rng)]


LEARNING = ((1, 0.5), (1, 0.2), (2, 0.5), (2, 0.1))
"""Every n-th task is learnt or not, and the share of its seeds that do not learn; other tasks are constant."""
RARE = {(5, 2, 0.1, 5): 0.6, (5, 2, 0.1, 10): 0.85, (5, 2, 0.1, 20): 0.88}
"""Tasks, n, share that fails, seeds: coverage if failures are so rare that often none is seen."""


def learning_covered(tasks: int, part: int, fail: float, n: int, cases: int) -> list[Line]:
    """Return how often a score's interval contains the mean gain, if seeds gain all or nothing on some tasks."""
    rng = seeded_generator("learning", tasks, part, fail, n)
    gains = (rng.random((cases, tasks, n)) >= fail).astype(float)
    learnable = np.arange(tasks) % part == part - 1
    gains[:, ~learnable] = 0.5
    truth = float(np.where(learnable, 1 - fail, 0.5).mean())
    case = f"overall score of {tasks} tasks, {100 * fail:.0f} % learn nothing on 1 of {part}; {n} seeds"
    return [_covered_line(case, gains, truth, RARE.get((tasks, part, fail, n), 0.91), rng)]


def _covered_line(case: str, gains: NDArray[Any], truth: float, least: float, rng: Generator) -> Line:
    covered, cases = 0, len(gains)
    for row in gains.tolist():
        interval = overall_score(row, rng)
        covered += interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high
    share, slack = covered / cases, max(0.01, 3 * math.sqrt(0.05 * 0.95 / cases))
    claimed = f"{'named, outside: ' if least < 0.9 else ''}covered {least:.2f} to .97 (± .01)"
    return Line(case, claimed, f"{share:.3f}", least - slack <= share <= 0.97 + slack)


def false_mean_ranks(tasks: int, n: int, cases: int) -> list[Line]:
    """Return the share of overviews of four equal models with a mean rank outside its range."""
    rng = seeded_generator("mean ranks", tasks, n)
    wrong = 0
    for _ in range(cases):
        boards = [to_scores(np.exp(0.1 * rng.standard_normal((4, n)))) for _ in range(tasks)]
        wrong += any((e.low, e.high) != (1, 4) for e in mean_ranks(boards, [SCALE] * tasks))
    share = wrong / cases
    case = f"mean ranks of 4 equal models on {tasks} tasks; {n} seeds"
    return [Line(case, f"false ≤ {FALSE:.2f}", f"{share:.3f}", at_most(FALSE, share, cases))]
