"""Search spaces: from a model's parameters to Optuna's draws. The only file that knows Optuna."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.models.base.param import Param

Told = tuple[Mapping[str, float], float]
"""Parameters of an ended trial and its validation metric."""


@dataclass(frozen=True)
class Sampler:
    """One of Optuna's samplers.

    Attributes:
        make: ``make(optuna.samplers, seed)``.
        learns: Whether it draws from what earlier rounds found; the others draw each point by itself.
        primed: Whether it starts once one trial is complete, and draws at random until then.
    """

    make: Callable[[Any, int], Any]
    learns: bool = False
    primed: bool = False


SAMPLERS: Mapping[str, Sampler] = {
    "random": Sampler(lambda samplers, seed: samplers.RandomSampler(seed=seed)),
    "qmc": Sampler(lambda samplers, seed: samplers.QMCSampler(qmc_type="sobol", scramble=True, seed=seed), primed=True),
    "tpe": Sampler(lambda samplers, seed: samplers.TPESampler(seed=seed, constant_liar=True), learns=True),
}
"""By the name that a sweep file gives. One more is one entry here."""


def learning() -> list[str]:
    """Return the samplers that draw from what earlier rounds found."""
    return [name for name, sampler in SAMPLERS.items() if sampler.learns]


def draw(
    space: Sequence[Param], n: int, seed: int, sampler: str = "random", told: Sequence[Told] = (), goal: str = "min"
) -> list[dict[str, float]]:
    """Draw n points with Optuna's sampler; a pure function of its arguments.

    With the random and quasi-random samplers the i-th point depends on (space, seed, i) alone: a longer search
    begins with the shorter one. One that learns does so from ``told``.

    Args:
        space: Parameters in drawing order.
        n: Points, at least 1.
        seed: Seed of the sampler.
        sampler: A name of ``SAMPLERS``.
        told: Results of earlier rounds.
        goal: ``"max"`` or ``"min"``.

    Raises:
        ValueError: ``n < 1``.
    """
    if n < 1:
        raise ValueError(f"A search needs at least one trial, got n={n}.")
    import optuna
    from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, BaseDistribution] = {
        p.name: IntDistribution(int(p.low), int(p.high), log=p.log)
        if p.whole
        else FloatDistribution(p.low, p.high, log=p.log)
        for p in space
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        chosen = SAMPLERS[sampler]
        made = chosen.make(optuna.samplers, seed)
        study = optuna.create_study(sampler=made, direction="maximize" if goal == "max" else "minimize")
        known = [({p.name: p.low for p in space}, 0.0)] if chosen.primed else told if chosen.learns else []
        for params, value in known:
            study.add_trial(optuna.trial.create_trial(params=dict(params), distributions=distributions, value=value))
        return [{k: float(v) for k, v in study.ask(distributions).params.items()} for _ in range(n)]
