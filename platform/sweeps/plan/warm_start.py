"""Warm starts of a search: settings that a paper found best, the store's best rows, or trials of an Optuna study.

They must lie in the search space, and count as trials. No test metric chooses them: rows are ranked by validation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.row import SHORT
from longwave.platform.records.group import Group
from longwave.platform.records.trial import FIELDS, WORDS
from longwave.platform.search.space import Drawn
from longwave.platform.search.studies import read_study
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep, WarmStart, training_words
from longwave.platform.sweeps.plan.rounds import drawn_values
from longwave.platform.wording import describe_count

if TYPE_CHECKING:
    from longwave.models.base.spec import ModelSpec
    from longwave.platform.storage.store import Store

ROWS = 3
"""Greatest number of rows that a search begins with."""


def published_settings(cell: CellPlan, model: ModelSpec) -> list[WarmStart]:
    """Return the settings that the model's paper found best on the cell's task, those of the cell's variant first.

    Drawn words, sizes and training numbers that the paper leaves open are those of the recipe, if in the space.
    """
    base, starts = cell.base, list[tuple[bool, WarmStart]]()
    for best in model.best:
        task, _, variant = best.task.partition(" ")
        if task == base.task:
            source = f"{model.best_source}, {best.task}" + (f" ({best.note})" if best.note else "")
            values: dict[str, Any] = {**_drawn_by_recipe(cell), **best.values, "hidden": best.hidden}
            starts.append((variant not in ("", base.variant), _warm_start(cell, source, values, model.defaults)))
    return [start for _, start in sorted(starts, key=lambda pair: pair[0])]


def with_settings_of_rows(sweep: Sweep, store: Store) -> Sweep:
    """Return the sweep, with warm starts from rows of the store if its file requests them."""
    if "rows" not in sweep.file.warm:
        return sweep
    groups = {task: store.groups(task) for task in sweep.file.variant_by_task}

    def extend_cell(cell: CellPlan) -> CellPlan:
        starts = [*cell.warm, *settings_of_rows(cell, groups[cell.base.task])]
        return replace(cell, warm=choose_starts(sweep.file.of_cell(len(cell.space)), starts))

    return replace(sweep, cells=tuple(map(extend_cell, sweep.cells)))


def with_settings_of_studies(sweep: Sweep) -> Sweep:
    """Return the sweep, with warm starts from Optuna studies if its file names some.

    Raises:
        ConfigError: A study cannot be read.
    """
    studies = {model: (read_study(study.storage, study.name), study.best) for model, study in sweep.file.study.items()}

    def extend_cell(cell: CellPlan) -> CellPlan:
        if cell.base.model not in studies:
            return cell
        (name, trials), best = studies[cell.base.model]
        starts = [
            _warm_start(cell, f"trial {t.number} of the study {name}, value {t.value:.4g}", t.params, {})
            for t in trials[:best]
        ]
        return replace(cell, warm=choose_starts(sweep.file.of_cell(len(cell.space)), [*cell.warm, *starts]))

    return replace(sweep, cells=tuple(map(extend_cell, sweep.cells))) if studies else sweep


def settings_of_rows(cell: CellPlan, groups: Iterable[Group]) -> list[WarmStart]:
    """Return the settings of the best rows of the cell's model on its task, the best first.

    Rows are ranked by the median validation metric of their local retrainings, in which a diverged one is worst. Rows
    without a finite median, and those of older versions, are left out.
    """
    base, ranked = cell.base, list[tuple[float, WarmStart]]()
    for group in groups:
        config = group.config
        is_same = all(getattr(config, n) == getattr(base, n) for n in ("task", "variant", "model", "options"))
        sign = -1.0 if cell.goal == "max" else 1.0
        if is_same and not group.superseded and math.isfinite(valid := _median_on_validation(group, sign)):
            source = f"row {group.row[:SHORT]}, {cell.metric} {sign * valid:.4g} on validation"
            numbers = {n: cell.numbers.get(n, {}).get(training_words(config)) for n in base.params}
            fields = {n: getattr(config, n) for n in FIELDS}
            values = {**numbers, **config.params, **fields, **drawn_values(cell, config)}
            ranked.append((valid, _warm_start(cell, source, values, {})))
    return [start for _, start in sorted(ranked, key=lambda pair: (pair[0], pair[1].source))[:ROWS]]


def choose_starts(file: SweepFile, starts: Sequence[WarmStart]) -> tuple[WarmStart, ...]:
    """Return the settings, with duplicates, and those beyond the number of trials, marked as left out."""
    chosen: list[WarmStart] = []
    for start in starts:
        used = [k for k in chosen if not k.out]
        duplicate = next((k.source for k in used if k.values == start.values), "")
        surplus = f"more than {describe_count(file.trials, 'trial')}" if len(used) == file.trials else ""
        chosen.append(replace(start, out=start.out or (f"the same as {duplicate}" if duplicate else surplus)))
    return tuple(chosen)


def _warm_start(cell: CellPlan, source: str, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> WarmStart:
    """Return a warm start: the values that a search draws, and how the source differs in the others.

    Args:
        cell: The cell.
        source: Where the setting is from.
        values: Its values by name.
        defaults: Of the model's options, where ``values`` may hold them.
    """
    drawn = {d.name: d for d in cell.space}
    fixed = {**defaults, **cell.base.options, **_fixed_values(cell)}
    values_of_drawn: dict[str, Drawn] = {}
    differing, out = [], []
    for name, value in values.items():
        if name in drawn:
            if value is not None:
                values_of_drawn[name] = value if isinstance(value, str) else float(value)
            if not drawn[name].holds(value):
                out.append(f"{name} {_format_value(value)} {drawn[name].describe_miss(value)}")
        elif name in FIELDS:
            differing += [f"{name} {_format_value(value)}"] if value != getattr(cell.base, name) else []
        elif name not in fixed:
            out.append(f"{name} {_format_value(value)} is neither drawn nor fixed here")
        elif value != fixed[name]:
            out.append(f"{name} {_format_value(value)} is {_format_value(fixed[name])} here")
    return WarmStart(source, values_of_drawn, ", ".join(differing), "; ".join(out))


def _drawn_by_recipe(cell: CellPlan) -> dict[str, Any]:
    """Return the recipe's values of what is drawn, if they lie in the space."""
    recipe = cell.recipe or {}
    words = "/".join(str(recipe.get(word)) for word in WORDS)
    defaults = {name: by_words[words] for name, by_words in cell.numbers.items() if words in by_words}
    values = {**defaults, **recipe, **recipe.get("numbers", {})}
    return {d.name: values[d.name] for d in cell.space if d.name in values and d.holds(values[d.name])}


def _fixed_values(cell: CellPlan) -> dict[str, Any]:
    """Return the parameters and training numbers that all trials of a cell share, including those left at defaults."""
    words = training_words(cell.base)
    return {
        **{name: by_words[words] for name, by_words in cell.numbers.items() if words in by_words},
        **cell.base.params,
    }


def _median_on_validation(group: Group, sign: float) -> float:
    """Return the median validation metric of local retrainings, signed so that less is better; inf without any."""
    ended = [run for run in group.runs if run.id not in group.came and run.status in ("ok", "diverged")]
    valids = [sign * run.valid if run.status == "ok" and run.valid is not None else math.inf for run in ended]
    return median(valids) if valids else math.inf


def _format_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
