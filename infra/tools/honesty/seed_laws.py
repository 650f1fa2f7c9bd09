"""Distributions of seeds' errors in simulated boards, and which models are truly better under each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import gamma, norm

Seeds = int | tuple[int, ...]
"""Number of seeds of each model, or of the models in turn."""
CHANCE = math.log(10)
"""Log of the error at chance, where a seed that trained has about 1."""


@dataclass(frozen=True)
class SeedLaw:
    """One law of a board.

    Attributes:
        name: As the report prints it.
        draw: Generator, models and seeds to errors, (models, seeds), infinite where diverged.
        better: From the number of models to one number each, (models,): the model with the larger number is better,
            P(better seed) > ½; neither is if they are equal.
        named: By models and seeds, the rate of false claims if it is known to exceed 5 %.
    """

    name: str
    draw: Callable[[Generator, int, int], NDArray[Any]]
    better: Callable[[int], NDArray[Any]] = np.zeros
    named: Mapping[tuple[int, Seeds], float] = field(default_factory=dict)


def split_halves(m: int) -> NDArray[Any]:
    """Return 0 for the first half of the models and 1 for the second, (models, 1)."""
    return (np.arange(m) >= (m + 1) // 2).astype(float)[:, None]


def spread_evenly(m: int, low: float, high: float) -> NDArray[Any]:
    """Return numbers from ``low`` to ``high``, one per model, (models, 1)."""
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
    """Return the law of normal logs with a share of seeds at ``at``, chance or infinity, in log error.

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


def accuracy_error(accuracy: NDArray[Any]) -> NDArray[Any]:
    """Return errors in % of accuracies in %, at least half of 300 test items."""
    return np.maximum(100 / 600, 100 - accuracy)


def every(m: int, k: int) -> NDArray[Any]:
    """Return 1 for each k-th model, and for the last of fewer, else 0, (models, 1)."""
    return ((np.arange(m) % k == k - 1) | ((np.arange(m) == m - 1) & (m < k))).astype(bool)[:, None]


def learn_or_not(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return errors of seeds that learn fully or stay at 50 %, with equal probability."""
    return accuracy_error(np.where(rng.random((m, n)) < 0.5, 100.0, 50 + 0.3 * rng.standard_normal((m, n))))


def some_learn_law(k: int) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law where every k-th model learns or not, and the others are at 75 ± 1 %."""

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        steady = accuracy_error(75 + rng.standard_normal((m, n)))
        return np.where(every(m, k), learn_or_not(rng, m, n), steady)

    return draw


def thirty_diverge(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return normal logs with deviations from .1 to .5 over the models, 30 % of all seeds diverged."""
    errors = np.exp(0.1 * (1 + np.arange(m) % 5)[:, None] * rng.standard_normal((m, n)))
    return np.where(rng.random((m, n)) < 0.3, np.inf, errors)


def uniform_logs(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return uniform logs, each model's range wider than the one before it."""
    return np.exp(rng.uniform(-1, 1, (m, n)) * (0.02 * (1 + np.arange(m)))[:, None])


def two_states(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return logs about −1 or 1, with deviation .2, of every fourth model, and about 0, with .1, of the others."""
    states = np.where(rng.random((m, n)) < 0.5, 1.0, -1.0) + 0.2 * rng.standard_normal((m, n))
    return np.exp(np.where(every(m, 4), states, 0.1 * rng.standard_normal((m, n))))


def laplace_logs(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return Laplace logs with scales from .03 to .3 over the models."""
    return np.exp(np.geomspace(0.03, 0.3, m)[:, None] * rng.laplace(size=(m, n)))


def twenty_items(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return errors in % of 20 test items of which each is right in 70 % of cases."""
    return np.maximum(2.5, 100 - 5.0 * rng.binomial(20, 0.7, (m, n)))


def three_levels(rng: Generator, m: int, n: int) -> NDArray[Any]:
    """Return errors of accuracies of 60, 75 or 90 % of every third model, and of 75 ± 2 % of the others."""
    levels = 75 + 15.0 * rng.integers(-1, 2, (m, n)) + 0.5 * rng.standard_normal((m, n))
    return accuracy_error(np.where(every(m, 3), levels, 75 + 2 * rng.standard_normal((m, n))))


def diverge_or_not_law(k: int, noise: float) -> Callable[[Generator, int, int], NDArray[Any]]:
    """Return the law where every k-th model diverges or has errors about ½, and the others are about 1."""

    def draw(rng: Generator, m: int, n: int) -> NDArray[Any]:
        lost = np.where(rng.random((m, n)) < 0.5, np.inf, 0.5)
        return np.where(every(m, k), lost, 1.0) * np.exp(noise * rng.standard_normal((m, n)))

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
    SeedLaw("kept for the check: gamma ½ logs 1:30, θ = ½", skewed_law(0.5, 0.03, 0.9)),
    SeedLaw("kept for the check: half at chance 35 %, θ = ½", failing_law(0.35, CHANCE, half=True)),
)
"""No pair differs on P(better seed), or the second half is better: any other claim is false."""
UNEQUAL = (
    SeedLaw("log-normal .1-.8, equal means", log_normal(0.1, 0.8, means=True), lambda m: np.arange(float(m))),
    SeedLaw("log-normal .2-1.5, equal means", log_normal(0.2, 1.5, means=True), lambda m: np.arange(float(m))),
    SeedLaw("half fail 20 %, equal means", failing_models_law(0.5, 3.0), second_half),  # .8 · .5 + .2 · 3 = 1
    SeedLaw("half fail 20 %, ok seeds equal", failing_models_law(1.0, 10.0), lambda m: 1 - second_half(m)),
)
"""Equal means or equal good seeds, unequal typical seeds: a claim is false where it points the wrong way."""


def one_in_16(*models: int) -> Mapping[tuple[int, Seeds], float]:
    """Return the rate of false claims of boards of so many models on which one row learns or not, by five seeds.

    All five seeds end in the same state in 2 of 32 cases, and no other row shows that there are two states: any test
    that can claim anything with five seeds claims a difference here.
    """
    return {(m, 5): 1 / 16 for m in models}


FEW_SEEDS = (
    SeedLaw("learn or not, half", learn_or_not),
    SeedLaw("half constant at 75 ± 1, half learn or not", some_learn_law(2), named=one_in_16(2, 3)),
    SeedLaw("a fifth learn or not, rest 75 ± 1", some_learn_law(5), named=one_in_16(2, 3, 8)),
    SeedLaw("30 % diverge, sd 1-5", thirty_diverge),
    SeedLaw("uniform logs", uniform_logs),
    SeedLaw("half diverge in half of their seeds", diverge_or_not_law(2, 0.05), named=one_in_16(2, 3)),
)
"""No pair differs on P(better seed): laws with which the rule for few seeds was chosen."""
UNSEEN = (
    SeedLaw("unseen: a quarter in two states, rest log sd .1", two_states, named=one_in_16(2, 3, 8)),
    SeedLaw("unseen: an eighth learn or not, rest 75 ± 1", some_learn_law(8), named=one_in_16(2, 3, 8, 13)),
    SeedLaw("unseen: Laplace logs 1:10", laplace_logs),
    SeedLaw("unseen: 20 test items", twenty_items),
    SeedLaw("unseen: a third on three levels, rest 75 ± 2", three_levels),
    SeedLaw("unseen: a third diverge in half of their seeds", diverge_or_not_law(3, 0.1), named=one_in_16(2, 3)),
)
"""No pair differs on P(better seed): laws held out when the rule for few seeds was chosen."""
