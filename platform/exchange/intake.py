"""Take a bundle up into the store: all of it or nothing. What is there already stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from longwave.platform.exchange.bundle import BundledTrial, File, pieces
from longwave.platform.exchange.inspection import Objection
from longwave.platform.records.identity import digest
from longwave.platform.storage.database import insert_new
from longwave.platform.storage.schema import AskRow, CurveRow, EnvironmentRow, SweepRow, TrialRow, utc_now
from longwave.platform.storage.store import Store, Trial

SWEEP = 71
"""Most characters of a sweep's name that an imported sweep keeps; ``@`` and 8 digits of its own follow."""


def conflicts(store: Store, file: File) -> Iterator[Objection]:
    """Yield trials of the bundle that the store has with another end, or without one: they reject it."""
    known = _known(store, file)
    for entry in file.content.trials:
        trial = known.get(entry.config.id)
        if trial and (said := _unlike(trial, entry)):
            yield Objection("conflict", "reject", f"trial {entry.config.id} is in the store with {said}.")


def take(store: Store, file: File, findings: Sequence[Objection]) -> list[BundledTrial]:
    """Write what the store does not have yet, in one transaction, and return those trials.

    Every run is stored with the facts ``bundle`` and ``checked``. The bundle's sweeps are stored under names of their
    own, which no sweep that is run here can have.

    Args:
        store: Where to.
        file: A bundle that no finding rejects.
        findings: What the checks found; any flag is stored with the runs.
    """
    known = _known(store, file)
    new = [entry for entry in file.content.trials if entry.config.id not in known]
    if not new:
        return new
    mark = {"bundle": file.name, "checked": "flags" if findings else "yes"}
    places = {e.place: {**file.content.environments.get(e.place or "", {}), **mark} for e in new}
    patches = {key: facts for key, facts in file.content.environments.items() if "patch" in facts}
    kept = patches | {digest(facts): facts for facts in places.values()}
    with store.transaction() as connection:
        insert_new(connection, EnvironmentRow, [{"id": key, "facts": facts} for key, facts in kept.items()])
        connection.execute(sa.insert(TrialRow), [_row(e, digest(places[e.place])) for e in new])
        insert_new(connection, CurveRow, [asdict(point) for e in new for point in e.points])
        for sweep in file.content.sweeps:
            name = f"{sweep.content['name'][:SWEEP]}@{digest([file.name, sweep.content])[:8]}"
            insert_new(connection, SweepRow, [{"name": name, "content": sweep.content, "created": utc_now()}])
            asks = [{"sweep": name, "trial": trial, "position": k} for k, trial in enumerate(sweep.trials)]
            insert_new(connection, AskRow, asks)
    return new


def _known(store: Store, file: File) -> dict[str, Trial]:
    ids = [entry.config.id for entry in file.content.trials]
    return {t.config.id: t for part in pieces(ids) for t in store.select(TrialRow.id.in_(part))}


def _unlike(trial: Trial, entry: BundledTrial) -> str:
    """Return what the store says otherwise of how a trial ended; empty where it says the same."""
    if trial.run is None:
        return "no end yet: finish its sweep first, or import into another store"
    for name in ("status", "epochs", "best_epoch", "valid", "test"):
        here, there = getattr(trial.run, name), getattr(entry.run, name)
        close = isinstance(here, float) and isinstance(there, float) and math.isclose(here, there, rel_tol=1e-6)
        if here != there and not close:
            return f"{name} {here}, in the bundle it has {there}"
    return ""


def _row(entry: BundledTrial, place: str) -> dict[str, Any]:
    config, run = entry.config, {k: v for k, v in asdict(entry.run).items() if k not in ("trial", "environment")}
    columns = {name: getattr(config, name) for name in ("id", "task", "model", "phase", "row")}
    rest = {"config": config.to_dict(), "about": entry.about, "environment": place, "ended": entry.ended}
    return {**columns, **rest, **run}
