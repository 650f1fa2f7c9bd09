"""The page of an edition: one HTML file that contains its data and works without a server. Pure functions."""

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
from longwave.platform.boards.landmarks import BASELINES, EQUAL_WITHIN
from longwave.platform.boards.methods import methods
from longwave.platform.boards.overview import Overview
from longwave.platform.boards.printed import quote_number, write_evidence
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row, distinct_boards, group_by_board
from longwave.platform.boards.settings import fact_words, setting_words
from longwave.platform.boards.texts import DASH, duration, estimate, lost, metric_words
from longwave.platform.editions.changes import REASONS, Change
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.figures import Drawing
from longwave.platform.editions.folder import FOLDER
from longwave.platform.figures.palette import FAMILIES, NEUTRAL
from longwave.platform.render.board import RANKED, advise
from longwave.platform.render.harmless import LATEX, all_visible, escape_invisible, in_html
from longwave.platform.render.overview import OVERALL
from longwave.platform.statistics.verdict import ENOUGH

HEAT = 1100
"""Width of a heat map in pixels, which a narrow page scales."""
SITE = Path(__file__).with_name("site")
SCRIPTS = ("columns", "state", "tables", "row", "share", "page")
"""The page's scripts, which are concatenated."""
SAME = {
    "enough": ENOUGH,
    "baselines": BASELINES,
    "alike": EQUAL_WITHIN,
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
        edition: The edition.
        rows: The rows from which it was made, in its order.
        overviews: Their overviews.
        previous: Id of the edition before it, None for the first.
        changes: Changes since that one.
        figure: The critical-difference figure as SVG, or a sentence on why there is none.
        lacks: Why the edition lacks its results; empty if it has them.
        figures: Figures of each board, boards sorted by task and variant.
        note: A sentence above the boards.
    """
    boards = group_by_board(rows)
    board_keys = sorted(boards)
    titles = distinct_boards([boards[board][0] for board in board_keys])
    data = {
        **{name: getattr(edition, name) for name in ("id", "sha256", "title", "created", "commit", "counts")},
        **SAME,
        "answer": " ".join(
            over_all(overview) for k, overview in enumerate(overviews) if k == 0 or len(overview.tasks) > 1
        ),
        "printed": verdict_share(rows),
        "columns": _columns(rows),
        "boards": [
            _board(boards[board], title, drawings)
            for board, title, drawings in zip(board_keys, titles, figures, strict=True)
        ],
        "rows": [
            _line(row, entry, board_keys.index((row.task, row.variant)))
            for row, entry in zip(rows, edition.rows, strict=True)
        ],
        "overviews": [_overview(overview, board_keys) for overview in overviews],
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
    """Return JSON that is safe inside a script element."""
    text = json.dumps(all_visible(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _board(rows: Sequence[Row], title: str, figures: Sequence[Drawing]) -> dict[str, Any]:
    """Return a board's data for the page, from its rows, its name in print and its figures."""
    shared = {name: getattr(rows[0], name) for name in ("task", "unit", "goal")}
    leading = answer(rows)
    texts = {
        "metric": metric_words(rows[0].metric),
        "advice": advise(rows),
        "answer": leading.sentence,
        "figures": [drawing.to_dict() for drawing in figures],
    }
    return {"name": rows[0].place, "title": title, "word": leading.separation.word, **shared, **texts}


def _figure(figure: str) -> str:
    """Return the critical-difference figure with a link to its file, or the sentence in place of it."""
    if not figure.startswith("<?xml"):
        return f"<p>{in_html(figure)}</p>"
    return f'{_inline(figure)}\n      <p><a href="critical-difference.svg">critical-difference.svg</a></p>'


def _heat_maps(overviews: Sequence[Overview]) -> str:
    """Return the heat map of each overview that has one, as parts of a page."""
    from longwave.platform.figures.heat_map import heat_map  # imports Altair

    return "\n".join(_inline(figure.svg(HEAT)) for overview in overviews if (figure := heat_map(overview)))


def _inline(svg: str) -> str:
    """Return an SVG file as an inline figure, without namespace declarations."""
    element = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg[svg.index("<svg") :])
    return f"<figure>{escape_invisible(element)}</figure>"


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
    """Return the columns of the page's tables; the script formats some cells itself, by key."""
    defaults = columns.standing("page", rows)
    return [
        {
            **{name: getattr(column, name) for name in ("key", "heading", "meaning", "kind", "align")},
            "by_goal": column.unit == columns.METRIC,
            "stands": column in defaults,
        }
        for column in columns.of("page")
    ]


def _line(row: Row, entry: Mapping[str, Any], board: int) -> dict[str, Any]:
    """Return a row's data for the page: values for sorting and texts to show, without the fields of its board."""
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
        "protocol": setting_words({name: settings.get(name) for name in ("data", *OF_PROTOCOL)}),
        "published": [_number(row, number) for number in row.published],
        "seeds": [{**seed, "time": duration(seed["seconds"])} for seed in entry["seeds"]],
        "facts": _facts(row),
    }


def _number(row: Row, number: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published number's data for the page, with the verdict on it."""
    fields = {name: number[name] for name in ("value", "verdict", "why", "departures", "note", "sources")}
    return {
        **fields,
        "text": quote_number(number),
        "weighed": write_evidence(number) if row.kind == "retrained" else "",
    }


def _facts(row: Row) -> dict[str, str]:
    """Return the distinct values of each environment fact of a row's retrainings, and their mean energy."""
    names = sorted({name for facts in row.environments for name in facts})
    energy = {} if row.joules is None else {"joules a retraining": f"{row.joules:.4g}"}
    return {**fact_words({name: values(row.environments, name) for name in names}), **energy}


def _overview(overview: Overview, board_keys: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return models by tasks for the page: each cell is a row's key, empty without a row."""
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
        "boards": [board_keys.index(board) for board in overview.tasks],
        "shown": len(overview.of_word("separates", "open")),
        "saturated": saturated_tasks(overview),
        "lines": lines,
    }
