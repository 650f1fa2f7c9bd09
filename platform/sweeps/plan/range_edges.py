"""Find winners of a sweep at the edge of what was searched, and choose wider ranges for a second search."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from longwave.models.base.param import Param
from longwave.platform.errors import ConfigError
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model
from longwave.platform.search.space import Dimension, join_dimensions
from longwave.platform.statistics.edges import edge_of
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.values import Range
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.rounds import drawn_values
from longwave.platform.sweeps.plan.trials import group_by_cell

DECADE = 10.0
"""Factor by which a logarithmic range is widened at each end."""


@dataclass(frozen=True)
class AtEdge:
    """A number of a winner at an edge of the range from which it was drawn.

    Attributes:
        cell: Label of its cell.
        row: Identity of the winner's configuration.
        name, value: Of the number.
        low, high: The range.
        end: ``low`` or ``high``.
    """

    cell: str
    row: str
    name: str
    value: float
    low: float
    high: float
    end: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def find_edges(sweep: Sweep, store: Store, name: str) -> tuple[list[AtEdge], list[str]]:
    """Return the numbers of a sweep's winners that lie at an edge, and the labels of the cells without a winner.

    Args:
        sweep: With its spaces.
        store: Where its trials are.
        name: Of the sweep in the store; for an imported one it may differ from its file's.
    """
    edges, unfinished = list[AtEdge](), list[str]()
    for cell, planned in zip(sweep.cells, group_by_cell(sweep, store.planned(name)), strict=True):
        retrainings = [a.id for a in planned if a.phase == "retrain"]
        if not retrainings:
            unfinished.append(cell.label)
        for trial in store.trials_by_id(retrainings[:1]):
            edges += edges_of_winner(cell, trial.config)
    return edges, unfinished


def edges_of_winner(cell: CellPlan, winner: TrialConfig) -> Iterator[AtEdge]:
    """Yield the numbers of a cell's winner at an edge of the range of both its searches; choices have no edges."""
    drawn = drawn_values(cell, winner)
    for d in map(join_dimensions, cell.space, cell.wider or cell.space):
        value = drawn.get(d.name)
        if d.choices or d.low == d.high or value is None or isinstance(value, str):
            continue
        if end := edge_of(value, d.low, d.high, d.log):
            yield AtEdge(cell.label, winner.row, d.name, value, d.low, d.high, end)


def widen_ranges(sweep: Sweep, edges: Sequence[AtEdge]) -> dict[str, dict[str, Range]]:
    """Return, by model and name, the ranges of a second search: a number at an edge is widened for all models alike.

    A logarithmic range grows by ``DECADE`` at each end, any other by its own width, as far as values are valid.

    Args:
        sweep: The sweep that was searched.
        edges: Its numbers at edges.

    Raises:
        ConfigError: The sweep already has a second search.
    """
    _check_no_second_search(sweep)
    names, space = {edge.name for edge in edges}, dict[str, dict[str, Range]]()
    for cell in sweep.cells:
        params = _params(cell)
        for d in cell.space:
            if d.name in names & params.keys() and not d.choices and (new := _widen(d, params[d.name])) != d:
                space.setdefault(cell.base.model, {})[d.name] = Range(low=new.low, high=new.high, log=new.log)
    return space


def boxes_of_winners(sweep: Sweep, store: Store, name: str) -> dict[str, dict[str, Range]]:
    """Return, by model and name, the ranges of a second search of rule 2: a box around the winners of each model.

    It reaches half a decade beyond them, or a quarter of a range that is not logarithmic, and leaves the first range
    only at an end where a winner lies.

    Args:
        sweep, store, name: As of ``find_edges``.

    Raises:
        ConfigError: The sweep already has a second search.
    """
    _check_no_second_search(sweep)
    space: dict[str, dict[str, Range]] = {}
    for cell, planned in zip(sweep.cells, group_by_cell(sweep, store.planned(name)), strict=True):
        retrainings = [a.id for a in planned if a.phase == "retrain"]
        for trial in store.trials_by_id(retrainings[:1]):
            ends = {(edge.name, edge.end) for edge in edges_of_winner(cell, trial.config)}
            values, params = drawn_values(cell, trial.config), _params(cell)
            boxes = space.setdefault(cell.base.model, {})
            for d in cell.space:
                value = values.get(d.name)
                if d.name in params and isinstance(value, float) and not d.choices and d.low < d.high:
                    box = _box_round(d, value, params[d.name], {end for name, end in ends if name == d.name})
                    boxes[d.name] = _join_ranges(boxes.get(d.name, box), box)
    return space


def _box_round(d: Dimension, value: float, param: Param, ends: Collection[str]) -> Range:
    """Return the part of a range near a value, which leaves the range at ``ends``."""
    if d.log:
        low, high = value / math.sqrt(DECADE), value * math.sqrt(DECADE)
    else:
        low, high = value - (d.high - d.low) / 4, value + (d.high - d.low) / 4
        low = max(low, 0.0 if param.zero else d.low / DECADE)
    low = low if "low" in ends else max(low, d.low)
    high = min(high, param.most) if "high" in ends else min(high, d.high)
    low, high = _round_ends(d, param, low, high)
    return Range(low=low, high=high, log=d.log)


def _join_ranges(one: Range, other: Range) -> Range:
    return Range(low=min(one.low, other.low), high=max(one.high, other.high), log=one.log)


def _params(cell: CellPlan) -> dict[str, Param]:
    """Return learning rate and parameters of a cell's model by name."""
    model = get_model(cell.base.model)
    return {p.name: p for p in (model.lr, *model.params)}


def _check_no_second_search(sweep: Sweep) -> None:
    if sweep.file.wider:
        raise ConfigError(f"{sweep.file.name} has a second search over wider ranges: change them in [wider.space].")


def list_not_widened(sweep: Sweep, edges: Sequence[AtEdge]) -> dict[str, list[str]]:
    """Return, by model, the names at edges that are neither η nor a parameter of the model, as ``hidden``: a second
    search widens them only by hand.
    """
    names: dict[str, list[str]] = {}
    for cell in sweep.cells:
        left_out = [edge.name for edge in edges if edge.cell == cell.label and edge.name not in _params(cell)]
        known = names.get(cell.base.model, [])
        if new := [*known, *(name for name in left_out if name not in known)]:
            names[cell.base.model] = new
    return names


def format_tables(
    space: Mapping[str, Mapping[str, Range]], trials: int, not_widened: Mapping[str, Sequence[str]] = {}
) -> str:
    """Return a second search of ``trials`` trials over these ranges as tables of a sweep file; empty without ranges. A
    comment lists the names that are ``not_widened``, by model.
    """
    text = f"\n[wider]\ntrials = {trials}\n" if space else ""
    for model, names in not_widened.items():
        text += f"# Winners lie at an edge of {', '.join(names)} too: widen these by hand, in [wider.space.{model}].\n"
    for model, ranges in space.items():
        text += f"\n[wider.space.{model}]\n"
        for name, r in ranges.items():
            text += f"{name} = {{ low = {r.low!r}, high = {r.high!r}, log = {str(r.log).lower()} }}\n"
    return text


def _widen(d: Dimension, param: Param) -> Dimension:
    """Return a range widened at both ends, as far as the parameter's values are valid."""
    if d.log:
        low, high = d.low / DECADE, d.high * DECADE
    else:
        least = 0.0 if param.zero else d.low / DECADE  # a parameter that must be positive stays positive
        width = d.high - d.low
        low, high = max(d.low - width, min(least, d.low)), d.high + width
    low, high = _round_ends(d, param, low, min(high, param.most))
    return replace(d, low=low, high=high)


def _round_ends(d: Dimension, param: Param, low: float, high: float) -> tuple[float, float]:
    """Return the ends of a range, rounded outwards to valid values if only whole numbers are drawn."""
    if not d.whole:
        return low, high
    least = 0.0 if param.zero and not d.log else 1.0
    return max(least, float(math.floor(low))), float(math.ceil(high))
