"""The page of an edition: one HTML file that holds its data and works from a disk. Pure functions."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longwave.platform.boards.board import Row, shown
from longwave.platform.boards.overview import Overview, named
from longwave.platform.boards.rows import PROTOCOL, values
from longwave.platform.editions.changes import REASONS, Change
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.results import NAME as RESULTS
from longwave.platform.render.board import OVERALL, RANKED, VERIFIED, judged, quoted
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.storage.verification import HERE

SITE = Path(__file__).with_name("site")
SCRIPTS = ("ranks", "overall", "columns", "state", "tables", "page")
"""The page's scripts, which become one."""
FOUND = (
    f'<a href="{RESULTS}">{RESULTS}</a> holds every run behind the rows; <code>longwave import DIR</code> checks and '
    "imports them from this folder."
)
MINUS = str.maketrans("-", "−")
DATA = (
    "key kind model title mean std n low high state provisional hidden parameters train_seconds find_seconds searched "
    "search_diverged valid config sweeps diverged failed missing ties rank_low rank_high command departures seeds "
    "verification"
).split()
"""What the page takes from a row as it is."""


def page(
    edition: Edition,
    rows: Sequence[Row],
    found: Overview,
    families: Mapping[str, str],
    previous: str | None,
    changes: Sequence[Change],
    figure: str,
    lacks: str,
) -> str:
    """Return the page of an edition.

    Args:
        edition: What it shows; ``rows`` are the rows it was made of, in its order.
        rows: See there.
        found: Their overview.
        families: Family of each model, where known.
        previous: Id of the edition before it, None for the first.
        changes: From that one.
        figure: The critical-difference figure as SVG, or a sentence that says why there is none.
        lacks: Why the edition lacks its results; empty if it has them.
    """
    places = list(dict.fromkeys((row.task, row.variant) for row in rows))
    firsts = {(row.task, row.variant): row for row in reversed(rows)}
    lines = [
        _line(row, entry, places.index((row.task, row.variant)), families)
        for row, entry in zip(rows, edition.rows, strict=True)
    ]
    keys = {row.config: entry["key"] for row, entry in zip(rows, edition.rows, strict=True) if row.config}
    data = {
        **{name: getattr(edition, name) for name in ("id", "sha256", "title", "created", "commit", "counts")},
        "enough": ENOUGH,
        "here": HERE,
        "verified": VERIFIED,
        "ranked": RANKED,
        "overall": OVERALL,
        "reasons": REASONS,
        "boards": [{"name": named(at), "task": at[0], **_measured(firsts[at])} for at in places],
        "rows": lines,
        "overview": _overview(found, places, keys, families),
        "previous": previous,
        "changes": [change.to_dict() for change in changes],
    }
    parts = {
        "title": html.escape(edition.title),
        "style": _site("page.css"),
        "script": "".join(_site(f"{name}.js") for name in SCRIPTS),
        "figure": _figure(figure),
        "results": f"Without {RESULTS}: {html.escape(lacks)}" if lacks else FOUND,
        "data": json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _site("page.html"))


def _measured(row: Row) -> dict[str, str]:
    return {"metric": row.metric, "unit": row.unit, "goal": row.goal}


def _figure(figure: str) -> str:
    """Return an SVG file as part of a page, which declares no namespaces, with a link to it; or a sentence."""
    if not figure.startswith("<?xml"):
        return f"<p>{html.escape(figure)}</p>"
    drawn = re.sub(r' xmlns(:\w+)?="[^"]*"', "", figure[figure.index("<svg") :])
    return f'<figure>{drawn}</figure>\n      <p><a href="critical-difference.svg">critical-difference.svg</a></p>'


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
        "settings": {**row.options, **row.params},
        "protocol": {name: settings[name] for name in ("data", *PROTOCOL) if settings.get(name) is not None},
        "published": numbers,
        "facts": _facts(row),
    }


def _facts(row: Row) -> dict[str, str]:
    """Return where the retrainings of a row ran: the distinct values of each fact; and what energy one took."""
    names = sorted({name for facts in row.environments for name in facts})
    energy = {} if row.joules is None else {"joules a retraining": f"{row.joules:.4g}"}
    return {**{name: " or ".join(values(row.environments, name)) for name in names}, **energy}


def _overview(
    found: Overview, places: Sequence[tuple[str, str]], keys: Mapping[str, str], families: Mapping[str, str]
) -> dict[str, Any]:
    """Return models by tasks, as the page computes them for a choice of rows: a cell is a row's key, empty if none."""
    lines = [
        {
            "model": line.model,
            "title": line.title,
            "family": families.get(line.model, "other"),
            "ran": line.ran,
            "score": line.score and asdict(line.score),
            "rank": line.rank and asdict(line.rank),
            "cells": [keys[cell.config] if cell else "" for cell in line.cells],
        }
        for line in found.lines
    ]
    return {"boards": [places.index(place) for place in found.tasks], "lines": lines}
