"""The results of an edition: a bundle of all runs behind its rows, so that others can check it and import them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from longwave.platform.boards.board import board
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import File, collect, pack, seal
from longwave.platform.exchange.inspection import Objection
from longwave.platform.exchange.intake import take
from longwave.platform.records.run import ENDED
from longwave.platform.storage.schema import CurveRow, TrialRow
from longwave.platform.storage.store import Store

NAME = "results.json.gz"
"""The file in an edition's folder."""
MOST = {"trials": (TrialRow, 10_000), "epochs": (CurveRow, 500_000)}
"""Rows of these tables up to which an edition has its results, unless it is asked for them: some 20 seconds' work."""
COMPARED = (
    "task variant model title metric unit goal hidden params options settings departures mean std n low high scores "
    "valid diverged failed searched search_diverged provisional parameters find_seconds train_seconds joules rank_low "
    "rank_high ties"
).split()
"""What an edition says of a row and its results say, too. Published numbers each Longwave has of its own."""
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
    for what, (table, most) in MOST.items() if asked is None else ():
        with store.transaction() as connection:
            count = connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
        if count > most:
            return b"", f"the store has {count:,} {what}, more than {most:,}. Ask for them with: --results"
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
        take(store, file, [])
        again = edition(board(store), store.retrainings(), made.title, made.created, made.commit)
    try:
        told, given = _rows(made), _rows(again)
        wrong = [said for key in sorted({*told, *given}) if (said := _difference(key, told.get(key), given.get(key)))]
    except (AttributeError, KeyError, TypeError):
        wrong = ["its rows have not the form of rows."]
    if wrong:
        yield Objection("edition", "reject", wrong[0] + (f" And {len(wrong) - 1} rows more." if wrong[1:] else ""))


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
    for name in COMPARED:
        if not _same(told[name], given[name]):
            return f"row {key[:12]} shows {name} {_short(told[name])}, its results give {_short(given[name])}."
    return "" if _same(_seeds(told), _seeds(given)) else f"row {key[:12]} shows other retrainings than its results."


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
