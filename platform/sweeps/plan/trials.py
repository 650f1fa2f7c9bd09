"""Which trials a sweep needs, given how the earlier ones ended. Pure: nothing is run, and no data are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.run import Run
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.records.trial import FIELDS, TrialConfig
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.rounds import fixed_trial, next_round, search_seeds


def search_trials(sweep: Sweep, ends: Mapping[str, Run]) -> list[list[TrialConfig]]:
    """Return the search trials of each cell that ``ends`` decides: a round follows once the last has ended."""
    search = []
    for cell in sweep.cells:
        mine: list[TrialConfig] = []
        while all(c.id in ends for c in mine) and (wanted := next_round(sweep.file, cell, mine, ends)):
            mine += wanted
        search.append(mine)
    return search


def first_trials(sweep: Sweep) -> list[list[TrialConfig]]:
    """Return the first trials of each cell: those of its search's first round, or retrainings without a search."""
    search = search_trials(sweep, {})
    return [
        mine or plan_retrainings(sweep.file, fixed_trial(cell)) for mine, cell in zip(search, sweep.cells, strict=True)
    ]


def all_trials(sweep: Sweep, ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return every trial of the sweep, as far as ``ends`` decides it.

    The search trials come first; a cell's next round, and the retrainings of its winner, follow once all its trials so
    far have ended. Without a search the fixed configuration is retrained at once.

    Args:
        sweep: The sweep.
        ends: How trials ended, by trial id.
    """
    search = search_trials(sweep, ends)
    retrainings = [
        config
        for cell, mine in zip(sweep.cells, search, strict=True)
        if all(c.id in ends for c in mine)
        and (best := choose_winner(mine, ends, cell.goal) if sweep.file.trials else fixed_trial(cell))
        for config in plan_retrainings(sweep.file, best)
    ]
    return [*chain(*search), *retrainings]


def following_trials(
    sweep: Sweep,
    planned: Sequence[PlannedTrial],
    read: Callable[[Sequence[str]], Mapping[str, tuple[TrialConfig, Run]]],
) -> Iterator[tuple[int, TrialConfig]]:
    """Yield the trials that follow from those planned already, with the indices of their cells.

    Planned trials stay as they are, even if models and tasks have changed since: nothing follows in a finished sweep.

    Args:
        sweep: The sweep.
        planned: Its trials so far, in order.
        read: Returns configurations and runs of trials by id; it is called for as few as possible.
    """
    file, cells = sweep.file, group_by_cell(sweep, planned)
    for index, (cell, mine) in enumerate(zip(sweep.cells, cells, strict=True)):
        if any(a.open or a.phase == "retrain" for a in mine):
            continue
        wanted: Sequence[TrialConfig] = ()
        if len(mine) < file.searched:
            known = list(read([a.id for a in mine]).values())
            wanted = next_round(file, cell, [c for c, _ in known], {c.id: run for c, run in known})
        elif not file.trials:
            wanted = plan_retrainings(file, fixed_trial(cell))
        elif best := _best_trial([(a.valid, a.id) for a in mine if a.status == "ok"], cell.goal):
            wanted = plan_retrainings(file, read([best])[best][0])
        yield from ((index, config) for config in wanted)


def group_by_cell(sweep: Sweep, planned: Sequence[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Return the trials of each cell; trials planned before there were cells are grouped by their model."""
    by_cell: dict[int | str, list[PlannedTrial]] = {}
    for a in planned:
        by_cell.setdefault(a.model if a.cell is None else a.cell, []).append(a)
    return [by_cell.get(k, []) + by_cell.get(cell.base.model, []) for k, cell in enumerate(sweep.cells)]


def cell_key(file: SweepFile, config: TrialConfig) -> tuple[Any, ...]:
    """Return what identifies the cell of a trial within a file: task, model, and the values that a grid varies."""
    chosen = {**config.params, **config.options}
    varied = (getattr(config, n) if n in FIELDS else chosen.get(n) for n in file.names_in_grid(config.model))
    return (config.task, config.model, *varied)


def choose_winner(trials: Sequence[TrialConfig], ends: Mapping[str, Run], goal: str) -> TrialConfig | None:
    """Return the search trial with the best validation metric; test metrics are not looked at. None if none is ok."""
    best = _best_trial([(ends[c.id].valid, c.id) for c in trials if ends[c.id].status == "ok"], goal)
    return next((c for c in trials if c.id == best), None)


def plan_retrainings(file: SweepFile, best: TrialConfig) -> list[TrialConfig]:
    """Return the retrainings of a cell's winner, each with a fresh seed that differs from every search seed."""
    taken = set(search_seeds(file, best.model))
    fresh = (seed for k in range(10**6) if (seed := derive_seed("retrain", seed_key(best), k)) not in taken)
    again = replace(best, phase="retrain", halving=None)
    return [replace(again, seed=next(fresh)) for _ in range(file.retrain)]


def _best_trial(scores: Sequence[tuple[float | None, str]], goal: str) -> str | None:
    """Return the id with the best score; ids decide between equal ones. None if there is none."""
    sign = -1.0 if goal == "max" else 1.0
    usable = [(sign * valid, trial) for valid, trial in scores if valid is not None]
    return min(usable)[1] if usable else None
