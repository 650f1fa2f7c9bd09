"""One cell of a sweep made whole: what the file says of it over the published recipe, every value checked."""

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
from longwave.platform.sweeps.file.settings import CellSettings
from longwave.platform.sweeps.file.space import Defaults, Dimension
from longwave.platform.sweeps.file.values import LARGEST
from longwave.platform.training.rules import groups_of, optimisers, schedules, training_params
from longwave.tasks.base.spec import Recipe, TaskSpec


@dataclass(frozen=True)
class ResolvedCell:
    """What trials of a cell have in common, and what is drawn for each.

    Attributes:
        fields: Of ``TrialConfig``: sizes, ``clip``, ``drops`` and words; of a drawn one, the largest or the first.
        params: Fixed parameters and training numbers.
        space: What is drawn: the learning rate and parameters, then training numbers and fields as they are named.
        numbers: Defaults of the training numbers that are fixed or drawn.
    """

    fields: Mapping[str, Any]
    params: Mapping[str, float]
    space: tuple[Dimension, ...]
    numbers: Defaults


def resolve_cell(given: CellSettings, task: TaskSpec, model: ModelSpec) -> ResolvedCell:
    """Return a cell made whole.

    Args:
        given: What the file says of it.
        task, model: What is trained.

    Raises:
        ConfigError: A name that means nothing here, or a value that breaks a rule; the message names both.
    """
    recipe, options = task.recipe(model.name), given.options(model)
    fields = _resolve_fields(given, task, recipe)
    rules = _training_numbers(given, task, model, [_possible_words(given, fields, word) for word in WORDS])
    said = {**given.fixed, **given.wishes}
    params = {p.name: p for p in model.space(task.name, options, said)}
    for name in said:
        if name not in {*FIELDS, "drops", *options, *params, *rules}:
            _check_unknown(given, name, task, model, fields)
    fixed = {n: _checked_value(given, p, v) for n, p in params.items() if (v := given.fixed.get(n)) is not None}
    space = [_dimension_of_param(given, p) for n, p in params.items() if n not in fixed]
    published = {n: v for n, v in recipe.numbers.items() if n in rules and n not in given.wishes}
    ours = {n: _checked_value(given, _first_param(rules[n]), v) for n, v in given.fixed.items() if n in rules}
    for name in given.wishes:
        if name in rules:
            space.append(_dimension_of_param(given, _first_param(rules[name])))
        elif name in FIELDS:
            space.append(_dimension_of_field(given, name))
    used = {*published, *ours, *given.wishes} & rules.keys()
    if "label_smoothing" in used and not task.smooths:
        what = f"label_smoothing means nothing on {task.name}, which has no classes"
        raise ConfigError(f"{given.at('label_smoothing')}: {what}. Remove it.")
    numbers = {n: {pair: _numeric_default(p.default) for pair, p in rules[n].items()} for n in sorted(used)}
    return ResolvedCell(fields, {**fixed, **published, **ours}, tuple(space), numbers)


def _resolve_fields(given: CellSettings, task: TaskSpec, recipe: Recipe) -> dict[str, Any]:
    """Return the fields of every trial: what the file says, then the recipe's."""
    found = {name: getattr(recipe, name) for name in (*FIELDS, "drops")}
    found |= {name: _checked_field(given, name, v) for name, v in given.fixed.items() if name in found}
    for name in given.wishes.keys() & {*FIELDS}:
        drawn = _dimension_of_field(given, name)
        found[name] = drawn.choices[0] if name in WORDS else _checked_field(given, name, drawn.most)
    if recipe.steps is None and given.tasks > 1 and "steps" not in given.wishes:
        found["steps"] = None  # the file says it of the others
    if found["steps"] is not None and recipe.steps is None:
        raise ConfigError(f"{given.file}: steps: {task.name} has a training split, whose epochs have no steps to set.")
    falls = "drops" in _possible_words(given, found, "schedule")
    if given.fixed.get("drops") and not falls and "schedule" not in given.cell:
        raise ConfigError(f"{given.file}: drops means nothing with schedule {found['schedule']}. Remove it.")
    return {**found, "drops": tuple(d for d in found["drops"] if d < found["epochs"] and falls)}


def _training_numbers(
    given: CellSettings, task: TaskSpec, model: ModelSpec, words: Sequence[Sequence[Any]]
) -> dict[str, dict[str, Param]]:
    """Return the training numbers that have a meaning under some of these optimisers and schedules."""
    groups = groups_of(task, model)
    found: dict[str, dict[str, Param]] = {}
    for word, known, names in zip(WORDS, (optimisers(), schedules()), words, strict=True):
        if wrong := [name for name in names if name not in known]:
            raise ConfigError(f"{given.at(word)}: {did_you_mean(word, str(wrong[0]), known)}")
    for optimiser, schedule in product(*words):
        for param in training_params(optimiser, schedule, groups):
            found.setdefault(param.name, {})[f"{optimiser}/{schedule}"] = param
    return found


def _check_unknown(given: CellSettings, name: str, task: TaskSpec, model: ModelSpec, fields: Mapping[str, Any]) -> None:
    """Raise ConfigError for a name that means nothing in this cell, unless it does in another cell of the grid."""
    if name in {p.name for p in model.params}:
        raise ConfigError(
            f"{given.at(name)}: {name} means nothing with {model_title(model, given.options(model))}. Remove it."
        )
    elsewhere = _training_numbers(given, task, model, [given.words[word] or [fields[word]] for word in WORDS])
    if name in elsewhere and name not in given.cell:
        return
    everywhere = _training_numbers(given, task, model, [list(optimisers()), list(schedules())])
    if name in everywhere:
        words = " and ".join(f"{word} {' or '.join(_possible_words(given, fields, word))}" for word in WORDS)
        raise ConfigError(f"{given.at(name)}: {name} means nothing with {words}. Remove it.")
    own = [] if given.tables.get(name) in ("recipe", "grid") else [p.name for p in (model.lr, *model.params)]
    kind, more = ("parameter", own) if own else ("word or training number", [*FIELDS])
    raise ConfigError(f"{given.at(name)}: {did_you_mean(kind, name, {*everywhere, *FIELDS, *more})}")


def _checked_value(given: CellSettings, param: Param, value: Any) -> float:
    try:
        if isinstance(value, str | bool):
            raise ValueError(f"{param.symbol} ({param.name}) must be {param.rule}, got {value!r}.")
        param.check(value)
    except ValueError as error:
        raise ConfigError(f"{given.at(param.name)}: {error}") from None
    return float(value)


def _dimension_of_param(given: CellSettings, param: Param) -> Dimension:
    """Return how a parameter, or a training number, is drawn: as the file says, or as it says itself."""
    wish = given.wishes.get(param.name)
    if wish is None:
        return Dimension.of(param)
    if isinstance(wish, list):
        return Dimension(param.name, choices=tuple(_checked_value(given, param, value) for value in wish))
    try:
        return Dimension.of(param.between(wish.low, wish.high, log=wish.log))
    except ValueError as error:
        raise ConfigError(f"{given.at(param.name)}: {error}") from None


def _dimension_of_field(given: CellSettings, name: str) -> Dimension:
    """Return how a field is drawn."""
    wish = given.wishes[name]
    if isinstance(wish, list):
        return Dimension(name, choices=tuple(_checked_field(given, name, value) for value in wish))
    if name in WORDS:
        raise ConfigError(f"{given.at(name)}: {name} is a word: give a list of words.")
    low, high = _checked_field(given, name, wish.low), _checked_field(given, name, wish.high)
    if low > high:
        raise ConfigError(f"{given.at(name)}: {name}: low must not exceed high, got low={low:g}, high={high:g}.")
    return Dimension(name, low, high, bool(wish.log), name in SIZES)


def _checked_field(given: CellSettings, name: str, value: Any) -> Any:
    """Return the value of a field: a whole number, a number or a word; and of ``drops`` what stands there."""
    if name == "drops":
        return value
    if name in WORDS:
        if isinstance(value, str):
            return value
        raise ConfigError(f"{given.at(name)}: {name} must be a word, got {value!r}.")
    kind = "whole number" if name in SIZES else "number"
    if isinstance(value, str | bool) or value <= 0 or (name in SIZES and value != int(value)):
        raise ConfigError(f"{given.at(name)}: {name} must be a {kind} > 0, got {value!r}.")
    if name in SIZES and value > LARGEST:
        raise ConfigError(f"{given.at(name)}: {name} must be at most {LARGEST:,}, got {value!r}.")
    return int(value) if name in SIZES else float(value)


def _possible_words(given: CellSettings, fields: Mapping[str, Any], word: str) -> list[Any]:
    """Return the words that trials of the cell may have."""
    wish = given.wishes.get(word)
    return wish if isinstance(wish, list) else [fields[word]]


def _first_param(params: Mapping[str, Param]) -> Param:
    return next(iter(params.values()))


def _numeric_default(default: float | str | None) -> float | None:
    return None if isinstance(default, str) else default
