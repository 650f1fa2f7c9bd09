"""The edition's table of medians in the README, and how tables are written in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from longwave.platform.boards.overview import best_on_validation, sharing
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, plain

Column = tuple[Sequence[Row], Mapping[str, Row]]
"""A board: its rows, and of each ranked model by title the one that validation prefers."""


def summary(rows: Sequence[Row]) -> str:
    """Return the medians of models by boards in Markdown, of each model the row that validation prefers.

    Boards without a model in common have tables of their own. An arrow says whether less or more is better; bold rows
    are in the best tie group of their board; † stands where a trivial predictor is better.
    """
    boards = {name: list(group) for name, group in groupby(rows, key=lambda row: row.place)}
    best = {name: _preferred(board) for name, board in boards.items()}
    groups = sharing({name: {row.model for row in theirs.values()} for name, theirs in best.items()})
    return "\n\n".join("\n".join(_table([(boards[name], best[name]) for name in names])) for names in groups)


def _table(boards: Sequence[Column]) -> list[str]:
    titles = dict.fromkeys(title for _, best in boards for title in best)
    cells = [[title, *(_median(best.get(title)) for _, best in boards)] for title in titles]
    simple = [next((row for row in rows if row.trivial), None) for rows, _ in boards]
    cells.append(["*best trivial*", *(f"{plain(row.mean)} {row.title}" if row else DASH for row in simple)])
    head = [f"{rows[0].place} {'↓' if rows[0].goal == 'min' else '↑'}" for rows, _ in boards]
    return table(["median over 10 seeds", *head], cells)


def _preferred(board: Sequence[Row]) -> dict[str, Row]:
    """Return the ranked rows of a board by title, by median; of each model's form the one that validation prefers."""
    ranked = [row for row in board if row.rank_low is not None]
    first = {t: best_on_validation([row for row in ranked if row.title == t]) for t in {row.title for row in ranked}}
    return {row.title: row for row in ranked if first[row.title] is row}


def _median(row: Row | None) -> str:
    if row is None:
        return DASH
    text = "diverged" if row.median is None else plain(row.median)
    return (f"**{text}**" if row.leads else text) + (" †" if row.loses_to else "")


def table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in Markdown, line by line."""
    rows = [head, ["---"] * len(head), *cells]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
