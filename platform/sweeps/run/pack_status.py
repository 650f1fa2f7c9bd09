"""How far the packs are that are trained now, and when they will be over."""

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
        model: Of its trials.
        counts: Its trials by how they stand.
        epochs, expected: Epochs that its trials in training have, and will have, summed.
        left: Seconds that it will take yet, at the pace of this training of it; None before its first epoch.
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
    """Return the packs of a sweep that are trained now, that which is over last first.

    Args:
        now: Unix time; by default the clock's.
    """
    asked = store.planned(sweep)
    running = store.running_trials([trial.id for trial in asked if trial.status == "running"])
    epochs = {name: config.epochs for name, config in store.configs([t.trial for t in running]).items()}
    of = {trial.id: trial for trial in asked}
    together: dict[str, list[RunningTrial]] = {}
    for one in running:
        together.setdefault(of[one.trial].pack or one.trial, []).append(one)
    members: dict[str, list[PlannedTrial]] = {}
    for trial in asked:
        members.setdefault(trial.pack or trial.id, []).append(trial)
    moment = time.time() if now is None else now
    found = [_pack_status(name, theirs, members[name], epochs, moment) for name, theirs in together.items()]
    return sorted(found, key=lambda pack: -(pack.left or 0.0))


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
