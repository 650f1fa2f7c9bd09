"""Cells of a sweep: the settings of its file, completed from the published recipe, with every value checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from longwave.models.base.param import Param
from longwave.models.base.spec import ModelSpec
from longwave.platform.about import model_title
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.trial import FIELDS, SIZES, WORDS
from longwave.platform.search.space import Defaults, Dimension
from longwave.platform.sweeps.file.settings import CellSettings
from longwave.platform.sweeps.file.values import LARGEST
from longwave.platform.training.rules import groups_of, optimisers, schedules, training_params
from longwave.tasks.base.spec import Recipe, TaskSpec


@dataclass(frozen=True)
class ResolvedCell:
    """What the trials of a cell have in common, and what is drawn for each.

    Attributes:
        fields: Of ``TrialConfig``: sizes, ``clip``, ``drops`` and words; of a drawn one, the largest or first value.
        params: Fixed parameters and training numbers.
        space: What is drawn: the learning rate and parameters, then training numbers and fields in the file's order.
        numbers: Defaults of the training numbers that are fixed or drawn.
    """

    fields: Mapping[str, Any]
    params: Mapping[str, float]
    space: tuple[Dimension, ...]
    numbers: Defaults


def resolve_cell(settings: CellSettings, task: TaskSpec, variant: str, model: ModelSpec) -> ResolvedCell:
    """Return a cell with everything that the file leaves open filled in from the recipe.

    Args:
        settings: What the file sets for it.
        task, model: What is trained.

    Raises:
        ConfigError: A name has no effect here, or a value breaks a rule; the message names it.
    """
    recipe, options = task.recipe(model.name), settings.options(model)
    fields = _resolve_fields(settings, task, model, recipe)
    known_numbers = _training_numbers(
        settings, task, model, [_possible_words(settings, fields, word) for word in WORDS]
    )
    values = {**settings.fixed, **settings.drawn}
    time_scale = task.time_scale(variant) if settings.uses_time_scale else None
    params = {p.name: p for p in model.space(task.name, options, values, time_scale)}
    for name in values:
        if name not in {*FIELDS, "drops", *options, *params, *known_numbers}:
            _check_unknown(settings, name, task, model, fields)
    for name in settings.cell.keys() & known_numbers.keys():
        _check_effect_everywhere(settings, name, fields, known_numbers[name])
    fixed = {n: _checked_value(settings, p, v) for n, p in params.items() if (v := settings.fixed.get(n)) is not None}
    space = [_dimension_of_param(settings, p) for n, p in params.items() if n not in fixed]
    published = {n: v for n, v in recipe.numbers.items() if n in known_numbers and n not in settings.drawn}
    file_numbers = {
        n: _checked_value(settings, _first_param(known_numbers[n]), v)
        for n, v in settings.fixed.items()
        if n in known_numbers
    }
    for name in settings.drawn:
        if name in known_numbers:
            space.append(_dimension_of_param(settings, _first_param(known_numbers[name])))
        elif name in FIELDS:
            space.append(_dimension_of_field(settings, name))
    named = {*published, *file_numbers, *settings.drawn} & known_numbers.keys()
    if "label_smoothing" in named and not task.smooths:
        reason = f"label_smoothing has no effect on {task.name}, which has no classes"
        raise ConfigError(f"{settings.at('label_smoothing')}: {reason}. Remove it.")
    numbers = {n: {pair: _numeric_default(p.default) for pair, p in known_numbers[n].items()} for n in sorted(named)}
    return ResolvedCell(fields, {**fixed, **published, **file_numbers}, tuple(space), numbers)


def _resolve_fields(settings: CellSettings, task: TaskSpec, model: ModelSpec, recipe: Recipe) -> dict[str, Any]:
    """Return the fields of every trial: the file's, then the recipe's."""
    fields = {name: getattr(recipe, name) for name in (*FIELDS, "drops")}
    fields |= {name: _checked_field(settings, name, v) for name, v in settings.fields(model).items()}
    for name in settings.drawn.keys() & {*FIELDS}:
        drawn = _dimension_of_field(settings, name)
        fields[name] = drawn.choices[0] if name in WORDS else _checked_field(settings, name, drawn.largest)
    if recipe.steps is None and settings.uses_steps and "steps" not in {*settings.drawn, *settings.cell}:
        fields["steps"] = None  # the file sets it for other tasks
    if fields["steps"] is not None and recipe.steps is None:
        reason = f"steps has no effect on {task.name}, which has a training split"
        raise ConfigError(f"{settings.at('steps')}: {reason}. Set epochs instead.")
    try:
        model.check(settings.options(model), fields["width"])
    except ValueError as error:
        raise ConfigError(f"{settings.file}: model.{model.name}: {error}") from None
    uses_drops = "drops" in _possible_words(settings, fields, "schedule")
    if settings.fixed.get("drops") and not uses_drops and "schedule" not in settings.cell:
        raise ConfigError(f"{settings.file}: drops has no effect with schedule {fields['schedule']}. Remove it.")
    return {**fields, "drops": tuple(d for d in fields["drops"] if d < fields["epochs"] and uses_drops)}


def _training_numbers(
    settings: CellSettings, task: TaskSpec, model: ModelSpec, words: Sequence[Sequence[Any]]
) -> dict[str, dict[str, Param]]:
    """Return the training numbers that have an effect under some of these optimisers and schedules."""
    groups = groups_of(task, model)
    params: dict[str, dict[str, Param]] = {}
    for word, registered, names in zip(WORDS, (optimisers(), schedules()), words, strict=True):
        if unknown := [name for name in names if name not in registered]:
            raise ConfigError(f"{settings.at(word)}: {did_you_mean(word, str(unknown[0]), registered)}")
    for optimiser, schedule in product(*words):
        for param in training_params(optimiser, schedule, groups):
            params.setdefault(param.name, {})[f"{optimiser}/{schedule}"] = param
    return params


def _check_unknown(
    settings: CellSettings, name: str, task: TaskSpec, model: ModelSpec, fields: Mapping[str, Any]
) -> None:
    """Raise ConfigError for a name that has no effect in this cell, unless it has one in another cell of the grid."""
    if name in {p.name for p in model.params}:
        raise ConfigError(
            f"{settings.at(name)}: {name} has no effect with {model_title(model, settings.options(model))}. Remove it."
        )
    elsewhere = _training_numbers(settings, task, model, [settings.words[word] or [fields[word]] for word in WORDS])
    if name in elsewhere and name not in settings.cell:
        return
    everywhere = _training_numbers(settings, task, model, [list(optimisers()), list(schedules())])
    if name in everywhere:
        words = " and ".join(f"{word} {' or '.join(_possible_words(settings, fields, word))}" for word in WORDS)
        raise ConfigError(f"{settings.at(name)}: {name} has no effect with {words}. Remove it.")
    parameters = [] if settings.tables.get(name) in ("recipe", "grid") else [p.name for p in (model.lr, *model.params)]
    kind, possible_names = ("parameter", parameters) if parameters else ("setting", [*FIELDS])
    raise ConfigError(f"{settings.at(name)}: {did_you_mean(kind, name, {*everywhere, *FIELDS, *possible_names})}")


def _check_effect_everywhere(
    settings: CellSettings, name: str, fields: Mapping[str, Any], params: Mapping[str, Param]
) -> None:
    """Raise ConfigError for a number of the grid without effect under an optimiser or schedule that a search may draw,
    because two cells would have the same trials.
    """
    for words in product(*(_possible_words(settings, fields, word) for word in WORDS)):
        if "/".join(words) not in params:
            raise ConfigError(
                f"{settings.at(name)}: {name} has no effect with {' and '.join(words)}, which a search may draw. "
                f"Fix the optimiser and the schedule in [recipe], or search {name} in [space.MODEL]."
            )


def _checked_value(settings: CellSettings, param: Param, value: Any) -> float:
    try:
        if isinstance(value, str | bool):
            raise ValueError(f"{param.symbol} ({param.name}) must be {param.rule}, got {value!r}.")
        param.check(value)
    except ValueError as error:
        raise ConfigError(f"{settings.at(param.name)}: {error}") from None
    return float(value)


def _dimension_of_param(settings: CellSettings, param: Param) -> Dimension:
    """Return how a parameter, or a training number, is drawn: as the file says, or by its default range."""
    choice = settings.drawn.get(param.name)
    if choice is None:
        return Dimension.of(param)
    if isinstance(choice, list):
        return Dimension(param.name, choices=tuple(_checked_value(settings, param, value) for value in choice))
    try:
        return Dimension.of(param.between(choice.low, choice.high, log=choice.log))
    except ValueError as error:
        raise ConfigError(f"{settings.at(param.name)}: {error}") from None


def _dimension_of_field(settings: CellSettings, name: str) -> Dimension:
    choice = settings.drawn[name]
    if isinstance(choice, list):
        return Dimension(name, choices=tuple(_checked_field(settings, name, value) for value in choice))
    if name in WORDS:
        raise ConfigError(f"{settings.at(name)}: {name} is a string: give a list of strings.")
    low, high = _checked_field(settings, name, choice.low), _checked_field(settings, name, choice.high)
    if low > high:
        raise ConfigError(f"{settings.at(name)}: {name}: low must not exceed high, got low={low:g}, high={high:g}.")
    return Dimension(name, low, high, bool(choice.log), name in SIZES)


def _checked_field(settings: CellSettings, name: str, value: Any) -> Any:
    """Return the checked value of a field, a number or a string; ``drops`` was checked by the schema."""
    if name == "drops":
        return value
    if name in WORDS:
        if isinstance(value, str):
            return value
        raise ConfigError(f"{settings.at(name)}: {name} must be a string, got {value!r}.")
    kind = "whole number" if name in SIZES else "number"
    if isinstance(value, str | bool) or value <= 0 or (name in SIZES and value != int(value)):
        raise ConfigError(f"{settings.at(name)}: {name} must be a {kind} > 0, got {value!r}.")
    if name in SIZES and value > LARGEST:
        raise ConfigError(f"{settings.at(name)}: {name} must be at most {LARGEST:,}, got {value!r}.")
    return int(value) if name in SIZES else float(value)


def _possible_words(settings: CellSettings, fields: Mapping[str, Any], word: str) -> list[Any]:
    """Return the words that trials of the cell may have."""
    choice = settings.drawn.get(word)
    return choice if isinstance(choice, list) else [fields[word]]


def _first_param(params: Mapping[str, Param]) -> Param:
    return next(iter(params.values()))


def _numeric_default(default: float | str | None) -> float | None:
    return None if isinstance(default, str) else default
