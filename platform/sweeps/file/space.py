"""Search spaces, and points drawn from them by Optuna's samplers. The only file that knows Optuna."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from longwave.models.base.param import Param

Drawn = float | str
"""What is drawn: a number or a word."""
IsUsed = Callable[[Mapping[str, Drawn], str], bool]
Observation = tuple[Mapping[str, Drawn], float]
"""What was drawn for a trial that ended, without what had no meaning in it, and its validation metric."""
Defaults = Mapping[str, Mapping[str, float | None]]
"""Defaults of training numbers by name, and by the ``training_words`` under which each has a meaning."""


@dataclass(frozen=True)
class Dimension:
    """One thing that a search draws: a number of a range, or one of some choices.

    Attributes:
        name: Of a parameter, of a training number, or of a field of ``TrialConfig``.
        low, high: Bounds of the draw, both included.
        log: Whether it is uniform in log(value).
        whole: Whether only whole numbers are drawn.
        choices: Numbers or words to choose from; with them the others mean nothing.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Drawn, ...] = ()

    @classmethod
    def of(cls, param: Param) -> Dimension:
        """Return the draw of a parameter from its range."""
        return cls(param.name, param.low, param.high, param.log, param.whole)

    @property
    def largest(self) -> float:
        """The largest number that is drawn."""
        return max(c for c in self.choices if not isinstance(c, str)) if self.choices else self.high

    def holds(self, value: float | None) -> bool:
        """Return whether ``value`` may be drawn."""
        return value in self.choices if self.choices else value is not None and self.low <= value <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        return {**asdict(self), "choices": list(self.choices)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Dimension:
        """Rebuild from ``to_dict``; older plans hold a whole parameter, of which the further keys are ignored."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        return cls(**{**known, "choices": tuple(known.get("choices", ()))})


@dataclass(frozen=True)
class Sampler:
    """One of Optuna's samplers.

    Attributes:
        make: ``make(optuna.samplers, seed)``.
        learns: Whether it fits the results of earlier rounds. It then draws only what has a meaning in a point, so that
            it learns about a number from the trials that had it. The others draw every point independently and fully.
        primed: Whether it draws at random until one trial is complete.
    """

    make: Callable[[Any, int], Any]
    learns: bool = False
    primed: bool = False


SAMPLERS: Mapping[str, Sampler] = {
    "random": Sampler(lambda samplers, seed: samplers.RandomSampler(seed=seed)),
    "qmc": Sampler(lambda samplers, seed: samplers.QMCSampler(qmc_type="sobol", scramble=True, seed=seed), primed=True),
    "tpe": Sampler(lambda samplers, seed: samplers.TPESampler(seed=seed, constant_liar=True), learns=True),
}
"""By their names in sweep files. To add a sampler, add an entry."""


def learning_samplers() -> list[str]:
    """Return the samplers that fit the results of earlier rounds."""
    return [name for name, sampler in SAMPLERS.items() if sampler.learns]


def draw(
    space: Sequence[Dimension],
    n: int,
    seed: int,
    sampler: str = "random",
    observations: Sequence[Observation] = (),
    goal: str = "min",
    is_used: IsUsed = lambda point, name: True,
) -> list[dict[str, Drawn]]:
    """Draw n points with Optuna's sampler; a pure function of its arguments.

    With the random and quasi-random samplers the i-th point depends on (space, seed, i) alone: a longer search
    begins with the shorter one. One that learns fits ``observations``, and leaves out of a point what means nothing.

    Args:
        space: What to draw, in drawing order.
        n: Points, at least 1.
        seed: Seed of the sampler.
        sampler: A name of ``SAMPLERS``.
        observations: Results of earlier rounds.
        goal: ``"max"`` or ``"min"``.
        is_used: Returns whether a name has a meaning in a point drawn so far: words are drawn before their numbers.

    Raises:
        ValueError: ``n < 1``.
    """
    if n < 1:
        raise ValueError(f"A search needs at least one trial, got n={n}.")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")  # its tqdm, in a notebook without widgets
        import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {d.name: _distribution(d) for d in space}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        chosen = SAMPLERS[sampler]
        optuna_sampler = chosen.make(optuna.samplers, seed)
        study = optuna.create_study(sampler=optuna_sampler, direction="maximize" if goal == "max" else "minimize")
        first: Observation = ({d.name: d.choices[0] if d.choices else d.low for d in space}, 0.0)
        for params, value in [first] if chosen.primed else observations if chosen.learns else []:
            known = {name: distributions[name] for name in params}
            study.add_trial(optuna.trial.create_trial(params=dict(params), distributions=known, value=value))
        points: list[dict[str, Any]] = [{} for _ in range(n)]
        for point in points:
            trial = study.ask()
            for d in space:
                if not chosen.learns or is_used(point, d.name):
                    point[d.name] = _suggest(trial, d)
    return [{k: v if isinstance(v, str) else float(v) for k, v in point.items()} for point in points]


def _suggest(trial: Any, d: Dimension) -> Any:
    if d.choices:
        return trial.suggest_categorical(d.name, d.choices)
    suggest = trial.suggest_int if d.whole else trial.suggest_float
    return suggest(d.name, *((int(d.low), int(d.high)) if d.whole else (d.low, d.high)), log=d.log)


def _distribution(d: Dimension) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if d.choices:
        return CategoricalDistribution(d.choices)
    return (
        IntDistribution(int(d.low), int(d.high), log=d.log) if d.whole else FloatDistribution(d.low, d.high, log=d.log)
    )
