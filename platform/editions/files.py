"""The files of an edition, made from its rows: texts, figures and tables. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from longwave.platform.boards.diagram import diagram
from longwave.platform.boards.overview import Overview, overviews
from longwave.platform.boards.row import Row, group_by_board
from longwave.platform.editions.changes import changelog, difference
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.figures import Curves, Drawing, drawings
from longwave.platform.editions.page import page
from longwave.platform.editions.tables import draw_tables
from longwave.platform.errors import ConfigError
from longwave.platform.figures.critical_difference import draw_diagram
from longwave.platform.literature.bibliography import bibliography
from longwave.platform.render.export import as_json


def draw_files(
    edition: Edition, rows: Sequence[Row], previous: Edition | None, lacks: str, curves: Curves, note: str = ""
) -> dict[str, bytes]:
    """Return the files of an edition by name: page, texts, figures and tables.

    Args:
        edition: The edition.
        rows: The rows from which it was made.
        previous: The previous edition, for the list of changes.
        lacks: Why it has no results; empty if it has them.
        curves: Epochs of its retrainings.
        note: A sentence above the boards of the page.
    """
    changes = difference(previous, edition) if previous else []
    previous_id = previous.id if previous else None
    sources = [source for row in edition.rows for number in row["published"] for source in number["sources"]]
    at_a_glance = overviews(rows)
    figure, why = _figure(at_a_glance[0])
    figures = _drawings(edition, rows, curves)
    texts = {
        "index.html": page(edition, rows, at_a_glance, previous_id, changes, figure or why, lacks, figures, note),
        "board.json": as_json(edition.to_dict()) + "\n",
        "sources.bib": bibliography(sources),
        "CHANGES.md": changelog(edition, previous_id, changes),
        "changes.json": as_json(
            {"edition": edition.id, "previous": previous_id, "changes": [c.to_dict() for c in changes]}
        ),
    }
    texts |= {drawing.file: drawing.svg for of_board in figures for drawing in of_board}
    texts |= {"critical-difference.svg": figure} if figure else {}
    files = {name: text.encode() for name, text in texts.items()}
    return files | {name: table.to_parquet(index=False) for name, table in draw_tables(edition).items()}


def _drawings(edition: Edition, rows: Sequence[Row], curves: Curves) -> list[list[Drawing]]:
    """Return the figures of each board, in the order of the page."""
    boards, tasks = group_by_board(rows), dict[str, list[Row]]()
    for row in rows:
        tasks.setdefault(row.task, []).append(row)
    seeds = {entry["key"]: entry["seeds"] for entry in edition.rows}
    return [drawings(k, boards[board], tasks[board[0]], seeds, curves) for k, board in enumerate(sorted(boards), 1)]


def _figure(overview: Overview) -> tuple[str, str]:
    """Return the critical-difference figure as SVG, or an empty text and why there is none."""
    try:
        drawing = diagram(overview)
    except ConfigError as reason:
        return "", str(reason)
    return ("", drawing.why_none) if drawing.why_none else (draw_diagram(drawing), "")
