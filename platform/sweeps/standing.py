"""How a sweep stands: the counts that every view shows, who runs it, how long it will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import Asked, Spent
from longwave.platform.storage.leases import Driver, drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.sweep import is_over, stored_sweep


@dataclass(frozen=True)
class SweepStatus:
    """How a sweep stands.

    Attributes:
        name: The sweep.
        state: ``running``, ``paused``, ``waiting`` for others, ``interrupted``: its driver is gone, or ``over``.
        counts: Trials by how they stand: planned, running, done, ok, diverged, stopped, failed.
        trials: Trials it will have trained, as far as that is known; retrainings count before they are planned.
        epochs: Epochs over, those that a trial which ended early no longer needs included.
        expected: Epochs of all its trials; None for a sweep without a plan.
        left: Seconds that it will take yet; None while nothing tells.
        cells: The counts of each of its cells, by label.
        drivers: Processes that run it.
        failures: Why trials failed, and how many for that.
        spent: What it has taken.
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
    spent: Spent = Spent()

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the counts first, as ``sweep status`` has always printed them."""
        data = asdict(self)
        return {**data.pop("counts"), **data}


def standing(store: Store, name: str) -> SweepStatus:
    """Return how the sweep ``name`` stands.

    Raises:
        ConfigError: There is no such sweep.
    """
    found = store.sweep(name)
    sweep = stored_sweep(store, name) if found.plan is not None else None
    trials, mine = store.asked(name), drivers(store, name)
    alive = [d for d in mine if d.alive]
    open_trials = {a.id for a in trials if a.open}
    done, since = store.epochs(open_trials, max((d.seconds for d in alive), default=0.0))
    over = bool(trials) and (is_over(sweep, store, trials) if sweep else not open_trials)
    expected = (sweep.file.trials + sweep.file.retrain) * len(sweep.entries) if sweep and not over else len(trials)
    epochs, all_epochs = None, None
    if sweep:
        each = {k: entry.epochs for k, entry in enumerate(sweep.entries)}
        epochs = done + sum(each.get(a.cell or 0, 0) for a in trials if not a.open)
        all_epochs = epochs if over else (sweep.file.trials + sweep.file.retrain) * sum(each.values())
    left = None
    if alive and all_epochs and since:
        left = (all_epochs - (epochs or 0)) / since * max(d.seconds for d in alive)
    labels = [entry.label for entry in sweep.entries] if sweep else []
    return SweepStatus(
        name=name,
        state=_state(found.state, over, alive),
        counts=tally(trials),
        trials=expected,
        epochs=done if epochs is None else epochs,
        expected=all_epochs,
        left=left,
        cells={label: tally([t for t in trials if t.cell == k]) for k, label in enumerate(labels)},
        drivers=mine,
        failures=dict(Counter(f"{model}: {reason}" for model, reason in store.failures(name))),
        spent=store.spent(name),
    )


def tally(trials: Sequence[Asked]) -> dict[str, int]:
    """Return how many trials are planned, running and done, and how they ended."""
    found = Counter(t.status for t in trials)
    ended = {str(state): found[state] for state in ENDED}
    return {"planned": found["planned"], "running": found["running"], "done": sum(ended.values()), **ended}


def _state(told: str, over: bool, alive: Sequence[Driver]) -> str:
    if over:
        return "over"
    if told == "pause":
        return "paused"
    if not alive:
        return "interrupted"
    return "waiting" if all(d.note for d in alive) else "running"
