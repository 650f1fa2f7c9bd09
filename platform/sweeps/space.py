"""Search spaces: from a model's parameters to Optuna's draws. The only file that knows Optuna."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

from longwave.models.base.param import Param

Sampler = Literal["random", "qmc", "tpe"]
Told = tuple[Mapping[str, float], float]
"""Parameters of an ended trial and its validation metric."""


def draw(
    space: Sequence[Param], n: int, seed: int, sampler: Sampler = "random", told: Sequence[Told] = (), goal: str = "min"
) -> list[dict[str, float]]:
    """Draw n points with Optuna's sampler; a pure function of its arguments.

    With the random and quasi-random samplers the i-th point depends on (space, seed, i) alone: a longer search
    begins with the shorter one. TPE learns from ``told``.

    Args:
        space: Parameters in drawing order.
        n: Points, at least 1.
        seed: Seed of the sampler.
        sampler: ``"random"``, ``"qmc"`` (scrambled Sobol) or ``"tpe"``.
        told: Results of earlier rounds; only TPE reads them.
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
        chosen: optuna.samplers.BaseSampler = optuna.samplers.RandomSampler(seed=seed)
        if sampler == "qmc":
            chosen = optuna.samplers.QMCSampler(qmc_type="sobol", scramble=True, seed=seed)
        elif sampler == "tpe":
            chosen = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
        study = optuna.create_study(sampler=chosen, direction="maximize" if goal == "max" else "minimize")
        # Sobol's sequence starts once one trial is complete; until then Optuna draws at random.
        known = [({p.name: p.low for p in space}, 0.0)] if sampler == "qmc" else told
        for params, value in known:
            study.add_trial(optuna.trial.create_trial(params=dict(params), distributions=distributions, value=value))
        return [{k: float(v) for k, v in study.ask(distributions).params.items()} for _ in range(n)]
