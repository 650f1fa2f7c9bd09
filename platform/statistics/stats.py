"""Pure statistics on plain numbers. No storage, no torch, no clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, if the data allow one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Summary:
    """The statistics of n scores that a test of means needs: ``mean``, ``std`` with n − 1 (None: unknown), ``n``."""

    mean: float
    std: float | None
    n: int

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return Student's t-interval for the mean at ``level``, in (0, 1); None without a std."""
        check_level(level)
        if self.std is None:
            return None
        half = t_quantile(self.n - 1, (1 + level) / 2) * self.std / math.sqrt(self.n)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Difference:
    """A difference of two means, for Student's t. Without variance (``error`` 0) there is no t. Then it is only known
    that the two groups are separated, which has probability ``separation`` by chance: the smallest p-value of an exact
    permutation test.

    Attributes:
        value: First mean minus second.
        error: Standard error of ``value``.
        freedom: Degrees of freedom of ``error``.
        separation: 2 / C(n₁ + n₂, n₁).
    """

    value: float
    error: float
    freedom: float
    separation: float

    @property
    def p_value(self) -> float:
        """Two-sided p-value of no difference."""
        if not self.error:
            return self.separation if self.value else 1.0
        from scipy.special import stdtr

        # From the lower tail, because 1 minus a cdf near 1 loses the digits of a small p.
        return 2 * float(stdtr(self.freedom, -abs(self.value) / self.error))

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the interval at ``level``; None if there is no variance and too few scores for a permutation test."""
        if not self.error and self.separation > 1 - level:
            return None
        half = t_quantile(self.freedom, (1 + level) / 2) * self.error
        return self.value - half, self.value + half


def direction(goal: str) -> int:
    """Return +1 for the goal ``"max"`` and −1 for ``"min"``.

    Raises:
        ValueError: Any other goal.
    """
    if goal not in ("max", "min"):
        raise ValueError(f'A goal is "max" or "min", got {goal!r}.')
    return 1 if goal == "max" else -1


def arrow(goal: str) -> str:
    """Return ``↑`` if larger values are better, else ``↓``."""
    return "↑" if direction(goal) > 0 else "↓"


def mean_std(scores: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the sample standard deviation (n − 1) of ``scores``, (n,); the latter is None for n = 1.

    For equal scores both are exact: that score, and 0.

    Raises:
        ValueError: As ``check_scores``.
    """
    n = len(check_scores(scores))
    # Divided before adding, because the sum of finite scores may overflow. math.dist scales its squares.
    mean = scores[0] if len(set(scores)) == 1 else math.fsum(score / n for score in scores)
    return mean, math.dist(scores, [mean] * n) / math.sqrt(n - 1) if n > 1 else None


def summary(scores: Sequence[float]) -> Summary:
    """Return mean, std and number of ``scores``, (n,). Raises as ``check_scores``."""
    return Summary(*mean_std(scores), len(scores))


def difference(a: Summary, b: Summary, cautious: bool = False) -> Difference | None:
    """Return the mean of ``a`` minus that of ``b`` with Welch's standard error; None if either has no std. Source:
    Welch, Biometrika 1947; Satterthwaite, Biometrics 1946. With the shares w of the two groups in the squared error,
    1/ν is the mean of w₁/(n₁ − 1) and w₂/(n₂ − 1) weighted by w. For small and unequal n that ν is too large: with 3
    and 10 scores the 5 % level is 7 %. ``cautious`` takes the larger of the two instead of their mean, which keeps the
    level below 5.5 % for any n from 3 to 10 and any ratio of the std.
    """
    if a.std is None or b.std is None:
        return None
    errors = a.std / math.sqrt(a.n), b.std / math.sqrt(b.n)
    error = math.hypot(*errors)
    # Without variance the share is 0 / 0 and arbitrary, because the freedom is then not used.
    share = (errors[0] / error) ** 2 if error else 0.5
    inverse = share / (a.n - 1), (1 - share) / (b.n - 1)
    mean = share * inverse[0] + (1 - share) * inverse[1]
    separation = 2 / math.comb(a.n + b.n, a.n)
    return Difference(a.mean - b.mean, error, 1 / (max(inverse) if cautious else mean), separation)


def diverged_share(diverged: int, n: int, level: float = 0.95) -> Estimate:
    """Return the share of ``n`` runs that diverged, with an exact interval of at least the stated coverage.

    Source: Clopper and Pearson, Biometrika 1934.

    Raises:
        ValueError: No runs, more diverged runs than runs, or a level outside (0, 1).
    """
    if not 0 <= diverged <= n or not n:
        raise ValueError(f"Of n >= 1 runs 0 to n diverged, got {diverged} of {n}.")
    from scipy.special import betaincinv

    tail = (1 - check_level(level)) / 2
    low = float(betaincinv(diverged, n - diverged + 1, tail)) if diverged else 0.0
    high = float(betaincinv(diverged + 1, n - diverged, 1 - tail)) if diverged < n else 1.0
    return Estimate(diverged / n, low, high)


def check_scores(scores: Sequence[float]) -> Sequence[float]:
    """Return ``scores`` after checking them.

    Raises:
        ValueError: There are none, or one is not finite; the message names its position.
    """
    if not scores:
        raise ValueError("Statistics need at least one score.")
    bad = [i for i, s in enumerate(scores) if not math.isfinite(s)]
    if bad:
        raise ValueError(f"Scores must be finite; not finite at positions {bad}.")
    return scores


def check_level(level: float) -> float:
    """Return ``level`` after checking it.

    Raises:
        ValueError: It is outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"A level lies between 0 and 1, got {level}.")
    return level


@cache
def t_quantile(freedom: float, p: float) -> float:
    """Return the p-quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))
