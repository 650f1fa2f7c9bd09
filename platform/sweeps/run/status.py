"""The status of a sweep and of its packs: counts, drivers, remaining epochs, and the time left."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import EpochCounts, PlannedTrial, RunningTrial, StatusCounts, SweepCost
from longwave.platform.records.trial import Phase
from longwave.platform.redaction import redacted
from longwave.platform.storage.leases import Driver, read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.values import Halving
from longwave.platform.sweeps.place.stalls import STALLED
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.rounds import cohort_sizes
from longwave.platform.sweeps.plan.stored import is_over, read_sweep_plan
from longwave.platform.sweeps.run.time_left import read_seconds_left, read_time_left
from longwave.platform.training.stopping import rungs

PhaseOfCell = tuple[int, Phase]
"""The trials of one phase of a cell, by its index."""


PHASES: tuple[Phase, ...] = ("search", "race", "retrain")
"""In the order in which a cell goes through them."""


def remaining_by_phase(file: SweepFile, epochs: int, done: Mapping[Phase, EpochCounts]) -> dict[Phase, int]:
    """Return how many epochs a cell still has to train in each phase if no further trial of it diverges.

    Args:
        file: The sweep.
        epochs: Epochs of a trial of the cell that is trained to its end.
        done: Epochs trained so far in each phase.
    """
    search, race, retrain = (done[phase] for phase in PHASES)
    if search.ended >= file.searched:
        search_epochs = 0
    elif file.halving:
        search_epochs = (
            sum(epochs_with_halving(n, epochs, file.halving) for n in cohort_sizes(file))
            - search.trained
            - search.reached
        )
    else:
        search_epochs = (file.searched - search.ended) * epochs - search.reached
    race_epochs = 0 if retrain.epochs else (file.raced - race.ended) * epochs - race.reached
    retrain_epochs = (file.retrain - retrain.ended) * epochs - retrain.reached
    return {"search": max(search_epochs, 0), "race": max(race_epochs, 0), "retrain": max(retrain_epochs, 0)}


def epochs_with_halving(trials: int, epochs: int, halving: Halving) -> int:
    """Return the epochs of all trials of one cohort: at each rung a share of 1/η continues, rounded up."""
    total, previous = 0, 0
    for rung in [*rungs(halving.first, halving.eta, epochs), epochs]:
        total += trials * (rung - previous)
        trials, previous = math.ceil(trials / halving.eta), rung
    return total


def count_trials(sweep: Sweep) -> int:
    """Return how many trials a sweep can have in the end."""
    return sum(sweep.file.of_cell(len(cell.space)).trained for cell in sweep.cells)


def remaining_epochs(file: SweepFile, cells: Sequence[CellPlan], done: Mapping[PhaseOfCell, EpochCounts]) -> int:
    """Return how many epochs all cells of a sweep still have to train, given the epochs trained so far."""
    return sum(
        sum(remaining_by_phase(file.of_cell(len(cell.space)), cell.epochs, counts_of_cell(done, k)).values())
        for k, cell in enumerate(cells)
    )


def counts_of_cell(done: Mapping[PhaseOfCell, EpochCounts], cell: int) -> dict[Phase, EpochCounts]:
    """Return the epochs trained so far in each phase of a cell."""
    return {phase: done.get((cell, phase), EpochCounts()) for phase in PHASES}


@dataclass(frozen=True)
class SweepStatus:
    """The status of a sweep.

    Attributes:
        name: The sweep.
        state: ``running``, ``paused``, ``waiting`` for others, ``interrupted`` (its driver is gone), or ``over``.
        counts: Number of trials by status: planned, running, done, ok, diverged, stopped, failed.
        trials: Expected number of trials in the end; retrainings count before they are planned.
        epochs: Epochs trained so far.
        expected: Expected number of epochs in the end; None for a sweep without a plan.
        left: Seconds that remain; None if unknown.
        cells: The counts of each of its cells, by label.
        drivers: Processes that run it.
        failures: Number of failed trials by reason.
        spent: What it has cost.
        store: URL of its store, without a password.
    """

    name: str
    state: str
    counts: Mapping[str, int]
    trials: int
    epochs: int
    expected: int | None
    left: float | None
    cells: Mapping[str, Mapping[str, int]]
    drivers: Sequence[Driver]
    failures: Mapping[str, int]
    spent: SweepCost = SweepCost()
    store: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the counts first, as ``sweep status`` has always printed them."""
        data = asdict(self)
        del data["store"]
        return {**data.pop("counts"), **data}


def sweep_status(store: Store, name: str) -> SweepStatus:
    """Return the status of the sweep ``name``.

    Raises:
        ConfigError: There is no such sweep.
    """
    stored = store.sweep(name)
    sweep = read_sweep_plan(store, name) if stored.plan is not None else None
    drivers, parts = read_drivers(store, name), store.status_counts(name)
    alive, counts = [d for d in drivers if d.alive], count_statuses(parts)
    planned, epochs = sum(part.trials for part in parts), sum(part.epochs for part in parts)
    ended = 0 < planned == counts["done"]
    over = ended and (not sweep or is_over(sweep, store, store.planned(name)))
    expected = count_trials(sweep) if sweep and not over else planned
    remaining = remaining_epochs(sweep.file, sweep.cells, count_epochs(parts)) if sweep and not over else 0
    labels = [cell.label for cell in sweep.cells] if sweep else []
    failures = store.failures(name) if counts["failed"] else []
    return SweepStatus(
        name=name,
        state=_state_of(stored.state, over, alive),
        counts=counts,
        trials=expected,
        epochs=epochs,
        expected=epochs + remaining if sweep else None,
        left=read_seconds_left(store, sweep) if sweep and not over else None,
        cells={label: count_statuses(part for part in parts if part.cell == k) for k, label in enumerate(labels)},
        drivers=drivers,
        failures=dict(Counter(f"{model}: {reason}" for model, reason in failures)),
        spent=store.cost(name),
        store=redacted(store.url),
    )


def count_statuses(parts: Iterable[StatusCounts]) -> dict[str, int]:
    """Return the numbers of trials planned, running, done, and of each end, in all of ``parts``."""
    trials = Counter[str]()
    for part in parts:
        trials[part.status] += part.trials
    ended = {str(status): trials[status] for status in ENDED}
    return {"planned": trials["planned"], "running": trials["running"], "done": sum(ended.values()), **ended}


def count_epochs(parts: Iterable[StatusCounts]) -> dict[PhaseOfCell, EpochCounts]:
    """Return the epochs trained so far in each phase of each cell."""
    counts = defaultdict[PhaseOfCell, EpochCounts](EpochCounts)
    for part in parts:
        ended = EpochCounts(part.trials, part.epochs) if part.status in ENDED else EpochCounts(reached=part.epochs)
        counts[part.cell, part.phase] += ended
    return dict(counts)


def _state_of(requested: str, over: bool, alive: Sequence[Driver]) -> str:
    if over:
        return "over"
    if not alive:
        return "interrupted"
    if requested == "pause":
        return "paused"
    return "waiting" if all(d.note and not d.note.startswith(STALLED) for d in alive) else "running"


@dataclass(frozen=True)
class PackStatus:
    """The progress of a pack.

    Attributes:
        pack: Its key.
        model: Model, or models, of its trials.
        counts: Number of its trials by status.
        epochs, expected: Epochs trained so far, and in the end, summed over its trials in training.
        left: Seconds that remain, as the sweep's time left counts them; None before the first epoch.
        silent: Seconds since its last epoch, or since it began.
        owner: The driver that trains it.
    """

    pack: str
    model: str
    counts: Mapping[str, int]
    epochs: int
    expected: int
    left: float | None
    silent: float
    owner: str


def running_packs(store: Store, sweep: str, now: float | None = None) -> list[PackStatus]:
    """Return the packs of a sweep that are in training, the one that will take longest first.

    Args:
        now: Unix time; by default the clock's.
    """
    planned = store.planned(sweep)
    running = store.running_trials([trial.id for trial in planned if trial.status == "running"])
    epochs = {name: config.epochs for name, config in store.configs([t.trial for t in running]).items()}
    by_id = {trial.id: trial for trial in planned}
    trials_by_pack: dict[str, list[RunningTrial]] = {}
    for running_trial in running:
        trials_by_pack.setdefault(by_id[running_trial.trial].pack or running_trial.trial, []).append(running_trial)
    members: dict[str, list[PlannedTrial]] = {}
    for trial in planned:
        members.setdefault(trial.pack or trial.id, []).append(trial)
    now = time.time() if now is None else now
    plan = read_sweep_plan(store, sweep) if running and store.sweep(sweep).plan is not None else None
    time_left = read_time_left(store, plan, now) if plan else None
    packs = [
        _pack_status(name, trials, members[name], epochs, now, time_left.of_pack(name) if time_left else None)
        for name, trials in trials_by_pack.items()
    ]
    return sorted(packs, key=lambda pack: -(pack.left or 0.0))


def _pack_status(
    name: str,
    running: Sequence[RunningTrial],
    members: Sequence[PlannedTrial],
    epochs: Mapping[str, int],
    now: float,
    left: float | None,
) -> PackStatus:
    done, expected = sum(t.last for t in running), sum(epochs[t.trial] for t in running)
    since = min(t.since for t in running)
    last = max((t.reported for t in running if t.reported is not None), default=since)
    return PackStatus(
        pack=name,
        model=", ".join(sorted({trial.model for trial in members})),
        counts=Counter(trial.status for trial in members),
        epochs=done,
        expected=expected,
        left=left,
        silent=max(0.0, now - max(last, since)),
        owner=running[0].owner,
    )
