"""A board as tables to download, as shown on the page and in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from longwave.dashboard import board_table
from longwave.dashboard.board_table import BoardView
from longwave.platform.boards import columns
from longwave.platform.boards.answer import answer
from longwave.platform.boards.printed import quote_numbers
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import plain
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render import board as as_text
from longwave.platform.render.table import Table

REFERENCES = ("kind", "model", "number", "parameters")


def board_as_table(view: BoardView, rows: Sequence[Row], pool: Pool = EVERYBODY) -> Table:
    """Return the board as shown on the page, for download; its records have more fields, at full precision.

    Args:
        view: The rows shown, in the order of the page.
        rows: All rows of the board, in its own order.
        pool: Which rows are ranked.
    """
    keys = [column.key for column in view.columns]
    return replace(
        as_text.board_table(view.rows, pool),
        answer=answer(rows).sentence,
        caption=str(pool),
        columns=[heading for heading, _, _ in map(board_table.column_headings(view).__getitem__, keys)],
        lines=list(zip(*(view.texts[column.key] for column in view.columns), strict=True)),
        bold=frozenset((k, keys.index("median")) for k, row in enumerate(view.rows) if row.shines),
        right=frozenset(k for k, column in enumerate(view.columns) if column.align == "right"),
    )


def row_as_table(row: Row) -> Table:
    """Return one row as a table, which says nothing about its board."""
    return replace(as_text.board_table([row]), answer="")


def references_as_table(rows: Sequence[Row]) -> Table:
    """Return one line per number that was not trained here: kind, name, the number, its size; its records are those of
    a board.
    """
    lines = [(r.kind, r.title, plain(r.mean) if r.trivial else quote_numbers(r), plain(r.parameters)) for r in rows]
    return Table(f"{rows[0].board}: not trained here", REFERENCES, lines, records=list(map(columns.record, rows)))
