"""Verdicts on simulated papers and seeds of ours: the frequency of each verdict, and the claims in Methods."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from honesty.claims import Line
from longwave.platform.statistics.printed import Printed
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.verdict import verdict

WORDS = ("reproduced", "consistent", "better", "worse", "undecided")
RATIOS = (1.0, 1.1, 1.3, 1.5, 2.0)
CASES = 4000
"""Number of draws for each cell of ``TABLE``."""


@dataclass(frozen=True)
class Repetition:
    """A paper's number and our seeds, for repeated draws.

    Attributes:
        paper: Key of ``PAPERS``: the printed statistic and number of runs.
        cv: Standard deviation over mean of the errors of both sides.
        n: Seeds of ours.
        ratio: Our typical error over the paper's.
        noise: ``log-normal``, ``normal``, or one of ``SKEWED``, which has its own spread.
        margin: Argument of the verdict.
        digits: Significant digits of the printed number; None: all.
    """

    paper: str
    cv: float
    n: int = 5
    ratio: float = 1.0
    noise: str = "log-normal"
    margin: float = 1.25
    digits: int | None = None

    def __str__(self) -> str:
        rounded = "" if self.digits is None else f", {self.digits} digits"
        margin = "" if self.margin == 1.25 else f", margin × {self.margin:g}"
        spread = "" if self.noise in SKEWED else f", cv {self.cv:.0%}"
        return f"{self.paper}; {self.noise}{spread}, n {self.n}, ratio {self.ratio:.3g}{margin}{rounded}"


def twenty_percent_fail(rng: Generator, n: int) -> NDArray[Any]:
    """Return log-normal errors of which one in five is twenty times worse."""
    return np.exp(0.2 * rng.standard_normal(n)) * np.where(rng.random(n) < 0.2, 20.0, 1.0)


SKEWED: Mapping[str, Callable[[Generator, int], NDArray[Any]]] = {
    "log-normal σ .5": lambda rng, n: np.exp(0.5 * rng.standard_normal(n)),
    "learn or not": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, 50.0) * np.exp(0.05 * rng.standard_normal(n)),
    "20 % fail × 20": twenty_percent_fail,
    "exponential logs .3": lambda rng, n: np.exp(0.3 * rng.exponential(size=n)),
    "exponential logs 1": lambda rng, n: np.exp(np.minimum(rng.exponential(size=n), 30)),
}
"""Distributions of a seed's error that few seeds of a mean may not reveal; the last has no mean."""
PAPERS: Mapping[str, tuple[int, Callable[[np.ndarray], Printed]]] = {
    "mean ± std of 3": (3, lambda runs: Printed(float(runs.mean()), std=float(runs.std(ddof=1)), n=3)),
    "mean ± std of 5": (5, lambda runs: Printed(float(runs.mean()), std=float(runs.std(ddof=1)), n=5)),
    "mean of 3": (3, lambda runs: Printed(float(runs.mean()), n=3)),
    "mean of 5": (5, lambda runs: Printed(float(runs.mean()), n=5)),
    "mean of 5, printed without the 5": (5, lambda runs: Printed(float(runs.mean()))),
    "one run": (1, lambda runs: Printed(float(runs[0]), "run")),
    "one run, secretly the best of 3": (3, lambda runs: Printed(float(runs.min()), "run")),
    "one run, secretly the best of 5": (5, lambda runs: Printed(float(runs.min()), "run")),
    "one run, secretly the best of 10": (10, lambda runs: Printed(float(runs.min()), "run")),
    "unlabelled, truly one run": (1, lambda runs: Printed(float(runs[0]), "reported")),
    "unlabelled, truly the best of 10": (10, lambda runs: Printed(float(runs.min()), "reported")),
    "best of 10": (10, lambda runs: Printed(float(runs.min()), "best", n=10)),
    "best, truly of 10": (10, lambda runs: Printed(float(runs.min()), "best")),
}
"""Number of runs of the paper, and the number printed from them."""
TABLE = """
mean ± std of 5
5 5 | 100 0 0 0 0 | 96 3 0 1 0 | 0 1 0 99 0 | 0 0 0 100 0 | 0 0 0 100 0
10 5 | 81 13 0 0 6 | 48 21 0 8 22 | 1 3 0 82 15 | 0 0 0 100 0 | 0 0 0 100 0
22 5 | 4 19 1 1 75 | 3 17 0 4 76 | 1 5 0 20 74 | 0 1 0 49 50 | 0 0 0 93 7
5 10 | 100 0 0 0 0 | 99 0 0 0 0 | 0 1 0 99 0 | 0 0 0 100 0 | 0 0 0 100 0
10 10 | 96 3 0 0 0 | 69 20 0 9 2 | 1 3 0 95 1 | 0 0 0 100 0 | 0 0 0 100 0
22 10 | 17 41 1 1 40 | 12 33 0 7 48 | 2 7 0 42 49 | 0 1 0 81 19 | 0 0 0 100 0
mean of 5
5 5 | 100 0 0 0 0 | 94 4 0 1 0 | 0 0 0 99 0 | 0 0 0 100 0 | 0 0 0 100 0
10 5 | 78 15 0 0 6 | 50 20 0 8 22 | 1 2 0 79 18 | 0 0 0 99 1 | 0 0 0 100 0
22 5 | 9 14 0 1 75 | 8 12 0 5 75 | 2 3 0 20 74 | 0 0 0 44 55 | 0 0 0 83 17
5 10 | 100 0 0 0 0 | 99 1 0 0 0 | 0 1 0 99 0 | 0 0 0 100 0 | 0 0 0 100 0
10 10 | 96 3 0 0 0 | 68 21 0 9 2 | 1 3 0 95 1 | 0 0 0 100 0 | 0 0 0 100 0
22 10 | 16 42 1 1 41 | 12 32 0 7 49 | 2 7 0 38 52 | 0 1 0 76 23 | 0 0 0 99 1
one run
5 5 | 90 10 0 0 0 | 61 31 0 4 3 | 2 6 0 87 5 | 0 0 0 100 0 | 0 0 0 100 0
10 5 | 22 54 2 2 21 | 16 44 0 8 32 | 2 12 0 42 44 | 0 1 0 81 18 | 0 0 0 99 1
22 5 | 1 14 2 3 80 | 1 13 1 5 80 | 0 8 0 13 79 | 0 4 0 25 71 | 0 0 0 60 40
5 10 | 97 3 0 0 0 | 72 24 0 3 0 | 1 9 0 90 0 | 0 0 0 100 0 | 0 0 0 100 0
10 10 | 28 61 2 2 8 | 21 53 0 10 15 | 2 17 0 59 22 | 0 1 0 93 6 | 0 0 0 100 0
22 10 | 0 32 3 3 62 | 0 32 1 5 62 | 0 18 0 17 64 | 0 7 0 35 58 | 0 1 0 77 22
unlabelled, truly one run
5 5 | 0 100 0 0 0 | 0 92 0 1 7 | 0 6 0 53 41 | 0 0 0 91 9 | 0 0 0 100 0
10 5 | 0 76 2 0 22 | 0 60 0 2 38 | 0 13 0 12 75 | 0 1 0 31 68 | 0 0 0 79 21
22 5 | 0 15 2 0 83 | 0 14 1 1 84 | 0 8 0 2 90 | 0 4 0 5 91 | 0 0 0 18 82
5 10 | 0 100 0 0 0 | 0 97 0 2 1 | 0 10 0 83 7 | 0 0 0 100 0 | 0 0 0 100 0
10 10 | 0 88 2 0 10 | 0 75 0 2 23 | 0 18 0 23 59 | 0 1 0 62 37 | 0 0 0 99 1
22 10 | 0 34 2 0 63 | 0 30 1 1 68 | 0 19 0 3 78 | 0 8 0 9 84 | 0 1 0 36 63
best of 10
5 5 | 0 93 1 0 7 | 0 97 0 2 1 | 0 2 0 79 20 | 0 0 0 98 2 | 0 0 0 100 0
10 5 | 0 49 2 1 48 | 0 47 0 7 46 | 0 3 0 33 64 | 0 0 0 61 39 | 0 0 0 94 6
22 5 | 0 3 2 2 92 | 0 2 1 4 93 | 0 0 0 11 89 | 0 0 0 19 80 | 0 0 0 43 57
5 10 | 0 100 0 0 0 | 0 100 0 0 0 | 0 2 0 98 0 | 0 0 0 100 0 | 0 0 0 100 0
10 10 | 0 87 2 1 10 | 0 82 0 10 9 | 0 6 0 68 26 | 0 0 0 96 4 | 0 0 0 100 0
22 10 | 0 18 3 2 77 | 0 15 0 6 79 | 0 3 0 19 78 | 0 0 0 39 60 | 0 0 0 83 17
"""
"""By paper: cv in % and our seeds, then for each of ``RATIOS`` the share of each of ``WORDS`` in %, of ``CASES``."""


def count_verdicts(repetition: Repetition, cases: int = CASES) -> dict[str, float]:
    """Return how often each of ``WORDS`` is the verdict, ``either`` of the first two, ``apart``: a later two."""
    rng = np.random.default_rng(20251)
    runs, printed = PAPERS[repetition.paper]
    counts: Counter[str] = Counter()
    for _ in range(cases):
        errors = _draw_errors(repetition, rng, runs + repetition.n)
        ours = (repetition.ratio * errors[runs:]).tolist()
        number = _round_printed(printed(errors[:runs]), repetition.digits)
        counts[verdict(ours, number, Scale(), repetition.margin).word] += 1
    counted = {word: counts[word] / cases for word in WORDS}
    either, apart = counted["reproduced"] + counted["consistent"], counted["better"] + counted["worse"]
    return {**counted, "either": either, "apart": apart}


def _draw_errors(repetition: Repetition, rng: Generator, n: int) -> NDArray[Any]:
    """Return errors of one law, (n,)."""
    if repetition.noise in SKEWED:
        return SKEWED[repetition.noise](rng, n)
    normal = rng.standard_normal(n)
    if repetition.noise == "normal":
        return 1 + repetition.cv * normal
    return np.exp(math.sqrt(math.log1p(repetition.cv**2)) * normal)


def _round_printed(printed: Printed, digits: int | None) -> Printed:
    if digits is None:
        return printed
    unit = 10.0 ** (math.floor(math.log10(printed.value)) + 1 - digits)
    return replace(printed, value=round(printed.value / unit) * unit, rounding=unit / 2)


def claimed_cells() -> Iterator[tuple[Repetition, tuple[float, ...]]]:
    """Yield the claims of ``TABLE``: a repetition and the share of each of ``WORDS``."""
    paper = ""
    for line in TABLE.strip().splitlines():
        if "|" not in line:
            paper = line
            continue
        head, *claims = line.split("|")
        cv, n = (int(part) for part in head.split())
        for ratio, claim in zip(RATIOS, claims, strict=True):
            yield Repetition(paper, cv / 100, n, ratio), tuple(int(part) / 100 for part in claim.split())


def agrees(claimed: float, measured: float, cases: int, deviations: float = 4.0) -> bool:
    """Return whether a share of ``cases`` agrees with one of ``CASES`` that is printed in whole percent."""
    pooled = (claimed * CASES + measured * cases + 2) / (CASES + cases + 4)
    noise = math.sqrt(pooled * (1 - pooled) * (1 / CASES + 1 / cases))
    return abs(measured - claimed) <= 0.005 + deviations * noise


@dataclass(frozen=True)
class Bound:
    """A claimed upper or lower bound of a share in each of some repetitions.

    ``named`` are those of laws that Methods name as outside 5 %.
    """

    repetitions: Sequence[Repetition]
    word: str
    share: float
    least: bool = False
    named: bool = False

    def lines(self, cases: int) -> list[Line]:
        """Return the repetition closest to violating it; three standard errors are tolerated."""
        sign = 1 if self.least else -1
        results = [
            (sign * count_verdicts(repetition, cases)[self.word], str(repetition)) for repetition in self.repetitions
        ]
        share, case = min(results)
        chance = 3 * math.sqrt(self.share * (1 - self.share) / cases)
        named = "named, outside 5 %: " if self.named else ""
        claimed = f"{named}{self.word} {'>=' if self.least else '<='} {self.share:.1%}"
        holds = share >= sign * self.share - chance
        return [Line(f"worst of {len(self.repetitions)}: {case}", claimed, f"{abs(share):.1%}", holds)]


def _make_grid(papers: Sequence[str], ratios: Sequence[float] = (1.0,), **same: Any) -> list[Repetition]:
    cvs, ns = same.pop("cvs", (0.05, 0.1, 0.22)), same.pop("ns", (5, 10))
    return [Repetition(*case, **same) for case in product(papers, cvs, ns, ratios)]


HALF = (1.5, 1 / 1.5)
AVERAGES, RUN, UNLABELLED = ["mean ± std of 5", "mean of 3", "mean of 5"], ["one run"], ["unlabelled, truly one run"]
HIDDEN, BEST, SEVERAL = ["unlabelled, truly the best of 10"], ["best of 10"], ["best, truly of 10"]
ALL = [*AVERAGES, "mean ± std of 3", *RUN, *UNLABELLED, *HIDDEN, *BEST, *SEVERAL]
USUAL: dict[str, Any] = {"cvs": (0.05,), "ns": (5,)}
MEANS = ["mean ± std of 5", "mean of 3", "mean of 5", "mean of 5, printed without the 5"]
HIDDEN_SEEDS = ("20 % fail × 20", "exponential logs .3", "exponential logs 1")


def _make_skewed(papers: Sequence[str], laws: Sequence[str], ns: Sequence[int] = (5, 10, 20)) -> list[Repetition]:
    return [Repetition(paper, 0.0, n, noise=law) for paper in papers for law in laws for n in ns]


BOUNDS = (
    *(Bound(_make_skewed([paper], ["log-normal σ .5", "learn or not"]), "apart", 0.05) for paper in [*MEANS, *RUN]),
    Bound(_make_skewed(MEANS[:1], HIDDEN_SEEDS), "apart", 0.05),
    *(Bound(_make_skewed(MEANS[1:], [law]), "apart", 0.09, named=True) for law in HIDDEN_SEEDS),
    *(Bound(_make_skewed(RUN, [law]), "apart", 0.08, named=True) for law in HIDDEN_SEEDS),
    Bound(_make_grid(["mean ± std of 5", *RUN], **USUAL), "reproduced", 0.85, least=True),
    Bound(_make_grid([*UNLABELLED, *HIDDEN, *BEST], **USUAL), "either", 0.9, least=True),
    Bound(_make_grid(ALL, HALF), "reproduced", 0.01),
    Bound(_make_grid([*AVERAGES, *BEST, *SEVERAL], HALF), "either", 0.025),
    Bound(_make_grid([*RUN, *UNLABELLED], HALF), "either", 0.08),
    Bound(_make_grid([*RUN, *UNLABELLED], HALF, ns=(5,)), "either", 0.04),
    Bound(_make_grid(HIDDEN, [1 / 1.5]), "consistent", 0.44),
    Bound(_make_grid(ALL), "worse", 0.03),
    Bound(_make_grid([*AVERAGES, *RUN, *BEST]), "apart", 0.05),
    Bound(_make_grid(["mean ± std of 3"]), "apart", 0.05),
    Bound(_make_grid(UNLABELLED), "apart", 0.03),
    Bound(_make_grid(UNLABELLED), "worse", 0.004),
    Bound(_make_grid(HIDDEN), "worse", 0.025),
    Bound(_make_grid(SEVERAL), "worse", 0.01),
    Bound(_make_grid(["one run, secretly the best of 3"]), "worse", 0.07),
    Bound(_make_grid(["one run, secretly the best of 5"]), "worse", 0.10),
    Bound(_make_grid(["one run, secretly the best of 10"]), "worse", 0.19),
    Bound(_make_grid(ALL, cvs=(0.05, 0.1), noise="normal"), "apart", 0.055),
    Bound(_make_grid(RUN, cvs=(0.22,), noise="normal"), "apart", 0.06),
    Bound(_make_grid([*UNLABELLED, *HIDDEN], cvs=(0.22,), noise="normal"), "apart", 0.09),
    Bound(_make_grid(BEST, cvs=(0.22,), noise="normal"), "apart", 0.14),
    Bound(_make_grid(ALL, (1.0, 1.1), cvs=(0.02,)), "either", 0.99, least=True),
    Bound(_make_grid(ALL, (1.3, 1.5, 2.0), cvs=(0.02,)), "worse", 0.99, least=True),
    Bound(_make_grid(ALL, HALF, digits=1, cvs=(0.05, 0.22)), "reproduced", 0.01),
    Bound(_make_grid(ALL, digits=1, cvs=(0.05, 0.22)), "worse", 0.03),
)
"""The claims of Methods about verdicts besides ``TABLE``."""


def verdict_cases(cases: int = CASES) -> list[Callable[[], list[Line]]]:
    """Return the cells of ``TABLE``, then ``BOUNDS``, each to be drawn so often when called; three minutes in all."""
    table = [partial(_compare_line, repetition, claim, cases) for repetition, claim in claimed_cells()]
    return [*table, *(partial(bound.lines, cases) for bound in BOUNDS)]


def _compare_line(repetition: Repetition, claim: Sequence[float], cases: int) -> list[Line]:
    counted = count_verdicts(repetition, cases)
    shares = [counted[word] for word in WORDS]
    holds = all(agrees(claimed, share, cases) for claimed, share in zip(claim, shares, strict=True))
    return [Line(str(repetition), f"{_percent_text(claim)} %", f"{_percent_text(shares)} %", holds)]


def _percent_text(shares: Sequence[float]) -> str:
    return " ".join(f"{100 * share:.0f}" for share in shares)
