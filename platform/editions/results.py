"""The results of an edition: a bundle of all runs behind its rows, so that others can check it and import them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from longwave.platform.boards.board import rows
from longwave.platform.boards.columns import of
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import File, pack, seal
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.curve import Curve
from longwave.platform.exchange.inspection import Objection
from longwave.platform.exchange.intake import take
from longwave.platform.records.group import Group
from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.storage.store import Store

NAME = "results.json.xz"
"""The file in an edition's folder."""
MOST = {"trials": 10_000, "epochs": 500_000}
"""Up to so many an edition has its results, unless it is asked for them: some 20 seconds' work."""
UNLIKE = frozenset("published missing trials sweeps environments verification family".split())
"""What a store says of a row beside its results: published numbers and families each Longwave has of its own."""
CLOSE = 1e-9
"""Relative difference between machines that sums and quantiles can have."""


def collected(store: Store, made: Edition, asked: bool | None = None) -> tuple[bytes, str]:
    """Return the bundle of an edition's runs, packed; or nothing, and why.

    What ``import`` would reject is left out.

    Args:
        store: What the edition was made of.
        made: The edition.
        asked: Whether to; None: if the store has no more than ``MOST``.
    """
    if asked is False:
        return b"", "they were not asked for."
    counts = store.count() if asked is None else {}
    for what, most in MOST.items():
        if counts.get(what, 0) > most:
            return b"", f"the store has {counts[what]:,} {what}, more than {most:,}. Ask for them with: --results"
    file = seal(collect(store))
    ended = {e.config.id for e in file.content.trials if e.config.phase == "retrain"}
    if ended != {seed["trial"] for row in made.rows for seed in row["seeds"] if seed["status"] in ENDED}:
        return b"", "retrainings ended while they were read. Publish once more."
    if said := [finding.message for finding in audit(file) if finding.severity == "reject"]:
        return b"", said[0] + (f" And {len(said) - 1} more: longwave submit FILE says all." if said[1:] else "")
    try:
        return pack(file), ""
    except ConfigError as large:
        return b"", str(large)


def unlike(made: Edition, file: File) -> Iterator[Objection]:
    """Yield, as a finding that rejects it, that an edition shows other rows than its results give.

    The results are taken into an empty store, and the boards of that are compared with the edition, ranks too.

    Args:
        made: The edition, whose rows may be anything.
        file: Its results, which no finding rejects.
    """
    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
        take(store, _without_curves(file), [])
        store.write_catalogue(
            list({(known.kind, known.name, known.variant): known for known in _versions(made, file)}.values())
        )
        groups = [_as_told(group, made, file) for group in store.groups()]
        shown = rows(groups, store.published())
        again = edition(shown, store.retrainings(), made.title, made.created, made.commit)
    try:
        told, given = _rows(made), _rows(again)
        wrong = [said for key in sorted({*told, *given}) if (said := _difference(key, told.get(key), given.get(key)))]
    except (AttributeError, KeyError, TypeError):
        wrong = ["its rows have not the form of rows."]
    if wrong:
        yield Objection("edition", "reject", wrong[0] + (f" And {len(wrong) - 1} rows more." if wrong[1:] else ""))


def _without_curves(file: File) -> File:
    """Return results without their epochs: no row shows any, and they are most of what a store would have to write."""
    bare = [entry.model_copy(update={"curve": Curve.of([])}) for entry in file.content.trials]
    return file.model_copy(update={"content": file.content.model_copy(update={"trials": bare})})


def _as_told(group: Group, made: Edition, file: File) -> Group:
    """Return a group of an edition's results as it stood where it was published: which of its runs were guests there.

    For whom nothing counts but what it trained itself, all of it is a guest: that is decided by who imports it.
    """
    row = next((r for r in made.rows if isinstance(r, Mapping) and r.get("key") == group.row), {})
    told = row.get("guests")
    guests = set(map(str, told)) if isinstance(told, list) else set()
    here = [e for e in file.content.trials if e.config.row == group.row and e.config.id not in guests]
    came = {run.id: file.name for run in group.runs if run.id in guests}
    return replace(group, came=came, checks=[True] * len(came), reruns=[e.rerun for e in here if e.rerun])


def _versions(made: Edition, file: File) -> Iterator[CatalogueEntry]:
    """Yield the versions that an edition takes for present ones: those of its rows that are not superseded."""
    current = [row for row in made.rows if isinstance(row, Mapping) and not row.get("superseded")]
    present = {str(row.get("key")) for row in current}
    for config in (e.config for e in file.content.trials if e.config.phase == "retrain" and e.config.row in present):
        yield CatalogueEntry("model", config.model, config.model_version, "")
        yield CatalogueEntry("task", config.task, config.task_version, "", config.variant, config.data)
        yield CatalogueEntry("rules", "training", config.protocol, "")


def compared() -> list[str]:
    """Return what an edition and its results must both say of a row."""
    return [column.key for column in of("record") if column.key not in UNLIKE]


def _rows(made: Edition) -> dict[str, Mapping[str, Any]]:
    """Return by key the rows of which something has ended, and the trivial ones of their boards."""
    ended = [row for row in made.rows if row["kind"] == "reproduced" and _seeds(row)]
    places = {(row["task"], row["variant"]) for row in ended}
    trivial = [row for row in made.rows if row["kind"] == "trivial" and (row["task"], row["variant"]) in places]
    return {row["key"]: row for row in (*ended, *trivial)}


def _seeds(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [seed for seed in row["seeds"] if seed["status"] in ENDED]


def _difference(key: str, told: Mapping[str, Any] | None, given: Mapping[str, Any] | None) -> str:
    """Return what an edition says of a row that its results do not; empty if they say the same."""
    if told is None or given is None:
        return f"row {key[:12]} is {'not shown, but' if told is None else 'shown, but not'} in the results."
    for name in (name for name in compared() if name in told):  # an older edition has fewer columns, and fewer settings
        if not _same(told[name], _known(told[name], given[name]) if name == "settings" else given[name]):
            return f"row {key[:12]} shows {name} {_short(told[name])}, its results give {_short(given[name])}."
    return "" if _same(_seeds(told), _seeds(given)) else f"row {key[:12]} shows other retrainings than its results."


def _known(told: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of which an edition speaks, as its results give them."""
    return {name: value for name, value in given.items() if name in told}


def _same(one: Any, other: Any) -> bool:
    """Return whether JSON data are equal, numbers but for ``CLOSE``."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=CLOSE)
    return bool(one == other)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:60]
