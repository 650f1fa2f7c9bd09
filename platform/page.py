"""The page of an edition: one HTML file that holds its data and works from a disk. Pure functions."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longwave.platform.board import Row, shown
from longwave.platform.changes import REASONS, Change
from longwave.platform.edition import Edition
from longwave.platform.overview import Overview, named, overview, state
from longwave.platform.render_board import OVERALL, RANKED, estimate, judged, leads, quoted, span
from longwave.platform.rows import OWN, PROTOCOL, values
from longwave.platform.verdict import ENOUGH

SITE = Path(__file__).with_name("site")
MINUS = str.maketrans("-", "−")
DATA = (
    "key kind model title mean std n low high state provisional hidden parameters train_seconds find_seconds searched "
    "search_diverged valid config sweeps diverged failed missing ties rank_low rank_high command departures seeds"
).split()
"""What the page takes from a row as it is."""


def page(
    edition: Edition,
    rows: Sequence[Row],
    families: Mapping[str, str],
    previous: str | None,
    changes: Sequence[Change],
) -> str:
    """Return the page of an edition.

    Args:
        edition: What it shows; ``rows`` are the rows it was made of, in its order.
        rows: See there.
        families: Family of each model, where known.
        previous: Id of the edition before it, None for the first.
        changes: From that one.
    """
    places = list(dict.fromkeys((row.task, row.variant) for row in rows))
    firsts = {(row.task, row.variant): row for row in reversed(rows)}
    shared = ("metric", "unit", "goal")
    lines = [
        _line(row, entry, places.index((row.task, row.variant)), families)
        for row, entry in zip(rows, edition.rows, strict=True)
    ]
    keys = {row.config: entry["key"] for row, entry in zip(rows, edition.rows, strict=True) if row.config}
    data = {
        **{name: getattr(edition, name) for name in ("id", "sha256", "title", "created", "commit", "counts")},
        "enough": ENOUGH,
        "ranked": RANKED,
        "overall": OVERALL,
        "reasons": REASONS,
        "boards": [{"name": named(at), "task": at[0], **{k: getattr(firsts[at], k) for k in shared}} for at in places],
        "rows": lines,
        "overview": _overview(overview(rows), places, keys, families),
        "previous": previous,
        "changes": [change.to_dict() for change in changes],
    }
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    parts = {
        "title": html.escape(edition.title),
        "style": _site("page.css"),
        "script": _site("page.js"),
        "data": text.replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _site("page.html"))


def _site(name: str) -> str:
    return (SITE / name).read_text(encoding="utf-8")


def _line(row: Row, entry: Mapping[str, Any], board: int, families: Mapping[str, str]) -> dict[str, Any]:
    """Return a row as the page takes it: numbers to sort by, texts to show."""
    family = families.get(row.model, "" if row.kind == "trivial" else "other")
    numbers = [
        {
            "text": quoted(number),
            "judged": "" if row.kind != "reproduced" else judged(number),
            **{k: number.get(k) for k in ("value", "verdict", "gap", "too_good", "note", "sources")},
        }
        for number in row.published
    ]
    settings = row.settings
    return {
        **{name: entry[name] for name in DATA},
        "board": board,
        "family": family,
        "text": shown(row.mean, row.std),
        "interval": "" if row.low is None else f"{row.low:.4g} to {row.high:.4g}".translate(MINUS),
        "rank": span(row.rank_low, row.rank_high),
        "leads": leads(row),
        "settings": {**row.options, **row.params},
        "protocol": {name: settings[name] for name in ("data", *PROTOCOL) if settings.get(name) is not None},
        "published": numbers,
        "facts": _facts(row.environments),
    }


def _facts(environments: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return where the retrainings of a row ran: the distinct values of each fact; energy as a mean."""
    found = {name: " or ".join(values(environments, name)) for name in sorted({n for f in environments for n in f})}
    energy = [float(facts["energy_joules"]) for facts in environments if "energy_joules" in facts]
    kept = {name: text for name, text in found.items() if name not in OWN}
    return {**kept, **({"joules a retraining": f"{sum(energy) / len(energy):.4g}"} if energy else {})}


def _overview(
    found: Overview, places: Sequence[tuple[str, str]], keys: Mapping[str, str], families: Mapping[str, str]
) -> dict[str, Any]:
    """Return models by tasks; a cell is the key of a row, or the word for its state."""
    lines = [
        {
            "model": line.model,
            "title": line.title,
            "family": families.get(line.model, "other"),
            "ran": line.ran,
            "score": estimate(line.score),
            "rank": estimate(line.rank, 1),
            "by": [line.score and line.score.value, line.rank and line.rank.value],
            "cells": [{"key": keys[cell.config] if cell else "", "state": state(cell)} for cell in line.cells],
        }
        for line in found.lines
    ]
    return {"boards": [places.index(place) for place in found.tasks], "lines": lines}
