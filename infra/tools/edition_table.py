"""The edition's table of medians in the README, and how tables are written in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longwave.platform.boards.answer import over_all, saturated_tasks
from longwave.platform.boards.overview import ModelLine, Overview, overviews
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, estimate, plain


def summary(rows: Sequence[Row]) -> str:
    """Return the overview in Markdown: medians of models by tasks, of each model the row that validation prefers.

    Boards without a model in common have tables of their own. Models stand by mean rank; saturated tasks, which no rank
    counts, are folded below. An arrow says whether less or more is better; bold is as on every board; † stands where a
    trivial predictor is better.
    """
    return "\n\n".join(part for one in overviews(rows) for part in _parts(one))


def _parts(overview: Overview) -> list[str]:
    shown = len(overview.of_word("separates", "open"))
    scores = [(line, [estimate(line.rank, 1), estimate(line.score)]) for line in overview.lines]
    head = ["by mean rank", "mean rank", "score"]
    parts = [over_all(overview), "\n".join(_table(overview, head, scores, range(shown)))]
    if folded := saturated_tasks(overview):
        lines = _table(overview, ["model"], [(line, []) for line in overview.lines], range(shown, len(overview.tasks)))
        parts += [f"<details><summary>{folded}</summary>", "\n".join(lines), "</details>"]
    return parts


def _table(
    overview: Overview, head: Sequence[str], lines: Iterable[tuple[ModelLine, Sequence[str]]], tasks: range
) -> list[str]:
    """Return some tasks of an overview, each with its best trivial predictor; models that ran on none are left out."""
    cells = [
        [line.title, *first, *(_median(line.cells[k]) for k in tasks)]
        for line, first in lines
        if any(line.cells[k] for k in tasks)
    ]
    simple = [overview.separations[k].predictor for k in tasks]
    best = [f"{plain(row.mean)} {row.title}" if row else DASH for row in simple]
    cells.append(["*best trivial*", *[DASH] * (len(head) - 1), *best])
    return table([*head, *(_heading(overview, k) for k in tasks)], cells)


def _heading(overview: Overview, k: int) -> str:
    """Return a task's name, which way is better there, and that it is open."""
    goal = next(cell.goal for line in overview.lines if (cell := line.cells[k]))
    word = overview.separations[k].word
    return f"{overview.titles[k]} {'↓' if goal == 'min' else '↑'}{' (open)' * (word == 'open')}"


def _median(row: Row | None) -> str:
    """Return a row's median, and what of its model it varies."""
    if row is None:
        return DASH
    text = "diverged" if row.median is None else plain(row.median)
    form = row.title.removeprefix(row.model_title)
    return (f"**{text}**" if row.shines else text) + form + (" †" if row.loses_to else "")


def table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in Markdown, line by line."""
    rows = [head, ["---"] * len(head), *cells]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
