"""Shared by tests of bundles: the content of a real bundle as plain JSON, changed and sealed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from longwave.platform.exchange.bundle import Bundle, File, seal
from longwave.platform.exchange.curve import Curve
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point
from longwave.platform.records.trial import TrialConfig

Content = dict[str, Any]


def content(file: File) -> Content:
    """Return a bundle's content as plain JSON, its curves epoch by epoch under ``points``."""
    made: Content = json.loads(file.content.model_dump_json())
    for trial, entry in zip(made["trials"], file.content.trials, strict=True):
        del trial["curve"]
        trial["points"] = [{k: v for k, v in asdict(point).items() if k != "trial"} for point in entry.points]
    return made


def built(changed: Content) -> Bundle:
    """Return the bundle of a content in the form of ``content``."""
    trials = [{k: v for k, v in e.items() if k != "points"} | {"curve": _curve(e["points"])} for e in changed["trials"]]
    return Bundle.model_validate_json(json.dumps({**changed, "trials": trials}))


def _curve(points: list[dict[str, Any]]) -> dict[str, Any]:
    return Curve.of([Point("", **point) for point in points]).model_dump()


def named(changed: Content) -> Content:
    """Rename every trial and environment to match its changed content, as a careful forger would."""
    renamed = {key: digest(facts) for key, facts in changed["environments"].items()}
    changed["environments"] = {renamed[key]: facts for key, facts in changed["environments"].items()}
    ids = {}
    for entry in changed["trials"]:
        config = TrialConfig.from_dict(entry["config"])
        ids[entry["run"]["trial"]] = entry["run"]["trial"] = config.id
        entry["place"] = renamed.get(entry["place"], entry["place"])
    for sweep in changed["sweeps"]:
        sweep["trials"] = [ids.get(trial, trial) for trial in sweep["trials"]]
    return changed


def forge(file: File, change: Callable[[Content], None]) -> File:
    """Return the bundle with its content changed, and all names and hashes computed again."""
    changed = content(file)
    change(changed)
    return seal(built(named(changed)))


def of(changed: Content, model: str = "gru", phase: str = "retrain") -> list[dict[str, Any]]:
    """Return the trials of a model in the order planned by its sweep."""
    order = {trial: k for k, trial in enumerate(changed["sweeps"][0]["trials"])}
    entries = [e for e in changed["trials"] if (e["config"]["model"], e["config"]["phase"]) == (model, phase)]
    return sorted(entries, key=lambda e: order.get(e["run"]["trial"], len(order)))


def drop(changed: Content, *dropped: dict[str, Any]) -> None:
    """Remove trials from a bundle, and from the plans of its sweeps."""
    dropped_ids = {e["run"]["trial"] for e in dropped}
    changed["trials"] = [e for e in changed["trials"] if e["run"]["trial"] not in dropped_ids]
    for sweep in changed["sweeps"]:
        sweep["trials"] = [trial for trial in sweep["trials"] if trial not in dropped_ids]
