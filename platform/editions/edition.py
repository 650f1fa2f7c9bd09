"""Editions: the published rows of all boards, named by a hash of their content. Pure functions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from longwave.platform.boards.columns import of, record
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.row import Row
from longwave.platform.errors import ConfigError
from longwave.platform.records.identity import canonical_json, sha256
from longwave.platform.records.stored import Trial
from longwave.platform.redaction import redact_document

SCHEMA = 4
"""Version of ``board.json``."""


@dataclass(frozen=True)
class Edition:
    """One published state of all boards.

    Attributes:
        rows: JSON data of each row: that of ``columns.record``, and ``seeds``, its retrainings: ``trial``, ``seed``,
            ``status``, ``reason``, ``test``, ``valid``, ``epochs``, ``best_epoch``, ``seconds``, ``joules``.
        title: Its heading.
        created: Time of publication, ISO 8601 in UTC.
        commit: Commit of the code that wrote it.
        tops: Score that counts as a gain of 1 on tasks without a perfect score, by task; see ``Overview.tops``. They
            are stored, so that a better row in a later edition does not change these scores.
    """

    rows: Sequence[Mapping[str, Any]]
    title: str
    created: str
    commit: str
    tops: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of schema version and rows, 64 hex digits. Title, time and commit do not count; tops follow from
        rows."""
        return sha256({"schema": SCHEMA, "rows": self.rows})

    @property
    def id(self) -> str:
        """Name of the edition: the first 16 digits of its hash."""
        return self.sha256[:16]

    @property
    def counts(self) -> dict[str, int]:
        """Number of boards, of rows of each kind, and of retrainings."""
        kinds = Counter(row["kind"] for row in self.rows)
        boards = {(row["task"], row["variant"]) for row in self.rows}
        seeds = sum(len(row["seeds"]) for row in self.rows)
        of_kind = {kind: kinds[kind] for kind in ("retrained", "published", "trivial")}
        return {"boards": len(boards), **of_kind, "retrainings": seeds}

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``board.json``; ``load`` restores it."""
        head = {"schema": SCHEMA, "edition": self.id, "sha256": self.sha256}
        return {**head, **{k: getattr(self, k) for k in ("title", "created", "commit", "counts", "tops", "rows")}}


def edition(rows: Iterable[Row], trials: Iterable[Trial], title: str, created: str, commit: str) -> Edition:
    """Return the edition of ``rows``; ``trials`` must include their retrainings.

    Raises:
        ConfigError: Scores of retrainings and rows differ, because some ended in between.
    """
    rows, trial_by_id = list(rows), {trial.config.id: trial for trial in trials}
    tops = {task: top for overview in overviews(rows) for task, top in overview.tops.items()}
    entries: list[dict[str, Any]] = [{**record(row), "seeds": []} for row in rows]
    for entry in entries:
        if entry["kind"] == "retrained":
            entry["seeds"] = sorted((_seed(trial_by_id[trial]) for trial in entry["trials"]), key=lambda s: s["seed"])
            uncounted = () if entry["untrusted"] else entry["untrusted_runs"]
            counted = [s["test"] for s in entry["seeds"] if s["test"] is not None and s["trial"] not in uncounted]
            if sorted(entry["scores"]) != sorted(counted):
                raise ConfigError(f"Retrainings of {entry['task']} ended while its board was read. Publish once more.")
    return Edition(redact_document(json.loads(canonical_json(entries))), title, created, commit, tops)


def load(content: Mapping[str, Any], place: str) -> Edition:
    """Return the edition in the content of a ``board.json``.

    Raises:
        ConfigError: It has another schema version, its rows do not match its hash, or one lacks a field.
    """
    if not isinstance(content, Mapping) or not isinstance(content.get("rows", []), list):
        raise ConfigError(f"{place} is not in the format of an edition. Publish it again.")
    if (schema := content.get("schema")) != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        step = "Upgrade longwave." if newer else "Publish its store again."
        raise ConfigError(f"{place}: schema version {schema!r}; this Longwave reads {SCHEMA}. {step}")
    try:
        fields = {name: content[name] for name in ("rows", "title", "created", "commit")}
        loaded = Edition(**fields, tops=content.get("tops", {}))
    except KeyError as error:
        raise ConfigError(f"{place}: the field {error} is missing. Publish it again.") from None
    if loaded.sha256 != content.get("sha256"):
        raise ConfigError(f"{place}: its rows were changed after publishing: their hash is {loaded.id}, not its own.")
    needed = {*(column.key for column in of("record")), "seeds"}
    for k, row in enumerate(loaded.rows, 1):
        if not isinstance(row, Mapping):
            raise ConfigError(f"{place}: row {k} is no record. Publish it again.")
        if missing := needed - row.keys():
            raise ConfigError(f"{place}: row {k} has no field {min(missing)}. Publish it again.")
    return loaded


def _seed(trial: Trial) -> dict[str, Any]:
    """Return one retraining as an edition shows it."""
    names = ("test", "valid", "epochs", "best_epoch", "seconds", "joules")
    run = {"reason": trial.run.reason if trial.run else ""} | {name: getattr(trial.run, name, None) for name in names}
    return {"trial": trial.config.id, "seed": trial.config.seed, "status": trial.status, **run}
