"""Search spaces, and points drawn from them by Optuna's samplers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain
from typing import Any

from longwave.models.base.param import Param
from longwave.platform.errors import ConfigError
from longwave.platform.search.objects import MOST_POINTS, import_optuna, make_sampler

Drawn = float | str
"""What is drawn: a number or a word."""
IsUsed = Callable[[Mapping[str, Drawn], str], bool]
Observation = tuple[Mapping[str, Drawn], float | None]
"""What was drawn for a trial that ended, without what had no meaning in it, and its validation metric if it has one."""
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

    def holds(self, value: Drawn | None) -> bool:
        """Return whether ``value`` may be drawn."""
        if self.choices or value is None or isinstance(value, str):
            return value in self.choices
        return self.low <= value <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        return {**asdict(self), "choices": list(self.choices)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Dimension:
        """Rebuild from ``to_dict``; older plans hold a whole parameter, of which the further keys are ignored."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        return cls(**{**known, "choices": tuple(known.get("choices", ()))})


@dataclass(frozen=True)
class ShortName:
    """A short name for one of Optuna's samplers.

    Attributes:
        of: Its class.
        arguments: What it is made with.
    """

    of: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


SAMPLERS: Mapping[str, ShortName] = {
    "random": ShortName("RandomSampler"),
    "qmc": ShortName("QMCSampler", {"qmc_type": "sobol", "scramble": True}),
    "tpe": ShortName("TPESampler", {"constant_liar": True}),
}
"""Short names that sweep files may use in the place of Optuna's. To add one, add a line."""
INDEPENDENT = ("RandomSampler", "QMCSampler", "GridSampler", "BruteForceSampler")
"""Samplers that fit no results. All others do."""
STATELESS = ("TPESampler", "GPSampler")
"""Samplers that learn from results alone; others that learn keep a state, such as the generation that a trial is of."""


def class_of(sampler: str) -> str:
    """Return the class of Optuna's that a sweep file's ``sampler`` names."""
    return SAMPLERS[sampler].of if sampler in SAMPLERS else sampler


def learns(sampler: str) -> bool:
    """Return whether a sampler fits the results of earlier rounds.

    It then draws only what has a meaning in a point, so that it learns about a number from the trials that had it. The
    others draw every point independently and fully.
    """
    return class_of(sampler) not in INDEPENDENT


def keeps_state(sampler: str) -> bool:
    """Return whether a sampler keeps a state beside the results that it learns from, so that its rounds have a past."""
    return learns(sampler) and class_of(sampler) not in STATELESS


def check_sampler(sampler: str, arguments: Mapping[str, Any]) -> None:
    """Raise ConfigError where Optuna has no such sampler, or it takes no such arguments."""
    if sampler not in SAMPLERS or arguments:
        _make_named(sampler, arguments, 0)


def draw(
    space: Sequence[Dimension],
    n: int,
    seed: int,
    sampler: str = "random",
    rounds: Sequence[Sequence[Observation]] = (),
    goal: str = "min",
    is_used: IsUsed = lambda point, name: True,
    arguments: Mapping[str, Any] | None = None,
) -> list[dict[str, Drawn]]:
    """Draw n points with Optuna's sampler; a pure function of its arguments.

    With samplers that do not learn the i-th point depends on (space, arguments, seed, i) alone: a longer search begins
    with the shorter one. One that learns fits the results of earlier rounds, and leaves out of a point what means
    nothing. One that keeps a state, such as CMA-ES, draws all earlier rounds again first, and is told how they ended.

    Args:
        space: What to draw, in drawing order.
        n: Points, at least 1.
        seed: Seed of the sampler; one that keeps a state wants the same in each round.
        sampler: A name of ``SAMPLERS``, or a class of Optuna's.
        rounds: Results of earlier rounds.
        goal: ``"max"`` or ``"min"``.
        is_used: Returns whether a name has a meaning in a point drawn so far: words are drawn before their numbers.
        arguments: Of the sampler.

    Raises:
        ValueError: ``n < 1``.
        ConfigError: The sampler refuses the space or its arguments.
    """
    if n < 1:
        raise ValueError(f"A search needs at least one trial, got n={n}.")
    optuna, of = import_optuna(), class_of(sampler)
    if of == "BruteForceSampler" and (total := math.prod(map(_count_points, space))) > MOST_POINTS:
        raise ConfigError(f"sampler: {of}: its space has {total:,} points, at most {MOST_POINTS:,} fit in memory.")
    distributions = {d.name: distribution_of(d) for d in space}

    def ask(study: Any) -> tuple[Any, dict[str, Any]]:
        trial, point = study.ask(), dict[str, Any]()
        for d in space:
            if not learns(sampler) or is_used(point, d.name):
                point[d.name] = _suggest(trial, d)
        return trial, point

    with warnings.catch_warnings(action="ignore"):
        storage, direction = optuna.storages.InMemoryStorage(), "maximize" if goal == "max" else "minimize"
        study = optuna.create_study(
            storage=storage, sampler=_make_named(sampler, arguments or {}, seed), direction=direction
        )
        try:
            if keeps_state(sampler):
                _draw_again(study, storage, ask, rounds, space, distributions)
            else:
                for params, value in _known_results(of, space, rounds):
                    known = {name: distributions[name] for name in params}
                    study.add_trial(optuna.trial.create_trial(params=dict(params), distributions=known, value=value))
            points = [ask(study)[1] for _ in range(n)]
        except Exception as error:
            raise ConfigError(f"sampler: {of}: {str(error).strip().splitlines()[0]}") from error
    return [{k: v if isinstance(v, str) else float(v) for k, v in point.items()} for point in points]


def _count_points(d: Dimension) -> int:
    return len(d.choices) or (int(d.high) - int(d.low) + 1 if d.whole else 1)


def _make_named(sampler: str, arguments: Mapping[str, Any], seed: int) -> Any:
    own = SAMPLERS[sampler].arguments if sampler in SAMPLERS else {}
    return make_sampler(class_of(sampler), {**own, **arguments}, seed)


def _known_results(
    of: str, space: Sequence[Dimension], rounds: Sequence[Sequence[Observation]]
) -> Iterator[tuple[Mapping[str, Drawn], float]]:
    """Yield what a study of a sampler that keeps no state begins with, as if it had been trained."""
    if of == "QMCSampler":  # it draws at random until one trial is complete
        yield {d.name: d.choices[0] if d.choices else d.low for d in space}, 0.0
    elif of not in INDEPENDENT:
        yield from ((params, value) for params, value in chain(*rounds) if value is not None)


def _draw_again(
    study: Any,
    storage: Any,
    ask: Callable[[Any], tuple[Any, dict[str, Any]]],
    rounds: Sequence[Sequence[Observation]],
    space: Sequence[Dimension],
    distributions: Mapping[str, Any],
) -> None:
    """Draw earlier rounds once more, so that the sampler is in the state it was in, and tell it what became of them.

    What was trained takes the place of what is drawn, as where a search began with settings of its own.
    """
    failed, own = import_optuna().trial.TrialState.FAIL, storage.get_study_id_from_name(study.study_name)
    for results in rounds:
        asked = [ask(study)[0] for _ in results]
        for trial, (params, value) in zip(asked, results, strict=True):
            inside = {d.name: params[d.name] for d in space if d.name in params and d.holds(params[d.name])}
            number = storage.get_trial_id_from_study_id_trial_number(own, trial.number)
            for name, each in inside.items():
                storage.set_trial_param(number, name, distributions[name].to_internal_repr(each), distributions[name])
            is_known = value is not None and len(inside) == len(params)
            study.tell(trial, value if is_known else None, state=None if is_known else failed)


def _suggest(trial: Any, d: Dimension) -> Any:
    if d.choices:
        return trial.suggest_categorical(d.name, d.choices)
    suggest = trial.suggest_int if d.whole else trial.suggest_float
    return suggest(d.name, *((int(d.low), int(d.high)) if d.whole else (d.low, d.high)), log=d.log)


def distribution_of(d: Dimension) -> Any:
    """Return a dimension as Optuna's distribution."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if d.choices:
        return CategoricalDistribution(d.choices)
    return (
        IntDistribution(int(d.low), int(d.high), log=d.log) if d.whole else FloatDistribution(d.low, d.high, log=d.log)
    )


def join_dimensions(first: Dimension, second: Dimension) -> Dimension:
    """Return what two searches draw a number from, as one."""
    return replace(second, low=min(first.low, second.low), high=max(first.high, second.high))
