"""The status of a sweep: the counts that every view shows, who runs it, how long it will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import EpochCounts, SweepCost
from longwave.platform.storage.leases import Driver, drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.stored import is_over, read_sweep_plan
from longwave.platform.sweeps.run.remaining import remaining_epochs


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the counts first, as ``sweep status`` has always printed them."""
        data = asdict(self)
        return {**data.pop("counts"), **data}


def sweep_status(store: Store, name: str) -> SweepStatus:
    """Return the status of the sweep ``name``.

    Raises:
        ConfigError: There is no such sweep.
    """
    stored = store.sweep(name)
    sweep = read_sweep_plan(store, name) if stored.plan is not None else None
    counts, mine = store.counts(name), drivers(store, name)
    alive, planned = [d for d in mine if d.alive], sum(counts.values())
    parts = store.epoch_counts(name)
    epochs = sum(parts.values(), EpochCounts()).epochs
    ended = planned > 0 and all(status in ENDED for _, status in counts)
    over = ended and (not sweep or is_over(sweep, store, store.planned(name)))
    expected = sweep.file.trained * len(sweep.cells) if sweep and not over else planned
    further = remaining_epochs(sweep.file, [cell.epochs for cell in sweep.cells], parts) if sweep and not over else 0
    left, since = None, max((d.seconds for d in alive), default=0.0)
    if further and (new := store.trained_since(name, since)):
        left = further / new * since
    labels = [cell.label for cell in sweep.cells] if sweep else []
    return SweepStatus(
        name=name,
        state=_state_of(stored.state, over, alive),
        counts=count_statuses(counts),
        trials=expected,
        epochs=epochs,
        expected=epochs + further if sweep else None,
        left=left,
        cells={
            label: count_statuses({at: n for at, n in counts.items() if at[0] == k}) for k, label in enumerate(labels)
        },
        drivers=mine,
        failures=dict(Counter(f"{model}: {reason}" for model, reason in store.failures(name))),
        spent=store.cost(name),
    )


def count_statuses(counts: Mapping[tuple[int | None, str], int]) -> dict[str, int]:
    """Return the numbers of trials planned, running, done, and of each end, summed over the cells of ``counts``."""
    trials_by_status = Counter[str]()
    for (_, status), trials in counts.items():
        trials_by_status[status] += trials
    ended = {str(state): trials_by_status[state] for state in ENDED}
    return {
        "planned": trials_by_status["planned"],
        "running": trials_by_status["running"],
        "done": sum(ended.values()),
        **ended,
    }


def _state_of(stored: str, over: bool, alive: Sequence[Driver]) -> str:
    if over:
        return "over"
    if stored == "pause":
        return "paused"
    if not alive:
        return "interrupted"
    return "waiting" if all(d.note for d in alive) else "running"
