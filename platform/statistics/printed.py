"""A published number, and the distribution of our gap to it by chance alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from longwave.platform.statistics.stats import t_quantile

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Array = NDArray[float64]

PrintedKind = Literal["mean ± std", "mean", "mean of several", "one run", "best of k", "best of several", "unlabelled"]
MEANS = ("mean ± std", "mean", "mean of several")
"""Kinds that are compared with our mean; for ``mean of several`` the number of runs is not stated."""
SEVERAL = 100
"""Assumed upper bound on the runs of a paper that prints the best without stating their number."""
UNSAID = 10
"""Assumed number of runs of a paper that may have printed the best without saying so."""


@dataclass(frozen=True)
class Printed:
    """A published number.

    Attributes:
        value: The number, in the unit of our scores.
        statistic: Statistic of the paper's runs: ``mean``, ``run``, ``best``, ``max``, ``min``; any other word, such as
            ``median`` or ``reported``, is treated as if it were not stated.
        std, n: Standard deviation and number of those runs, if printed.
        rounding: Half a unit of the last printed digit, in the unit of ``value``; None: exact.

    Raises:
        ValueError: The value is not finite, there is less than one run, or std or rounding is negative.
    """

    value: float
    statistic: str = "mean"
    std: float | None = None
    n: int | None = None
    rounding: float | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"A printed number is finite, got {self.value}.")
        if self.n is not None and self.n < 1:
            raise ValueError(f"A printed number is of 1 run or more, got {self.n}.")
        for name, size in (("std", self.std), ("rounding", self.rounding)):
            if size is not None and not 0 <= size < math.inf:
                raise ValueError(f"The {name} of a printed number is 0 or more, got {size}.")

    @property
    def kind(self) -> PrintedKind:
        """How the number can be compared; a single run is one run, whatever its stated statistic."""
        if self.n == 1 or self.statistic == "run":
            return "one run"
        if self.statistic in ("best", "max", "min"):
            return "best of k" if self.n else "best of several"
        if self.statistic == "mean":
            return "mean of several" if not self.n else "mean" if self.std is None else "mean ± std"
        return "unlabelled"


@dataclass(frozen=True)
class Noise:
    """The distribution of a gap by chance alone: the log of our typical error minus the log of a printed one. Our
    typical error is the geometric mean, or compared with a mean, the mean of a log-normal distribution with the mean
    and standard deviation of our logs: Cox, in Land, Annals of Mathematical Statistics 1971.

    Attributes:
        kind: Kind of the printed number.
        runs: Runs of the paper, for the kinds that state them.
        relative: Printed std over the printed error; None if not printed.
        observed: Standard deviation of the logs of our errors.
        floor: The metric's smallest error over ours, below which no interval assumes that standard deviation to be.
    """

    kind: PrintedKind
    runs: int
    relative: float | None
    observed: float
    floor: float = 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of logs that intervals assume for our errors, and for the paper's unless printed."""
        return max(self.observed, self.floor)

    @property
    def shift(self) -> float:
        """Log of our error compared with the printed one, minus the mean of our logs."""
        return self.observed**2 / 2 if self.kind in MEANS else 0.0

    @property
    def theirs(self) -> float:
        """Standard deviation of the logs of the paper's errors."""
        return self.spread if self.relative is None else math.sqrt(math.log1p(self.relative**2))

    def mean_half(self, n: int, level: float, theirs: float | None) -> float:
        """Return half the interval of a gap to a mean of ``runs`` errors with log std ``theirs``; None: to a fixed
        number.

        Student's t with the standard error of log-normal means on either side: s² / n + s⁴ / (2 (n − 1)).
        """
        square = self.spread**2 / n + self.spread**4 / (2 * (n - 1))
        if theirs is not None:
            square += theirs**2 / self.runs + theirs**4 / (2 * self.runs)
        return t_quantile(n - 1, (1 + level) / 2) * math.sqrt(square)

    def gap(self, n: int, level: float) -> tuple[float, float]:
        """Return the central interval of the gap if ``n`` seeds of ours and the paper's runs are from the same
        procedure. Student's t with the standard error of both sides. A best of k has the distribution of
        ``best_quantile``. If the number of runs behind a best is unknown, or whether a number is a best, the low end is
        that of one run and the high end that of the best of ``SEVERAL`` or ``UNSAID``.
        """
        if self.kind == "best of k":
            ends = ((1 - level) / 2, (1 + level) / 2)
            low, high = (self.spread * best_quantile(n, self.runs, p) for p in ends)
            return low, high
        if self.kind in MEANS:
            half = self.mean_half(n, level, self.theirs)
            return -half, half
        half = self.one_run(n, level)
        best = {"best of several": SEVERAL, "unlabelled": UNSAID}.get(self.kind)
        return -half, half if best is None else self.spread * best_quantile(n, best, (1 + level) / 2)

    def one_run(self, n: int, level: float) -> float:
        """Return half the prediction interval of one more run around the mean of our logs."""
        return t_quantile(n - 1, (1 + level) / 2) * self.spread * math.sqrt(1 / n + 1)

    def own(self, n: int, level: float) -> tuple[float, float]:
        """Return the interval of only our noise, with ``n`` seeds, around our error compared with the printed number.
        That is our typical error, or for a best our expected best of the same number of runs: for unknown k, anything
        from one run to ``SEVERAL``.
        """
        lower, upper = (1 - level) / 2, (1 + level) / 2
        if self.kind in MEANS:
            half = self.mean_half(n, level, None)
            return -half, half
        half = t_quantile(n - 1, upper)
        low, high = -half, half
        if self.kind == "best of k":
            low, high = tolerance_quantile(n, self.runs, lower), tolerance_quantile(n, self.runs, upper)
        elif self.kind == "best of several":
            high = tolerance_quantile(n, SEVERAL, upper)
        return low * self.spread / math.sqrt(n), high * self.spread / math.sqrt(n)

    @property
    def expected(self) -> float:
        """Expected gap between equal procedures: for a best of k, its expected distance below one run."""
        return self.spread * expected_extreme(self.runs) if self.kind == "best of k" else 0.0


@cache
def expected_extreme(k: int) -> float:
    """Return the expected largest of k standard normal draws: 1.163, 1.539 and 2.508 for 5, 10 and 100."""
    from scipy.special import ndtr

    z, density = _normal()
    return float(k * (z * density * ndtr(z) ** (k - 1)).sum() / density.sum())


@cache
def best_quantile(n: int, k: int, p: float) -> float:
    """Return the p-quantile of (mean of n − smallest of k) / std of the n, for draws from one normal distribution."""
    from scipy.special import ndtr

    z, density = _normal()
    shift, weights = z[:, None] / math.sqrt(n), density / density.sum()
    return _studentised(n, lambda y: weights @ ndtr(y - shift) ** k, p)


@cache
def tolerance_quantile(n: int, k: int, p: float) -> float:
    """Return the p-quantile of √n (mean of n − (μ − e_k σ)) / std of the n, of normal draws: noncentral t."""
    from scipy.special import nctdtrit

    return float(nctdtrit(n - 1, expected_extreme(k) * math.sqrt(n), p))


def _normal() -> tuple[Array, Array]:
    """Return points from −8 to 8 and the unnormalised normal density, for quadrature. With equal steps the plain sum is
    exact up to rounding, because the density vanishes smoothly at both ends.
    """
    import numpy as np

    z = np.linspace(-8, 8, 81)
    return z, np.exp(-(z**2) / 2)


def _studentised(n: int, below: Callable[[Array], Array], p: float) -> float:
    """Return q with P(Y / S ≤ q) = p, for the std S of n normal draws and ``below`` the distribution function of Y."""
    import numpy as np
    from scipy.special import chdtri

    freedom = n - 1
    low, high = 0.5 * np.log(chdtri(freedom, [1 - 1e-12, 1e-12]) / freedom)
    x = np.linspace(low, high, 61)
    density = np.exp(freedom * (x - np.exp(2 * x) / 2 + 0.5))
    spread, weights = np.exp(x), density / density.sum()
    return _where(lambda q: float(below(q * spread) @ weights) - p)


def _where(rising: Callable[[float], float]) -> float:
    """Return the root of an increasing function by the Illinois method: secants inside a bracket. The value at an end
    that is kept twice is halved, so that both ends move. Source: Dowell and Jarratt, BIT 1971.
    """
    low, high = -1.0, 1.0
    while (below := rising(low)) > 0:
        low *= 2
    while (above := rising(high)) < 0:
        high *= 2
    repeats = 0
    while True:
        middle = (low * above - high * below) / (above - below)
        value = rising(middle)
        if abs(value) < 1e-10:
            return middle
        if value < 0:
            low, below, above, repeats = middle, value, above / 2 if repeats < 0 else above, -1
        else:
            high, above, below, repeats = middle, value, below / 2 if repeats > 0 else below, 1
