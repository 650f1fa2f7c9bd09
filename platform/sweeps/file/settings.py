"""What a sweep file sets for each cell, read from its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from longwave.models.base.param import OptionValue
from longwave.models.base.spec import ModelSpec
from longwave.platform.errors import ConfigError
from longwave.platform.records.trial import FIELDS, SIZES, WORDS
from longwave.platform.registry import get_task
from longwave.platform.sweeps.file.reading import check_recipe
from longwave.platform.sweeps.file.schema import RecipeChanges, SweepFile
from longwave.platform.sweeps.file.values import Range

OUTSIDE_TABLES = (*SIZES, "clip", "drops")
"""Names that are set outside of any table: at the top of a file, or of a model's section."""


@dataclass(frozen=True)
class CellSettings:
    """What a file sets for one cell of one model.

    Attributes:
        file: Name of the sweep.
        tables: The table that contains each name, for errors; empty for names outside of all tables.
        fixed: Values by name: fields, ``drops``, options, parameters and training numbers.
        drawn: What is to be drawn, by name: ranges and choices.
        cell: The part of ``fixed`` that comes from the grid.
        uses_steps: Whether some task of the sweep draws fresh examples, whose epochs have so many steps.
        uses_time_scale: Whether parameters in units of steps are drawn by the task's time scale, as under rule 2.
        words: Optimisers and schedules of all cells of the model, as far as the file fixes them.
    """

    file: str
    tables: Mapping[str, str]
    fixed: Mapping[str, Any]
    drawn: Mapping[str, Range | list[Any]]
    cell: Mapping[str, Any]
    uses_steps: bool
    uses_time_scale: bool
    words: Mapping[str, Sequence[Any]]

    def at(self, name: str) -> str:
        """Return where the file sets ``name``: ``demo: space.lem``."""
        table = self.tables.get(name, "")
        return f"{self.file}: {table}" if table else self.file

    def options(self, model: ModelSpec) -> dict[str, OptionValue]:
        """Return the value of every option of the model.

        Raises:
            ConfigError: The option has no such value.
        """
        options = {name: self.fixed.get(name, default) for name, default in model.defaults.items()}
        for name, choices in model.options.items():
            if repr(options[name]) not in map(repr, choices):
                where, allowed = f"{self.file}: model.{model.name}.{name}", ", ".join(map(str, choices))
                raise ConfigError(f"{where} must be one of {allowed}, got {options[name]!r}.")
        return options

    def fields(self, model: ModelSpec) -> dict[str, Any]:
        """Return the fields of a trial that the file fixes, without names that are options of the model."""
        return {n: v for n, v in self.fixed.items() if n in (*FIELDS, "drops") and n not in model.options}


def read_cells(file: SweepFile, model: ModelSpec) -> Iterator[CellSettings]:
    """Yield the settings of each cell of a model, in the grid's order; the last list varies fastest.

    Raises:
        ConfigError: A name is set twice, or in a table where it does not belong; the message names it.
    """
    table = file.model.get(model.name, {})
    options = {name: value for name, value in table.items() if name in model.options}
    for name in (model.lr.name, *(param.name for param in model.params)):
        if name in table:
            reason = f"{name} is a parameter: fix it in [space.{model.name}], {name} = {table[name]}"
            raise ConfigError(f"{file.name}: model.{model.name}: {reason}.")
    changes = check_recipe({k: v for k, v in table.items() if k not in options}, f"{file.name}: model.{model.name}")
    choices, grid = file.space.get(model.name, {}), {**file.grid, **changes.grid}
    recipe = {**file.recipe, **changes.recipe}
    fixed = {**_fixed_outside_tables(file), **_fixed_outside_tables(changes), **recipe, **options}
    _check_once(file.name, model.name, fixed, grid, choices)
    _check_tables(file, model, recipe, grid)
    drawn = {name: choice for name, choice in choices.items() if not isinstance(choice, float | int)}
    fixed |= {name: choice for name, choice in choices.items() if name not in drawn}
    tables = dict.fromkeys(recipe, "recipe") | dict.fromkeys(grid, "grid")
    tables |= dict.fromkeys(choices, f"space.{model.name}")
    words = {word: grid.get(word) or [value for value in [fixed.get(word)] if value] for word in WORDS}
    uses_steps = any(get_task(task).recipe(model.name).steps is not None for task in file.variant_by_task)
    for values in product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        yield CellSettings(file.name, tables, {**fixed, **cell}, drawn, cell, uses_steps, file.rule == 2, words)


def _fixed_outside_tables(changes: RecipeChanges) -> dict[str, Any]:
    """Return what a file, or a model's section, fixes outside of tables."""
    return {name: value for name in OUTSIDE_TABLES if (value := getattr(changes, name)) is not None}


def _check_once(
    file: str, model: str, fixed: Mapping[str, Any], grid: Mapping[str, Any], choices: Mapping[str, Any]
) -> None:
    for a, b, how in (
        (fixed, grid, "both fixed and in the grid"),
        (fixed, choices, f"both fixed and in [space.{model}]"),
        (grid, choices, f"both in the grid and in [space.{model}]"),
    ):
        if duplicates := [name for name in a if name in b]:
            raise ConfigError(f"{file}: {model}: {duplicates[0]} is {how}. Keep one.")


def _check_tables(file: SweepFile, model: ModelSpec, recipe: Mapping[str, Any], grid: Mapping[str, Any]) -> None:
    parameters = {model.lr.name, *(param.name for param in model.params)}
    space = file.space.get(model.name, {})
    for table, names, misplaced_names, advice in (
        ("recipe", recipe, model.options, f"an option: give it in [model.{model.name}]"),
        ("recipe", recipe, parameters, f"a parameter: fix it in [space.{model.name}]"),
        ("recipe", recipe, OUTSIDE_TABLES, "not part of a recipe: give it outside of that table"),
        ("grid", file.grid, model.options, f"an option: give it in [model.{model.name}.grid]"),
        ("grid", grid, parameters, f"a parameter: give choices in [space.{model.name}]"),
        ("grid", grid, ("drops",), "not for a grid: fix it"),
        (f"space.{model.name}", space, model.options, f"an option: give it in [model.{model.name}.grid]"),
        (f"space.{model.name}", space, ("drops",), "not drawn: fix it"),
    ):
        if misplaced := [name for name in names if name in misplaced_names]:
            raise ConfigError(f"{file.name}: {table}: {misplaced[0]} is {advice}.")
