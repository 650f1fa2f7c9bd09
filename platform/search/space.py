"""Search spaces, and sampling of points by Optuna."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain
from typing import Any

from longwave.models.base.param import Param
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.search.objects import MOST_POINTS, count_grid, import_optuna, make_sampler

Drawn = float | str
"""A sampled value: a number, or a word."""
IsUsed = Callable[[Mapping[str, Drawn], str], bool]
Observation = tuple[Mapping[str, Drawn], float | None]
"""Sampled values of an ended trial, without unused ones, and its validation metric if it has one."""
Defaults = Mapping[str, Mapping[str, float | None]]
"""Defaults of training parameters by name, and by the ``training_words`` for which each is used."""


@dataclass(frozen=True)
class Dimension:
    """One dimension of a search space: a range of numbers, or a set of choices.

    Attributes:
        name: Name of a model parameter, a training parameter, or a field of ``TrialConfig``.
        low, high: Bounds, both included.
        log: Whether sampling is uniform in log(value).
        whole: Whether only integers are sampled.
        choices: Numbers or words to choose from; if given, the other fields are unused.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Drawn, ...] = ()

    @classmethod
    def of(cls, param: Param) -> Dimension:
        """Return the dimension of a parameter's range."""
        return cls(param.name, param.low, param.high, param.log, param.whole)

    @property
    def largest(self) -> float:
        """The largest number that can be sampled."""
        return max(c for c in self.choices if not isinstance(c, str)) if self.choices else self.high

    def holds(self, value: Drawn | None) -> bool:
        """Return whether ``value`` can be sampled."""
        if self.choices or value is None or isinstance(value, str):
            return value in self.choices
        return self.low <= value <= self.high and (not self.whole or value == int(value))

    def describe_miss(self, value: Drawn | None) -> str:
        """Return why a value cannot be sampled: ``lies outside 0.1 to 2``, ``is not a whole number``."""
        if self.choices:
            return f"lies outside {', '.join(f'{c:g}' if isinstance(c, float) else str(c) for c in self.choices)}"
        if isinstance(value, float | int) and self.low <= value <= self.high:
            return "is not a whole number"
        return f"lies outside {self.low:g} to {self.high:g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_dict`` restores it."""
        return {**asdict(self), "choices": list(self.choices)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Dimension:
        """Rebuild from ``to_dict``; further keys, as in older plans, are ignored."""
        content = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        return cls(**{**content, "choices": tuple(content.get("choices", ()))})


@dataclass(frozen=True)
class ShortName:
    """A short name for one of Optuna's samplers.

    Attributes:
        of: Class of the sampler.
        arguments: Its arguments.
    """

    of: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


SAMPLERS: Mapping[str, ShortName] = {
    "random": ShortName("RandomSampler"),
    "qmc": ShortName("QMCSampler", {"qmc_type": "sobol", "scramble": True}),
    "tpe": ShortName("TPESampler", {"constant_liar": True}),
}
"""Short names that sweep files may use instead of Optuna's. To add one, add a line."""
INDEPENDENT = ("RandomSampler", "QMCSampler", "GridSampler", "BruteForceSampler")
"""Samplers that ignore results; all others use them."""
STATELESS = ("TPESampler", "GPSampler")
"""Learning samplers that depend only on results; the others keep a state, such as the generation of a trial."""


def class_of(sampler: str) -> str:
    """Return the Optuna class of a sweep file's ``sampler``."""
    return SAMPLERS[sampler].of if sampler in SAMPLERS else sampler


def learns(sampler: str) -> bool:
    """Return whether a sampler uses the results of earlier rounds. Such a sampler draws only the values that are used
    in a point, so that it learns about a parameter from trials that used it. The others draw all values of every point
    independently.
    """
    return class_of(sampler) not in INDEPENDENT


def keeps_state(sampler: str) -> bool:
    """Return whether a sampler keeps a state besides results, so that earlier rounds must be replayed."""
    return learns(sampler) and class_of(sampler) not in STATELESS


def check_sampler(sampler: str, arguments: Mapping[str, Any]) -> None:
    """Raise ConfigError if Optuna has no such sampler, or it does not accept the arguments."""
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
    """Sample n points with an Optuna sampler; a pure function of its arguments. With samplers that do not learn, the
    i-th point depends only on (space, arguments, seed, i), so a longer search begins with the shorter one. Learning
    samplers use the results of earlier rounds, and omit unused values of a point. Those that keep a state, such as
    CMA-ES, first replay all earlier rounds with their results.

    Args:
        space: Dimensions in sampling order.
        n: Number of points, at least 1.
        seed: Seed of the sampler; samplers that keep a state need the same one in each round.
        sampler: A name in ``SAMPLERS``, or an Optuna class.
        rounds: Results of earlier rounds.
        goal: ``"max"`` or ``"min"``.
        is_used: Returns whether a dimension is used in a point so far; words are drawn before their numbers.
        arguments: Arguments of the sampler.

    Raises:
        ValueError: ``n < 1``.
        ConfigError: The sampler does not accept the space or its arguments.
    """
    if n < 1:
        raise ValueError(f"A search needs at least one trial, got n={n}.")
    optuna, class_name = import_optuna(), class_of(sampler)
    if class_name == "BruteForceSampler" and MOST_POINTS < (total := _count_points(space)) < math.inf:
        raise ConfigError(
            f"sampler: {class_name}: its space has {total:,} points, at most {MOST_POINTS:,} fit in memory."
        )
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
                for params, value in _known_results(class_name, space, rounds):
                    used = {name: distributions[name] for name in params}
                    study.add_trial(optuna.trial.create_trial(params=dict(params), distributions=used, value=value))
            points = [ask(study)[1] for _ in range(n)]
        except Exception as error:
            raise ConfigError(f"sampler: {class_name}: {str(error).strip().splitlines()[0]}") from error
    return [{k: v if isinstance(v, str) else float(v) for k, v in point.items()} for point in points]


def check_draws(
    space: Sequence[Dimension], n: int, known: int, sampler: str, goal: str, arguments: Mapping[str, Any]
) -> None:
    """Draw once, so that arguments which a sampler accepts but cannot use fail before anything is trained. A sampler
    that learns is given made-up results, because it uses some arguments only then.

    Args:
        space, sampler, goal, arguments: As of ``draw``.
        n: Points of the largest round, or of all searches that share the space.
        known: Results of all rounds before the last.

    Raises:
        ConfigError: As ``draw``; or the arguments name what is not searched, or give a value outside its range; or a
            grid or brute-force space has fewer than n points, of which Optuna would repeat some.
    """
    class_name, names = class_of(sampler), {d.name for d in space}
    where = f"sampler: {class_name}"
    for argument in ("search_space", "fixed_params"):
        values = arguments.get(argument)
        if isinstance(values, Mapping) and (unknown := [name for name in values if name not in names]):
            raise ConfigError(f"{where}: {argument}: {did_you_mean('searched number', unknown[0], names)}")
    counted = {"GridSampler": count_grid(arguments.get("search_space")), "BruteForceSampler": _count_points(space)}
    if n > (points := counted.get(class_name, n)):
        listed, advice = "grid" if class_name == "GridSampler" else "space", "Set fewer trials, or give more values"
        raise ConfigError(f"{where}: its {listed} has {points:,} points, too few for {n:,} trials. {advice}.")
    results = [(p, float(k)) for k, p in enumerate(draw(space, known, 0))] if learns(sampler) and known else []
    try:
        drawn = draw(space, n if class_name == "GridSampler" else 1, 0, sampler, [results], goal, arguments=arguments)
    except ConfigError as error:
        if not arguments:
            raise
        raise ConfigError(f"{str(error).rstrip('.')}. Change [sampler_arguments]: {', '.join(arguments)}.") from error
    for d, value in ((d, point[d.name]) for point in drawn for d in space):
        if not d.holds(value):
            raise ConfigError(f"{where}: {d.name} {value} {d.describe_miss(value)}. Change [sampler_arguments].")


def _count_points(space: Sequence[Dimension]) -> float:
    """Return the number of points of a space; inf if it has a range of other than whole numbers."""
    return math.prod(len(d.choices) or (int(d.high) - int(d.low) + 1 if d.whole else math.inf) for d in space)


def _make_named(sampler: str, arguments: Mapping[str, Any], seed: int) -> Any:
    defaults = SAMPLERS[sampler].arguments if sampler in SAMPLERS else {}
    return make_sampler(class_of(sampler), {**defaults, **arguments}, seed, SAMPLERS)


def _known_results(
    class_name: str, space: Sequence[Dimension], rounds: Sequence[Sequence[Observation]]
) -> Iterator[tuple[Mapping[str, Drawn], float]]:
    """Yield the initial results of a study for a sampler that keeps no state."""
    if class_name == "QMCSampler":  # QMCSampler draws at random until one trial is complete
        yield {d.name: d.choices[0] if d.choices else d.low for d in space}, 0.0
    elif class_name not in INDEPENDENT:
        ranges = {d.name: d for d in space}
        for params, value in chain(*rounds):
            if value is not None and all(ranges[name].holds(drawn) for name, drawn in params.items()):
                yield params, value  # Optuna refuses values outside the ranges of a second search
    elif class_name == "BruteForceSampler":  # it draws no point again that it knows, with whatever value
        for params, _ in chain(*rounds):
            if all(d.holds(params.get(d.name)) for d in space):
                yield {d.name: params[d.name] for d in space}, 0.0


def _draw_again(
    study: Any,
    storage: Any,
    ask: Callable[[Any], tuple[Any, dict[str, Any]]],
    rounds: Sequence[Sequence[Observation]],
    space: Sequence[Dimension],
    distributions: Mapping[str, Any],
) -> None:
    """Replay earlier rounds with their results, to restore the state of the sampler. Trained settings replace sampled
    ones, as after a warm start.
    """
    failed, study_id = import_optuna().trial.TrialState.FAIL, storage.get_study_id_from_name(study.study_name)
    for results in rounds:
        trials = [ask(study)[0] for _ in results]
        for trial, (params, value) in zip(trials, results, strict=True):
            inside = {d.name: params[d.name] for d in space if d.name in params and d.holds(params[d.name])}
            number = storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)
            for name, drawn in inside.items():
                storage.set_trial_param(number, name, distributions[name].to_internal_repr(drawn), distributions[name])
            is_known = value is not None and len(inside) == len(params)
            study.tell(trial, value if is_known else None, state=None if is_known else failed)


def _suggest(trial: Any, d: Dimension) -> Any:
    if d.choices:
        return trial.suggest_categorical(d.name, d.choices)
    suggest = trial.suggest_int if d.whole else trial.suggest_float
    return suggest(d.name, *((int(d.low), int(d.high)) if d.whole else (d.low, d.high)), log=d.log)


def distribution_of(d: Dimension) -> Any:
    """Return the Optuna distribution of a dimension."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if d.choices:
        return CategoricalDistribution(d.choices)
    return (
        IntDistribution(int(d.low), int(d.high), log=d.log) if d.whole else FloatDistribution(d.low, d.high, log=d.log)
    )


def join_dimensions(first: Dimension, second: Dimension) -> Dimension:
    """Return the hull of two ranges of a parameter, logarithmic if the second one is and the hull is above 0."""
    low, high = min(first.low, second.low), max(first.high, second.high)
    return replace(second, low=low, high=high, log=second.log and low > 0)
