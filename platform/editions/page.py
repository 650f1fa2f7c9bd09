"""The page of an edition: one HTML file that holds its data and works from a disk. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longwave.platform.boards import columns
from longwave.platform.boards.answer import answer, over_all, saturated_tasks
from longwave.platform.boards.diff import OF_PROTOCOL, values
from longwave.platform.boards.entry import OF_BOARD
from longwave.platform.boards.methods import methods
from longwave.platform.boards.overview import Overview
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row, distinct_boards, group_by_board
from longwave.platform.boards.texts import DASH, duration, estimate, lost, quoted, weighed
from longwave.platform.editions.changes import REASONS, Change
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.figures import Drawing
from longwave.platform.editions.folder import FOLDER
from longwave.platform.figures.palette import FAMILIES, NEUTRAL
from longwave.platform.render.board import RANKED, advise
from longwave.platform.render.harmless import LATEX, all_visible, escape_invisible, in_html
from longwave.platform.render.overview import OVERALL
from longwave.platform.statistics.verdict import ENOUGH

BASELINES = ("lstm", "gru")
"""Models that are always in sight."""
HEAT = 900
"""Pixels of a heat map, which a narrow page scales."""
ALIKE = 1.25
"""Factor within which sizes, and budgets of searches, count as equal."""
SITE = Path(__file__).with_name("site")
SCRIPTS = ("columns", "state", "tables", "row", "share", "page")
"""The page's scripts, which become one."""
SAME = {
    "enough": ENOUGH,
    "baselines": BASELINES,
    "alike": ALIKE,
    "latex": LATEX,
    "colours": {**FAMILIES, "": NEUTRAL},
    "ranked": RANKED,
    "overall": OVERALL,
    "reasons": REASONS,
}
"""Data of every page, independent of its rows."""
RESULTS = (
    f'<a href="{FOLDER}/">{FOLDER}</a> holds every run behind the rows, in a bundle a sweep; '
    "<code>longwave import DIR</code> checks and imports them from this folder."
)


def page(
    edition: Edition,
    rows: Sequence[Row],
    overviews: Sequence[Overview],
    previous: str | None,
    changes: Sequence[Change],
    figure: str,
    lacks: str,
    figures: Sequence[Sequence[Drawing]],
    note: str = "",
) -> str:
    """Return the page of an edition.

    Args:
        edition: What it shows; ``rows`` are the rows it was made of, in its order.
        rows: See there.
        overviews: Their overviews.
        previous: Id of the edition before it, None for the first.
        changes: From that one.
        figure: The critical-difference figure as SVG, or a sentence that says why there is none.
        lacks: Why the edition lacks its results; empty if it has them.
        figures: Those of each board, boards sorted by task and variant.
        note: A sentence above the boards.
    """
    boards = group_by_board(rows)
    places = sorted(boards)
    titles = distinct_boards([boards[place][0] for place in places])
    data = {
        **{name: getattr(edition, name) for name in ("id", "sha256", "title", "created", "commit", "counts")},
        **SAME,
        "answer": " ".join(over_all(one) for k, one in enumerate(overviews) if k == 0 or len(one.tasks) > 1),
        "printed": verdict_share(rows),
        "columns": _columns(rows),
        "boards": [
            _board(boards[place], title, drawn) for place, title, drawn in zip(places, titles, figures, strict=True)
        ],
        "rows": [
            _line(row, entry, places.index((row.task, row.variant)))
            for row, entry in zip(rows, edition.rows, strict=True)
        ],
        "overviews": [_overview(one, places) for one in overviews],
        "previous": previous,
        "changes": [change.to_dict() for change in changes],
    }
    parts = {
        "title": in_html(edition.title),
        "style": _site("page.css"),
        "script": "".join(_site(f"{name}.js") for name in SCRIPTS),
        "note": f"<p>{in_html(note)}</p>" if note else "",
        "heat": _heat_maps(overviews),
        "figure": _figure(figure),
        "methods": _methods(),
        "results": f"Without {FOLDER}: {in_html(lacks)}" if lacks else RESULTS,
        "data": _data(data),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _site("page.html"))


def _data(data: Mapping[str, Any]) -> str:
    """Return JSON that ends no script."""
    text = json.dumps(all_visible(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _board(rows: Sequence[Row], title: str, figures: Sequence[Drawing]) -> dict[str, Any]:
    """Return a board as the page takes it, given its rows, its name in print and its figures."""
    same = {name: getattr(rows[0], name) for name in ("task", "metric", "unit", "goal")}
    told = answer(rows)
    texts = {"advice": advise(rows), "answer": told.sentence, "figures": [one.to_dict() for one in figures]}
    return {"name": rows[0].place, "title": title, "word": told.separation.word, **same, **texts}


def _figure(figure: str) -> str:
    """Return the critical-difference figure with a link to its file; or a sentence."""
    if not figure.startswith("<?xml"):
        return f"<p>{in_html(figure)}</p>"
    return f'{_inline(figure)}\n      <p><a href="critical-difference.svg">critical-difference.svg</a></p>'


def _heat_maps(overviews: Sequence[Overview]) -> str:
    """Return the heat map of each overview that has one, as parts of a page."""
    from longwave.platform.figures.heat_map import heat_map  # Altair

    return "\n".join(_inline(drawn.svg(HEAT)) for one in overviews if (drawn := heat_map(one)))


def _inline(svg: str) -> str:
    """Return an SVG file as part of a page, which declares no namespaces."""
    drawn = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg[svg.index("<svg") :])
    return f"<figure>{escape_invisible(drawn)}</figure>"


def _methods() -> str:
    """Return the Methods as HTML, each section folded."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    head, *sections = methods().split("\n## ")
    parts = [(in_html(title), markdown.render(body)) for title, _, body in (s.partition("\n") for s in sections)]
    folded = [f"<details><summary>{title}</summary>{body}</details>" for title, body in parts]
    return "\n".join([markdown.render(head.partition("\n")[2]), *folded])


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
    settings, shown = row.settings, columns.of("page")
    plain = [column for column in columns.COLUMNS if column.kind != "json" and column.key not in OF_BOARD]
    return {
        **{column.key: column.value(row) for column in plain},
        "board": board,
        "leads": row.shines,
        "asked": row.seed_count,
        "faint": row.provisional or bool(row.superseded),
        "lost": "; ".join(lost(row)),
        "family": row.family or ("" if row.trivial else "other"),
        "texts": {column.key: column.text(row) for column in shown},
        "settings": {**row.options, **row.params},
        "protocol": {name: settings[name] for name in ("data", *OF_PROTOCOL) if settings.get(name) is not None},
        "published": [_number(row, number) for number in row.published],
        "seeds": [{**seed, "time": duration(seed["seconds"])} for seed in entry["seeds"]],
        "facts": _facts(row),
    }


def _number(row: Row, number: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published number as the page takes it: what was printed, and how our scores stand to it."""
    same = {name: number[name] for name in ("value", "verdict", "why", "departures", "note", "sources")}
    return {**same, "text": quoted(number), "weighed": weighed(number) if row.kind == "reproduced" else ""}


def _facts(row: Row) -> dict[str, str]:
    """Return where the retrainings of a row ran: the distinct values of each fact; and what energy one took."""
    names = sorted({name for facts in row.environments for name in facts})
    energy = {} if row.joules is None else {"joules a retraining": f"{row.joules:.4g}"}
    return {**{name: " or ".join(values(row.environments, name)) for name in names}, **energy}


def _overview(overview: Overview, places: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return models by tasks as the page takes them: a cell is a row's key, empty if there is none."""
    lines = [
        {
            "model": line.model,
            "title": line.title,
            "family": next(cell.family for cell in line.cells if cell) or "other",
            "ran": line.ran,
            "score": f"{DASH} ({line.why})" if line.why else estimate(line.score),
            "rank": estimate(line.rank, 1),
            "cells": [cell.key if cell else "" for cell in line.cells],
        }
        for line in overview.lines
    ]
    return {
        "boards": [places.index(place) for place in overview.tasks],
        "shown": len(overview.of_word("separates", "open")),
        "saturated": saturated_tasks(overview),
        "lines": lines,
    }
