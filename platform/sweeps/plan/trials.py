"""Pure planning: which trials a sweep asks for, given how the earlier ones ended. Runs nothing, reads no data."""

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
    """Return the search trials of each cell, as far as ``ends`` decides them: a round joins once that before ended."""
    found = []
    for entry in sweep.entries:
        mine: list[TrialConfig] = []
        while all(c.id in ends for c in mine) and (wanted := next_round(sweep.file, entry, mine, ends)):
            mine += wanted
        found.append(mine)
    return found


def first_trials(sweep: Sweep) -> list[list[TrialConfig]]:
    """Return the trials that each cell begins with: those of its search's first round, or retrainings without one."""
    found = search_trials(sweep, {})
    return [mine or plan_retrainings(sweep.file, fixed_trial(e)) for mine, e in zip(found, sweep.entries, strict=True)]


def all_trials(sweep: Sweep, ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return every trial the sweep asks for, as far as ``ends`` decides it.

    The search trials of a round come first; a cell's next round, and the retrainings of its winner, join once all
    its trials so far have ended. Without a search there are the retrainings of what is fixed, at once.

    Args:
        sweep: The sweep.
        ends: How trials ended, by trial id.
    """
    search = search_trials(sweep, ends)
    again = [
        config
        for entry, mine in zip(sweep.entries, search, strict=True)
        if all(c.id in ends for c in mine)
        and (best := choose_winner(mine, ends, entry.goal) if sweep.file.trials else fixed_trial(entry))
        for config in plan_retrainings(sweep.file, best)
    ]
    return [*chain(*search), *again]


def following_trials(
    sweep: Sweep,
    planned: Sequence[PlannedTrial],
    read: Callable[[Sequence[str]], Mapping[str, tuple[TrialConfig, Run]]],
) -> Iterator[tuple[int, TrialConfig]]:
    """Yield the trials that follow from those planned already, which are never planned again, with their cells.

    What is planned stays as it is, whatever has become of models and tasks since: a sweep that is over asks for
    nothing.

    Args:
        sweep: The sweep.
        planned: Its trials so far, in order.
        read: Gives configurations and ends of trials by id; asked for as few as will do.
    """
    file, cells = sweep.file, group_by_cell(sweep, planned)
    for cell, (entry, mine) in enumerate(zip(sweep.entries, cells, strict=True)):
        if any(a.open or a.phase == "retrain" for a in mine):
            continue
        wanted: Sequence[TrialConfig] = ()
        if len(mine) < file.searched:
            known = list(read([a.id for a in mine]).values())
            wanted = next_round(file, entry, [c for c, _ in known], {c.id: run for c, run in known})
        elif not file.trials:
            wanted = plan_retrainings(file, fixed_trial(entry))
        elif best := _best_trial([(a.valid, a.id) for a in mine if a.status == "ok"], entry.goal):
            wanted = plan_retrainings(file, read([best])[best][0])
        yield from ((cell, config) for config in wanted)


def group_by_cell(sweep: Sweep, planned: Sequence[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Return the trials of each cell; those of before there were cells are told apart by their model."""
    by_cell: dict[int | str, list[PlannedTrial]] = {}
    for a in planned:
        by_cell.setdefault(a.model if a.cell is None else a.cell, []).append(a)
    return [by_cell.get(k, []) + by_cell.get(e.base.model, []) for k, e in enumerate(sweep.entries)]


def cell_key(file: SweepFile, config: TrialConfig) -> tuple[Any, ...]:
    """Return what tells the cell of a trial from a file's other cells: task, model, and the values a grid varies."""
    chosen = {**config.params, **config.options}
    varied = (getattr(config, n) if n in FIELDS else chosen.get(n) for n in file.gridded(config.model))
    return (config.task, config.model, *varied)


def choose_winner(trials: Sequence[TrialConfig], ends: Mapping[str, Run], goal: str) -> TrialConfig | None:
    """Return the search trial with the best validation metric; test metrics are not looked at. None if none is ok."""
    best = _best_trial([(ends[c.id].valid, c.id) for c in trials if ends[c.id].status == "ok"], goal)
    return next((c for c in trials if c.id == best), None)


def plan_retrainings(file: SweepFile, best: TrialConfig) -> list[TrialConfig]:
    """Return the configuration of a cell's winner once a fresh seed, different from every search seed."""
    taken = set(search_seeds(file, best.model))
    fresh = (seed for k in range(10**6) if (seed := derive_seed("retrain", seed_key(best), k)) not in taken)
    again = replace(best, phase="retrain", halving=None)
    return [replace(again, seed=next(fresh)) for _ in range(file.retrain)]


def _best_trial(scores: Sequence[tuple[float | None, str]], goal: str) -> str | None:
    """Return the id with the best score; ids decide between equal ones. None if there is none."""
    sign = -1.0 if goal == "max" else 1.0
    usable = [(sign * valid, trial) for valid, trial in scores if valid is not None]
    return min(usable)[1] if usable else None
