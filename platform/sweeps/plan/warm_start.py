"""What a search begins with: settings that a paper found best, and those of the store's best rows, as far as they fit.

They are counted in its trials like any other, and found by nobody's test metric: rows are chosen by validation.
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
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.space import Dimension, Drawn
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep, WarmStart, training_words
from longwave.platform.sweeps.plan.rounds import drawn_values

if TYPE_CHECKING:
    from longwave.models.base.spec import ModelSpec
    from longwave.platform.storage.store import Store

ROWS = 3
"""Rows that a search begins with at most: those that are best on validation."""


def published_settings(entry: CellPlan, model: ModelSpec) -> list[WarmStart]:
    """Return the settings that the model's paper found best on the cell's task, those of its own variant first.

    Words, sizes and training numbers that are drawn are those of the recipe, where they may be.
    """
    base, found = entry.base, list[tuple[bool, WarmStart]]()
    for best in model.best:
        task, _, variant = best.task.partition(" ")
        if task == base.task:
            source = f"{model.best_source}, {best.task}" + (f" ({best.note})" if best.note else "")
            said: dict[str, Any] = {**_drawn_by_recipe(entry), **best.values, "hidden": best.hidden}
            found.append((variant not in ("", base.variant), _warm_start(entry, source, said, model.defaults)))
    return [start for _, start in sorted(found, key=lambda pair: pair[0])]


def with_settings_of_rows(sweep: Sweep, store: Store) -> Sweep:
    """Return the sweep whose searches begin with rows of the store, too, if its file says so."""
    if "rows" not in sweep.file.warm:
        return sweep
    groups = {task: store.groups(task) for task in sweep.file.places}
    return replace(
        sweep,
        entries=tuple(
            replace(
                entry, warm=choose_starts(sweep.file, [*entry.warm, *settings_of_rows(entry, groups[entry.base.task])])
            )
            for entry in sweep.entries
        ),
    )


def settings_of_rows(entry: CellPlan, groups: Iterable[Group]) -> list[WarmStart]:
    """Return the settings of the rows of the cell's model on its task that are best on validation, the best first.

    A row counts by the median over the retrainings made here, a diverged one worst; where that is none, and where an
    older version trained it, it does not.
    """
    base, found = entry.base, list[tuple[float, WarmStart]]()
    for group in groups:
        there = group.config
        same = all(getattr(there, n) == getattr(base, n) for n in ("task", "variant", "model", "options"))
        sign = -1.0 if entry.goal == "max" else 1.0
        if same and not group.superseded and math.isfinite(valid := _median_on_validation(group, sign)):
            source = f"row {group.row[:SHORT]}, {entry.metric} {sign * valid:.4g} on validation"
            numbers = {n: entry.numbers.get(n, {}).get(training_words(there)) for n in base.params}
            fields = {n: getattr(there, n) for n in FIELDS}
            said = {**numbers, **there.params, **fields, **drawn_values(entry, there)}
            found.append((valid, _warm_start(entry, source, said, {})))
    return [start for _, start in sorted(found, key=lambda pair: (pair[0], pair[1].source))[:ROWS]]


def choose_starts(file: SweepFile, starts: Sequence[WarmStart]) -> tuple[WarmStart, ...]:
    """Return settings of which none comes twice, and no more than there are trials; the others are left out."""
    kept: list[WarmStart] = []
    for start in starts:
        used = [k for k in kept if not k.out]
        same = next((k.source for k in used if k.values == start.values), "")
        full = f"more than {file.trials} trials" if len(used) == file.trials else ""
        kept.append(replace(start, out=start.out or (f"the same as {same}" if same else full)))
    return tuple(kept)


def _warm_start(entry: CellPlan, source: str, said: Mapping[str, Any], defaults: Mapping[str, Any]) -> WarmStart:
    """Return a setting as far as a search draws what it says.

    Args:
        entry: The cell.
        source: Where the setting is from.
        said: Its values by name.
        defaults: Of the model's options, where ``said`` may hold them.
    """
    drawn = {d.name: d for d in entry.space}
    fixed = {**defaults, **entry.base.options, **_fixed_values(entry)}
    values: dict[str, Drawn] = {}
    beside, out = [], []
    for name, value in said.items():
        if name in drawn:
            values[name] = value if isinstance(value, str) else float(value)
            if not drawn[name].holds(value):
                out.append(f"{name} {_format_value(value)} lies outside {_format_range(drawn[name])}")
        elif name in FIELDS:
            beside += [f"{name} {_format_value(value)}"] if value != getattr(entry.base, name) else []
        elif name not in fixed:
            out.append(f"{name} {_format_value(value)} is neither drawn nor fixed here")
        elif value != fixed[name]:
            out.append(f"{name} {_format_value(value)} is {_format_value(fixed[name])} here")
    return WarmStart(source, values, ", ".join(beside), "; ".join(out))


def _drawn_by_recipe(entry: CellPlan) -> dict[str, Any]:
    """Return what the recipe says of what is drawn, as far as it may be drawn."""
    recipe = entry.recipe or {}
    pair = "/".join(str(recipe.get(word)) for word in WORDS)
    defaults = {name: of[pair] for name, of in entry.numbers.items() if pair in of}
    said = {**defaults, **recipe, **recipe.get("numbers", {})}
    return {d.name: said[d.name] for d in entry.space if d.name in said and d.holds(said[d.name])}


def _fixed_values(entry: CellPlan) -> dict[str, Any]:
    """Return parameters and training numbers that all trials of a cell have; those that it leaves at a default, too."""
    pair = training_words(entry.base)
    return {**{name: of[pair] for name, of in entry.numbers.items() if pair in of}, **entry.base.params}


def _median_on_validation(group: Group, sign: float) -> float:
    """Return the median validation metric of the retrainings made here, the less the better; inf where it is none."""
    ended = [run for run in group.runs if run.id not in group.came and run.status in ("ok", "diverged")]
    valids = [sign * run.valid if run.status == "ok" and run.valid is not None else math.inf for run in ended]
    return median(valids) if valids else math.inf


def _format_range(d: Dimension) -> str:
    return ", ".join(map(_format_value, d.choices)) if d.choices else f"{d.low:g} to {d.high:g}"


def _format_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
