"""Numbers printed for an edition's tasks that no row can be compared with, beside the rows of the same model."""

from __future__ import annotations

from collections.abc import Iterable

from edition.searches import Board, board_table
from longwave.platform.boards.texts import DASH, median
from longwave.platform.literature.pairing import unpaired
from longwave.platform.literature.published import published_rows
from longwave.platform.registry import metric_names, printed_forms
from longwave.platform.render.literature import COLUMNS, number_line

QUOTED = ("model", "metric", "number", "what it is", "printed in")
HEAD = (*QUOTED, "not compared because", "median of our rows")


def describe_unpaired(boards: Iterable[Board]) -> list[str]:
    """Return a table for each board whose task has such numbers, the largest of each metric first; else nothing."""
    metrics, forms = metric_names(), printed_forms()
    numbers = [(number, why) for number in published_rows() if (why := unpaired(number, metrics, forms))]
    numbers.sort(key=lambda pair: (pair[0]["metric"], -pair[0]["value"]))
    lines: list[str] = []
    for name, rows, links in boards:
        cells = []
        for number, why in numbers:
            if number["task"] == rows[0].task:
                line = dict(zip(COLUMNS, number_line(number, why), strict=True))
                ours = [row for row in rows if row.kind == "retrained" and row.model == number["model"] and row.current]
                beside = "; ".join(f"{links[row.key]} {median(row)}" for row in ours)
                cells.append([*(line[key] for key in QUOTED), why, beside or DASH])
        lines += board_table(name, HEAD, cells)
    return lines[1:]
