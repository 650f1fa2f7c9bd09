"""How far the packs in training are, and when they will end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from longwave.platform.records.stored import PlannedTrial, RunningTrial
from longwave.platform.storage.store import Store


@dataclass(frozen=True)
class PackStatus:
    """How far a pack is.

    Attributes:
        pack: Its key.
        model: Model, or models, of its trials.
        counts: Number of its trials by status.
        epochs, expected: Epochs that its trials in training have, and will have, summed.
        left: Seconds that remain at the pace since its last start; None before its first epoch.
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
    together: dict[str, list[RunningTrial]] = {}
    for one in running:
        together.setdefault(by_id[one.trial].pack or one.trial, []).append(one)
    members: dict[str, list[PlannedTrial]] = {}
    for trial in planned:
        members.setdefault(trial.pack or trial.id, []).append(trial)
    moment = time.time() if now is None else now
    packs = [_pack_status(name, theirs, members[name], epochs, moment) for name, theirs in together.items()]
    return sorted(packs, key=lambda pack: -(pack.left or 0.0))


def _pack_status(
    name: str, running: Sequence[RunningTrial], members: Sequence[PlannedTrial], epochs: Mapping[str, int], now: float
) -> PackStatus:
    done, expected = sum(t.last for t in running), sum(epochs[t.trial] for t in running)
    gained, since = sum(t.last - t.first for t in running), min(t.since for t in running)
    last = max((t.reported for t in running if t.reported is not None), default=since)
    pace = gained / max(1e-9, last - since) if gained and last > since else None
    return PackStatus(
        pack=name,
        model=", ".join(sorted({trial.model for trial in members})),
        counts=Counter(trial.status for trial in members),
        epochs=done,
        expected=expected,
        left=max(0.0, (expected - done) / pace - (now - last)) if pace else None,
        silent=max(0.0, now - max(last, since)),
        owner=running[0].owner,
    )
