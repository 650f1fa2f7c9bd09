"""Which trials a sweep needs, given how the earlier ones ended. Pure functions: they run nothing and read no data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from longwave.platform.records.run import Run
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.scale import Scale
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.race import choose_by_race, next_heat
from longwave.platform.sweeps.plan.rounds import fixed_trial, in_complete_rounds, next_round
from longwave.platform.sweeps.plan.seeds import retraining_seeds


def search_trials(sweep: Sweep, ends: Mapping[str, Run]) -> list[list[TrialConfig]]:
    """Return the search trials of each cell that ``ends`` decides: a round follows once the one before has ended."""
    search = []
    for cell in sweep.cells:
        trials: list[TrialConfig] = []
        while all(c.id in ends for c in trials) and (new_trials := next_round(sweep.file, cell, trials, ends)):
            trials += new_trials
        search.append(trials)
    return search


def first_trials(sweep: Sweep) -> list[list[TrialConfig]]:
    """Return the first trials of each cell: those of its search's first round, or retrainings without a search."""
    search = search_trials(sweep, {})
    return [
        trials or plan_retrainings(sweep.file, fixed_trial(cell))
        for trials, cell in zip(search, sweep.cells, strict=True)
    ]


def all_trials(sweep: Sweep, ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return every trial of the sweep, as far as ``ends`` decides it.

    The search trials come first; a cell's next round, its race, and the retrainings of its winner follow once all its
    trials so far have ended. Without a search the fixed configuration is retrained at once.

    Args:
        sweep: The sweep.
        ends: How trials ended, by id.
    """
    search = search_trials(sweep, ends)
    later: list[TrialConfig] = []
    for cell, searched in zip(sweep.cells, search, strict=True):
        raced: list[TrialConfig] = []
        while all(c.id in ends for c in (*searched, *raced)):
            if not (heat := next_heat(sweep.file, cell.scale, searched, raced, ends)):
                break
            raced += heat
        later += raced
        if all(c.id in ends for c in (*searched, *raced)) and (
            best := _choose(sweep.file, cell, searched, raced, ends)
        ):
            later += plan_retrainings(sweep.file, best)
    return [*chain(*search), *later]


def _choose(
    file: SweepFile,
    cell: CellPlan,
    search: Sequence[TrialConfig],
    raced: Sequence[TrialConfig],
    ends: Mapping[str, Run],
) -> TrialConfig | None:
    """Return the winner of a cell whose trials have ended, as ``choose_winner``; None if there is none."""
    if not file.trials:
        return fixed_trial(cell)
    return choose_winner(file, cell.scale, search, raced, ends)


def following_trials(
    sweep: Sweep,
    planned: Sequence[PlannedTrial],
    read: Callable[[Sequence[str]], Mapping[str, tuple[TrialConfig, Run]]],
) -> Iterator[tuple[int, TrialConfig]]:
    """Yield the trials that follow from those already planned, with the indices of their cells.

    Planned trials stay as they are, even if models and tasks have changed since: nothing follows in a finished sweep.

    Args:
        sweep: The sweep.
        planned: Its trials so far, in order.
        read: Returns configurations and runs of trials by id; it is called for as few as possible.
    """
    file, cells = sweep.file, group_by_cell(sweep, planned)
    for index, (cell, trials) in enumerate(zip(sweep.cells, cells, strict=True)):
        if any(a.open or a.phase == "retrain" for a in trials):
            continue
        new_trials: Sequence[TrialConfig] = ()
        searched = file.of_cell(len(cell.space)).searched
        if len(trials) < searched or file.race_settings:
            runs = list(read([a.id for a in trials]).values())
            ends = {c.id: run for c, run in runs}
            search, raced = ([c for c, _ in runs if (c.phase == "race") == race] for race in (False, True))
            round_trials = next_round(file, cell, in_complete_rounds(file, cell, search), ends)
            new_trials = [config for config in round_trials if config.id not in ends]
            if not new_trials:
                new_trials = next_heat(file, cell.scale, search, raced, ends)
            if not new_trials and len(search) >= searched and (winner := _choose(file, cell, search, raced, ends)):
                new_trials = plan_retrainings(file, winner)
        elif not file.trials:
            new_trials = plan_retrainings(file, fixed_trial(cell))
        elif best := _best_trial([(a.valid, a.id) for a in trials if a.status == "ok"], cell.goal):
            new_trials = plan_retrainings(file, read([best])[best][0])
        yield from ((index, config) for config in new_trials)


def group_by_cell(sweep: Sweep, planned: Sequence[PlannedTrial]) -> list[list[PlannedTrial]]:
    """Return the trials of each cell."""
    by_cell: dict[int | None, list[PlannedTrial]] = defaultdict(list)
    for a in planned:
        by_cell[a.cell].append(a)
    return [by_cell[k] for k in range(len(sweep.cells))]


def choose_winner(
    file: SweepFile,
    scale: Scale,
    search: Sequence[TrialConfig],
    raced: Sequence[TrialConfig],
    ends: Mapping[str, Run],
) -> TrialConfig | None:
    """Return the winner of a cell's search, by its race if it has one; test metrics are not used.

    Without a race it is the trial that ended ok with the best validation metric; None if there is none.
    """
    if file.race_settings:
        return choose_by_race(scale, search, raced, ends)
    best = _best_trial([(ends[c.id].valid, c.id) for c in search if ends[c.id].status == "ok"], scale.goal)
    return next((c for c in search if c.id == best), None)


def plan_retrainings(file: SweepFile, winner: TrialConfig) -> list[TrialConfig]:
    """Return the retrainings of a cell's winner, each with a fresh seed, which no trial of search or race has."""
    retraining = replace(winner, phase="retrain", halving=None)
    return [replace(retraining, seed=seed) for seed in retraining_seeds(file, winner)]


def _best_trial(scores: Sequence[tuple[float | None, str]], goal: str) -> str | None:
    """Return the id with the best score, the smaller id among equal ones; None if there is no score."""
    sign = -1.0 if goal == "max" else 1.0
    usable = [(sign * valid, trial) for valid, trial in scores if valid is not None]
    return min(usable)[1] if usable else None
