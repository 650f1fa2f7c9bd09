"""Laws that seeds' errors follow in simulated boards, and who is truly better under each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import gamma, norm

CHANCE = math.log(10)
"""Log of the error at chance, where a seed that trained has about 1."""


@dataclass(frozen=True)
class SeedLaw:
    """One law of a board.

    Attributes:
        name: As in the table of the design.
        draw: Generator, models and seeds to errors, (models, seeds), infinite where diverged.
        better: Models to a number each, (models,): of two, that with the larger is better on P(better seed) > ½, and
            neither with the same.
        stress: Whether it was made to be hard on five seeds of twenty models.
    """

    name: str
    draw: Callable[[Generator, int, int], NDArray[Any]]
    better: Callable[[int], NDArray[Any]] = np.zeros
    stress: bool = False


def split_halves(m: int) -> NDArray[Any]:
    """Return 0 for the first half of the models and 1 for the second, (models, 1)."""
    return (np.arange(m) >= (m + 1) // 2).astype(float)[:, None]


def spread_evenly(m: int, low: float, high: float) -> NDArray[Any]:
    """Return numbers from ``low`` to ``high``, one a model, (models, 1)."""
    return np.linspace(low, high, m)[:, None]


def normal_law(low: float, high: float) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law of errors about 1 with normal noise, its deviation from ``low`` to ``high`` over the models."""
    return lambda rng, m, n: 1 + spread_evenly(m, low, high) * rng.standard_normal((m, n))


def two_deviations_law(low: float, high: float, logs: bool = False) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law with deviation ``low`` in one half of the models and ``high`` in the other, of errors or logs."""

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        noise = np.where(split_halves(m), high, low) * rng.standard_normal((m, n))
        return np.exp(noise) if logs else 1 + noise

    return draw


def skewed_law(shape: float, low: float, high: float) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law of gamma logs of ``shape``, scale ``low`` in one half and ``high`` in the other.

    The narrow half is shifted so that a seed of either half is better in half of all cases.
    """

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        wide = split_halves(m)
        logs = np.where(wide, high, low) * rng.gamma(shape, size=(m, n)) + np.where(
            wide, 0.0, even_shift(shape, low, high)
        )
        return np.exp(logs - logs.min())

    return draw


@lru_cache
def even_shift(shape: float, low: float, high: float) -> float:
    """Return the shift d with P(low X + d < high Y) = ½ for gamma X and Y, by quadrature over X."""
    quantiles = gamma(shape).ppf((np.arange(20_000) + 0.5) / 20_000)
    return float(
        brentq(lambda d: gamma(shape).sf((low * quantiles + d) / high).mean() - 0.5, -10 * high, 10 * high)
        if low != high
        else 0.0
    )


def failing_law(
    share: float, at: float, half: bool, noise: float = 0.1
) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law of normal logs of which a share of seeds sits at ``at``, chance or infinity, in log error.

    With ``half`` only every model of the second half fails, and its other seeds are so much better that a seed of
    either half is better in half of all cases: (1 − share) Φ(δ / (σ √2)) = ½.
    """

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        ours = split_halves(m) if half else np.ones((m, 1))
        shift = noise * math.sqrt(2) * norm.ppf(0.5 / (1 - share)) if half else 0.0
        logs = noise * rng.standard_normal((m, n)) - shift * ours
        lost = rng.random((m, n)) < share * ours
        return np.exp(np.where(lost, at + 0.02 * rng.standard_normal((m, n)), logs))

    return draw


def better_half(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return errors about 1 in one half and about ½ in the other, deviations 5 % to 25 % of that."""
    return np.where(split_halves(m), 0.5, 1.0) * normal_law(0.05, 0.25)(rng, m, n)


def log_normal(low: float, high: float, means: bool = False) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law of normal logs with deviations from ``low`` to ``high``, of equal medians or equal ``means``."""

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        sigma = spread_evenly(m, low, high)
        return np.exp(sigma * rng.standard_normal((m, n)) - means * sigma**2 / 2)

    return draw


def failing_models_law(good: float, chance: float) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law where half the models fail 20 % of seeds, at ``chance``, and their others are at ``good``."""

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        lost = rng.random((m, n)) < 0.2 * split_halves(m)
        middle = np.where(lost, chance, np.where(split_halves(m), good, 1.0))
        return middle * np.exp(0.02 * rng.standard_normal((m, n)))

    return draw


def second_half(m: int) -> NDArray[Any]:
    """Return 1 for the second half of the models, which is the better one, else 0, (models,)."""
    return split_halves(m)[:, 0]


HONEST = (
    SeedLaw("normal, equal sd, cv 5 %", normal_law(0.05, 0.05)),
    SeedLaw("normal, sd 1-5 (cv 5-25 %)", normal_law(0.05, 0.25)),
    SeedLaw("normal, half sd 1, half 5", two_deviations_law(0.05, 0.25)),
    SeedLaw("log-normal .2-1.5, equal medians", log_normal(0.2, 1.5)),
    SeedLaw("t3 on logs", lambda rng, m, n: np.exp(0.1 * rng.standard_t(3, (m, n)))),
    SeedLaw("exponential logs 1:1", skewed_law(1.0, 0.2, 0.2)),
    SeedLaw("exponential logs 1:4, θ = ½", skewed_law(1.0, 0.1, 0.4)),
    SeedLaw("half better x2, sd 1-5", better_half, second_half),
    SeedLaw("all fail 20 % (chance)", failing_law(0.2, CHANCE, half=False)),
    SeedLaw("all diverge 20 %", failing_law(0.2, math.inf, half=False)),
    SeedLaw("half diverge 20 %, θ = ½", failing_law(0.2, math.inf, half=True)),
    SeedLaw("half at chance 20 %, θ = ½", failing_law(0.2, CHANCE, half=True)),
    SeedLaw("stress: half log sd .02, half .5", two_deviations_law(0.02, 0.5, logs=True)),
    SeedLaw("stress: exponential logs 1:20, θ = ½", skewed_law(1.0, 0.05, 1.0)),
    SeedLaw("stress: half diverge 40 %, θ = ½", failing_law(0.4, math.inf, half=True)),
    SeedLaw("kept for the check: gamma ½ logs 1:30, θ = ½", skewed_law(0.5, 0.03, 0.9), stress=True),
    SeedLaw("kept for the check: half at chance 35 %, θ = ½", failing_law(0.35, CHANCE, half=True), stress=True),
)
"""No pair differs on P(better seed), or the second half is better: any other claim is false."""
UNEQUAL = (
    SeedLaw("log-normal .1-.8, equal means", log_normal(0.1, 0.8, means=True), lambda m: np.arange(float(m))),
    SeedLaw("log-normal .2-1.5, equal means", log_normal(0.2, 1.5, means=True), lambda m: np.arange(float(m))),
    SeedLaw("half fail 20 %, equal means", failing_models_law(0.5, 3.0), second_half),  # .8 · .5 + .2 · 3 = 1
    SeedLaw("half fail 20 %, ok seeds equal", failing_models_law(1.0, 10.0), lambda m: 1 - second_half(m)),
)
"""Equal means or equal good seeds, unequal typical seeds: a claim is false where it points the wrong way."""
