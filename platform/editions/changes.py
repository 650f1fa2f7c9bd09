"""Changes from one edition to the next, with the reasons for each changed rank. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from longwave.platform.boards.row import SHORT, named
from longwave.platform.boards.texts import plain, shown, span
from longwave.platform.editions.edition import Edition
from longwave.platform.render.harmless import in_markdown
from longwave.platform.wording import describe_count, list_first

REASONS = (
    "A changed rank is listed with everything on its board that may have changed it: the row's own seeds and median, "
    "rows that were added, removed or superseded, other rows with new numbers. All pairs of a board are tested "
    "together, so any of these matters."
)
NAMED = 3
"""Rows that a reason names; it counts the others."""


@dataclass(frozen=True)
class Change:
    """One difference between two editions.

    Attributes:
        what: ``new`` row, ``gone`` row, changed ``rank``, or changed ``value`` with the same rank.
        task, variant, kind, title, key: The row's.
        before, after: Its rank range and number as displayed; empty if the row was not there.
        reasons: At least one reason.
    """

    what: Literal["new", "gone", "rank", "value"]
    task: str
    variant: str
    kind: str
    title: str
    key: str
    before: str
    after: str
    reasons: Sequence[str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def difference(before: Edition, after: Edition) -> list[Change]:
    """Return the changes from one edition to the next, by board: new and removed rows, changed ranks and values."""
    old, new = _boards(before), _boards(after)
    changes = []
    for board in sorted({*old, *new}):
        changes += _board(old.get(board, {}), new.get(board, {}))
    return changes


def changelog(edition: Edition, previous: str | None, changes: Sequence[Change]) -> str:
    """Return the changes since the edition ``previous`` as Markdown."""
    lines = [f"# {in_markdown(edition.title)}: edition {edition.id}", ""]
    if previous is None:
        return "\n".join([*lines, "No earlier edition was given to compare with.", ""])
    counted = describe_count(len(changes), "change") if changes else "no changes"
    lines += [f"Since edition {previous}: {counted}. {REASONS if changes else ''}".rstrip()]
    return "\n".join([*lines, *list_changes(changes), ""])


def list_changes(changes: Sequence[Change]) -> list[str]:
    """Return changes as lines of Markdown, under a heading per board."""
    lines: list[str] = []
    board = None
    for change in changes:
        if board != (change.task, change.variant):
            board = (change.task, change.variant)
            lines += ["", f"## {in_markdown(f'{change.task} {change.variant}')}".rstrip(), ""]
        ends = " → ".join(filter(None, (change.before, change.after)))
        kind = "" if change.kind == "retrained" else f" ({change.kind})"
        title, ends, why = map(in_markdown, (change.title, ends, "; ".join(change.reasons)))
        lines.append(f"- {title} `{change.key[:SHORT]}`{kind}: {ends}: {why}")
    return lines


def describe_row(row: Mapping[str, Any]) -> str:
    """Return rank range and numbers of a row: ``rank 1–3, median 0.51, 0.50 ± 0.02 (4 of 5)``, or its state."""
    ranked = "superseded" if row["superseded"] else f"rank {span(row['rank_low'], row['rank_high'])}" * _ranked(row)
    if row["mean"] is None:
        return ", ".join(filter(None, (ranked, str(row["state"]))))
    median = f"median {_median(row)}" if row["kind"] == "retrained" else ""
    of_count = f" of {row['n'] + row['diverged']}" if row["diverged"] else ""
    seeds = f" ({row['n']}{of_count})" if row["n"] else ""
    return ", ".join(filter(None, (ranked, median, shown(row["mean"], row["std"]) + seeds)))


def _board(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """Return the changes of one board, given its rows by key."""
    added = [row for key, row in new.items() if key not in old]
    removed = [row for key, row in old.items() if key not in new]
    moved = {key: row for key, row in new.items() if key in old and _number(row) != _number(old[key])}
    changes = [_change("new", row, "", describe_row(row), ["new row"]) for row in added]
    changes += [_change("gone", row, describe_row(row), "", [_why_gone(row, new.values())]) for row in removed]
    both = [(old[key], row) for key, row in new.items() if key in old]
    pool = _pool(
        [row for row in added if _ranked(row)],
        [row for row in removed if _ranked(row)],
        [row for was, row in both if row["superseded"] and _ranked(was)],
        [row for was, row in both if was["superseded"] and _ranked(row)],
        [row for was, row in both if was["untrusted"] and _ranked(row)],
        [row for was, row in both if row["untrusted"] and _ranked(was)],
    )
    for key, row in new.items():
        if key not in old:
            continue
        was, own_changes = old[key], _own(old[key], row)
        if _rank(was) != _rank(row):
            others = [other for name, other in moved.items() if name != key and (_ranked(other) or _ranked(old[name]))]
            pool_changes = [*pool, *([f"other rows moved: {_names(others)}"] if others else [])]
            entered_or_left = any(was[name] != row[name] for name in ("superseded", "untrusted"))
            causes = own_changes if entered_or_left else [*own_changes, *pool_changes]
            reasons = causes or ["no number on this board changed, but ranks are now computed differently"]
            changes.append(_change("rank", row, describe_row(was), describe_row(row), reasons))
        elif own_changes:
            changes.append(_change("value", row, describe_row(was), describe_row(row), own_changes))
    return changes


def _change(
    what: Literal["new", "gone", "rank", "value"], row: Mapping[str, Any], before: str, after: str, why: Sequence[str]
) -> Change:
    task, variant, kind, title, key = (row[name] for name in ("task", "variant", "kind", "title", "key"))
    return Change(what, task, variant, kind, title, key, before, after, why)


def _own(was: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    """Return what changed in the row itself."""
    reasons = []
    if was["superseded"] != row["superseded"]:
        reasons.append(f"superseded: {row['superseded']}" if row["superseded"] else "no longer superseded")
    if was["untrusted"] != row["untrusted"]:
        reasons.append("no longer trusted" if row["untrusted"] else "now trusted")
    if was["n"] != row["n"]:
        reasons.append(f"{'new' if row['n'] > was['n'] else 'fewer'} seeds: n {was['n']} → {row['n']}")
    if was["diverged"] != row["diverged"]:
        reasons.append(f"diverged seeds: {was['diverged']} → {row['diverged']}")
    if was["median"] is not None and row["median"] is not None and was["median"] != row["median"]:
        reasons.append(f"median changed by {row['median'] - was['median']:+.3g}".replace("-", "−"))
    elif was["state"] != row["state"]:
        reasons.append(f"{was['state']} before, {row['state']} now")
    elif _number(was) != _number(row) and not reasons:
        reasons.append("scores changed, not their median")
    return reasons


def _pool(*moved: Sequence[Mapping[str, Any]]) -> list[str]:
    words = ("new", "gone", "superseded", "current again", "now trusted", "no longer trusted")
    parts = [f"{_names(rows)} {word}" for rows, word in zip(moved, words, strict=True) if rows]
    return [f"pool changed: {', '.join(parts)}"] if parts else []


def _why_gone(row: Mapping[str, Any], now: Iterable[Mapping[str, Any]]) -> str:
    """Return why a row is gone; published numbers move into the row that retrains them."""
    printed = [(number["value"], number["sources"]) for number in row["published"]]
    numbers = [
        (n["value"], n["sources"]) for other in now if other["model"] == row["model"] for n in other["published"]
    ]
    moved = row["kind"] == "published" and all(number in numbers for number in printed)
    return "now retrained here: it is part of the row that retrains it" if moved else "row gone"


def _names(rows: Sequence[Mapping[str, Any]]) -> str:
    return list_first([f"{row['title']} {row['key'][:6]}" for row in rows], NAMED)


def _ranked(row: Mapping[str, Any]) -> bool:
    return row["rank_low"] is not None


def _rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["rank_low"], row["rank_high"]


def _number(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["median"], row["mean"], row["std"], row["n"], row["diverged"]


def _median(row: Mapping[str, Any]) -> str:
    return "diverged" if row["median"] is None else plain(row["median"])


def _boards(edition: Edition) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return rows by board and key."""
    boards: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in edition.rows:
        boards.setdefault(named((row["task"], row["variant"])), {})[row["key"]] = row
    return boards
