"""The page of an edition: one HTML file that holds its data and works from a disk. Pure functions."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longwave.platform.boards import columns
from longwave.platform.boards.board import OF_BOARD
from longwave.platform.boards.diff import OF_PROTOCOL, values
from longwave.platform.boards.overview import Overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import duration, judged, quoted
from longwave.platform.editions.changes import REASONS, Change
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.results import NAME as RESULTS
from longwave.platform.render.board import OVERALL, RANKED
from longwave.platform.statistics.verdict import ENOUGH

SITE = Path(__file__).with_name("site")
SCRIPTS = ("ranks", "overall", "columns", "state", "tables", "page")
"""The page's scripts, which become one."""
FOUND = (
    f'<a href="{RESULTS}">{RESULTS}</a> holds every run behind the rows; <code>longwave import DIR</code> checks and '
    "imports them from this folder."
)


def page(
    edition: Edition,
    rows: Sequence[Row],
    found: Overview,
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
        previous: Id of the edition before it, None for the first.
        changes: From that one.
        figure: The critical-difference figure as SVG, or a sentence that says why there is none.
        lacks: Why the edition lacks its results; empty if it has them.
    """
    firsts = {(row.task, row.variant): row for row in reversed(rows)}
    places = [(board["task"], board["variant"]) for board in edition.pairs]
    data = {
        **{name: getattr(edition, name) for name in ("id", "sha256", "title", "created", "commit", "counts")},
        "enough": ENOUGH,
        "ranked": RANKED,
        "overall": OVERALL,
        "reasons": REASONS,
        "columns": _columns(rows),
        "boards": [_board(firsts[at], board) for at, board in zip(places, edition.pairs, strict=True)],
        "rows": [
            _line(row, entry, places.index((row.task, row.variant)))
            for row, entry in zip(rows, edition.rows, strict=True)
        ],
        "overview": _overview(found, places),
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


def _board(row: Row, pairs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a board as the page takes it, given one of its rows, and its pairs, as in the edition."""
    said = {name: getattr(row, name) for name in ("task", "metric", "unit", "goal")}
    return {"name": row.place, **said, "pairs": pairs["pairs"], "lost": pairs["lost"]}


def _figure(figure: str) -> str:
    """Return an SVG file as part of a page, which declares no namespaces, with a link to it; or a sentence."""
    if not figure.startswith("<?xml"):
        return f"<p>{html.escape(figure)}</p>"
    drawn = re.sub(r' xmlns(:\w+)?="[^"]*"', "", figure[figure.index("<svg") :])
    return f'<figure>{drawn}</figure>\n      <p><a href="critical-difference.svg">critical-difference.svg</a></p>'


def _site(name: str) -> str:
    return (SITE / name).read_text(encoding="utf-8")


def _columns(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what the page's tables are drawn from; the script builds some cells in its own way, by their key."""
    unasked = columns.standing("page", rows)
    return [
        {
            **{name: getattr(column, name) for name in ("key", "heading", "meaning", "kind", "align")},
            "by_goal": column.unit == columns.METRIC,
            "stands": column in unasked,
        }
        for column in columns.of("page")
    ]


def _line(row: Row, entry: Mapping[str, Any], board: int) -> dict[str, Any]:
    """Return a row as the page takes it: numbers to sort by, texts to show; what its board says is not repeated."""
    numbers = [
        {
            "text": quoted(number),
            "judged": "" if row.kind != "reproduced" else judged(number),
            **{k: number.get(k) for k in ("value", "verdict", "gap", "too_good", "note", "sources")},
        }
        for number in row.published
    ]
    settings, shown = row.settings, columns.of("page")
    plain = [column for column in columns.COLUMNS if column.kind != "json" and column.key not in OF_BOARD]
    return {
        **{column.key: column.value(row) for column in plain},
        "board": board,
        "family": row.family or ("" if row.trivial else "other"),
        "texts": {column.key: column.text(row) for column in shown},
        "settings": {**row.options, **row.params},
        "protocol": {name: settings[name] for name in ("data", *OF_PROTOCOL) if settings.get(name) is not None},
        "published": numbers,
        "seeds": [{**seed, "time": duration(seed["seconds"])} for seed in entry["seeds"]],
        "facts": _facts(row),
    }


def _facts(row: Row) -> dict[str, str]:
    """Return where the retrainings of a row ran: the distinct values of each fact; and what energy one took."""
    names = sorted({name for facts in row.environments for name in facts})
    energy = {} if row.joules is None else {"joules a retraining": f"{row.joules:.4g}"}
    return {**{name: " or ".join(values(row.environments, name)) for name in names}, **energy}


def _overview(found: Overview, places: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return models by tasks, as the page computes them for a choice of rows: a cell is a row's key, empty if none."""
    lines = [
        {
            "model": line.model,
            "title": line.title,
            "family": next(cell.family for cell in line.cells if cell) or "other",
            "ran": line.ran,
            "score": line.score and asdict(line.score),
            "rank": line.rank and asdict(line.rank),
            "cells": [cell.key if cell else "" for cell in line.cells],
        }
        for line in found.lines
    ]
    return {"boards": [places.index(place) for place in found.tasks], "lines": lines}
