"""All boards at a glance: one line per board, and models by boards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from longwave.platform.boards.answer import NO_ROW, answer, over_all, saturated_tasks
from longwave.platform.boards.numbers import column_power, power_text
from longwave.platform.boards.overview import ModelLine, Overview, overviews
from longwave.platform.boards.row import Row, group_by_board
from longwave.platform.boards.separation import TaskWord, count_words
from longwave.platform.boards.texts import DASH, WORSE, estimate, listed
from longwave.platform.boards.verification import UNTRUSTED
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render.board import PASTED_FORMATS, median_cell
from longwave.platform.render.export import Format
from longwave.platform.render.fit import split_table
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import print_beside, print_line, print_tables, table_width
from longwave.platform.statistics.stats import direction
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.wording import describe_count

AHEAD = 3
"""Columns of an overview with numbers before those of tasks."""
MATRIX = (
    "Cells: rank of the median; equal medians show the lowest of their ranks. Mean: average rank on the boards that "
    "count, among the models that ran on all of them, so it can be smaller than the average of a line; equal medians "
    f"share the average of their ranks. Bold: best group; {WORSE}: a trivial predictor is better. "
    "Not worse: ranked rows that are not significantly worse than the best, itself included. A board in full: "
    'longwave board "TITLE". Numbers: --numbers. Methods: longwave methods.'
)
SEPARATES: Mapping[TaskWord, str] = {"separates": "yes", "open": "open", "saturated": "no"}
OVERALL = (
    "A board separates if a network beats the best trivial predictor: exact sign test over its seeds, adjusted by "
    "Hochberg at 5 %. It is saturated if no network's median is better than that predictor, and open otherwise. Scores "
    "and mean ranks use separating boards on which at least half of the models have run, and models with "
    f"{ENOUGH} seeds on each of them. A cell is the median over all seeds of the model's row that validates best; a "
    "diverged seed counts as worst. Score: mean gain over the best trivial predictor, 0 where a seed does not beat it "
    "and 1 at a perfect score. Mean rank: of the medians, with the range that rank tests of all pairs allow, adjusted "
    "by Holm at 5 %. Models are scored only against models that share boards."
)
UNFOLD = "Add --saturated to show them."
"""How to show saturated boards that are only named."""


def print_overviews(
    rows: Sequence[Row], pool: Pool, format: Format, saturated: bool = False, numbers: bool = False
) -> None:
    """Print all boards at a glance: one line per board, then models by boards, side by side if they fit.

    Args:
        rows: Rows of all boards.
        pool: Which rows are ranked.
        format: The format; other formats than a table have medians instead of ranks, and no lines per board.
        saturated: Whether models by boards include saturated tasks, which are otherwise only named.
        numbers: Whether a table shows medians with their intervals instead of ranks.
    """
    if format is Format.table and not any(row.kind == "retrained" for row in rows):
        print_line(" ".join(filter(None, (NO_ROW, str(pool)))))
        return
    parts = overviews(rows)
    if numbers or format is not Format.table:
        last, pasted = len(parts) - 1, format in PASTED_FORMATS
        tables = [overview_table(overview, pool, saturated, k == last, pasted) for k, overview in enumerate(parts)]
        if format is Format.table:
            tables = [*chain(*(split_table(table, table_width(), AHEAD) for table in tables))]
        print_tables(tables, format)
        return
    board_numbers = {board: k for k, board in enumerate(chain(*(part.tasks for part in parts)), 1)}
    print_line(f"{count_words([word for part in parts for word in part.separations])}\n")
    print_beside(boards_table(rows, board_numbers), [matrix_table(part, board_numbers, saturated) for part in parts])
    few = [str(board_numbers[board]) for part in parts for board in part.too_few_models]
    boards = f"Boards {listed(few, len(few))} do" if len(few) > 1 else f"Board {listed(few)} does"
    uncounted = f"{boards} not count in the mean: fewer than half of the models ran there." if few else ""
    print_line(" ".join(filter(None, (MATRIX, uncounted, _other_forms(parts, board_numbers), str(pool)))))


def _other_forms(parts: Sequence[Overview], board_numbers: Mapping[tuple[str, str], int]) -> str:
    """Return on which boards the row of a model has another form than on most, in a sentence; empty if on none."""
    boards: dict[str, list[str]] = {}
    for part in parts:
        for line in part.lines:
            cells = {board: cell for board, cell in zip(part.tasks, line.cells, strict=True) if cell}
            titles = Counter(cell.title for cell in cells.values())
            for board, cell in cells.items():
                if cell.title != titles.most_common(1)[0][0]:
                    boards.setdefault(cell.title, []).append(str(board_numbers[board]))
    forms = [f"{title} on {', '.join(numbers)}" for title, numbers in boards.items()]
    return f"Other forms by board: {'; '.join(forms)}." if forms else ""


def boards_table(rows: Sequence[Row], board_numbers: Mapping[tuple[str, str], int]) -> Table:
    """Return one line per board: number, name, best network, how many rows are not significantly worse than it, itself
    included, and whether the board separates.
    """
    by_board, lines = group_by_board(rows), []
    for key, number in board_numbers.items():
        board_rows = by_board[key]
        leading = answer(board_rows)
        tied = f"{1 + leading.not_worse}/{leading.ranked}" if leading.leaders else DASH
        separates = SEPARATES[leading.separation.word]
        lines.append((str(number), board_rows[0].board, leading.first or DASH, tied, separates))
    head = ("", "board", "best network", "not worse", "separates")
    return Table("", head, lines, right=frozenset({0}), prose=frozenset({1, 2}))


def matrix_table(overview: Overview, board_numbers: Mapping[tuple[str, str], int], saturated: bool = False) -> Table:
    """Return models by numbered boards, with the rank of each model's median. Saturated boards are left out, unless
    there are no others or ``saturated`` is true; so are models that have run on none of the others.
    """
    shown = _shown_tasks(overview, saturated)
    models = [line for line in overview.lines if any(line.cells[:shown])]
    ranks = [_cell_ranks([line.cells[k] for line in models]) for k in range(shown)]
    lines = [
        (line.title, f"{line.rank.value:.1f}" if line.rank else DASH, *(ranks[k][i] for k in range(shown)))
        for i, line in enumerate(models)
    ]
    bold = frozenset(
        (i, 2 + k) for i, line in enumerate(models) for k in range(shown) if (c := line.cells[k]) and c.shines
    )
    head = ("model", "mean", *(str(board_numbers[board]) for board in overview.tasks[:shown]))
    return Table("", head, lines, bold=bold, right=frozenset(range(1, len(head))))


def _shown_tasks(overview: Overview, saturated: bool) -> int:
    """Return the number of tasks shown: those that are not saturated, or all."""
    shown = len(overview.of_word("separates", "open"))
    return shown if shown and not saturated else len(overview.tasks)


def _cell_ranks(cells: Sequence[Row | None]) -> list[str]:
    """Return the rank of each median among the ranked rows of a board: ``3``, ``3†``; a dash if a row has no rank."""
    sign = direction(next(cell.goal for cell in cells if cell))
    ranked = [_error_of(cell, sign) for cell in cells if cell and cell.rank_low is not None]
    texts = []
    for cell in cells:
        if cell and cell.untrusted:
            texts.append(UNTRUSTED)
        elif not cell or cell.rank_low is None:
            texts.append(DASH)
        else:
            better = sum(error < _error_of(cell, sign) for error in ranked)
            texts.append(f"{1 + better}{WORSE * bool(cell.loses_to)}")
    return texts


def _error_of(cell: Row, sign: int) -> float:
    """Return a cell's median with the sign of an error, infinite without one."""
    return math.inf if cell.median is None else -sign * cell.median


def overview_table(
    overview: Overview, pool: Pool = EVERYBODY, saturated: bool = False, how: bool = True, pasted: bool = False
) -> Table:
    """Return models by boards with their medians; the caption names saturated boards, unless there are no others.

    Args:
        overview: The overview.
        pool: Which rows are ranked.
        saturated: Whether saturated tasks have columns too.
        how: Whether to explain the marks.
        pasted: Whether it is for a paper: medians without intervals, with a caption of one sentence.
    """
    shown = _shown_tasks(overview, saturated)
    fold = shown < len(overview.tasks)
    powers = [column_power(filter(None, (line.cells[k] for line in overview.lines))) for k in range(shown)]
    head = ["model", "score", "mean rank"]
    for title, separated, power in zip(overview.titles, overview.separations, powers, strict=False):
        word = "" if separated.word == "separates" else f" ({separated.word})"
        head.append(f"{title}{word}" + (f", × {power_text(power)}" if power else ""))
    lines = [
        (line.title, *_score_cells(line), *(_median_text(line.cells[k], powers[k], not pasted) for k in range(shown)))
        for line in overview.lines
    ]
    bold = frozenset(
        (i, AHEAD + k)
        for i, line in enumerate(overview.lines)
        for k in range(shown)
        if (cell := line.cells[k]) is not None and cell.shines
    )
    records = overview.to_dict()
    marks = f"bold: in the best group of its board; {WORSE}: a trivial predictor is better."
    if pasted:
        hidden = len(overview.tasks) - shown
        left_out = f" ({hidden} saturated board{' is' if hidden == 1 else 's are'} left out)" if fold else ""
        caption = " ".join(
            filter(None, (f"Median test score of each model{left_out}; {marks}", str(pool) if how else ""))
        )
        names = ["model", "mean rank", *(name.replace(", ", ",\n") for name in head[AHEAD:])]
        lines = [
            (line[0], estimate(model_line.rank, 1), *line[AHEAD:])
            for line, model_line in zip(lines, overview.lines, strict=True)
        ]
        return Table("", names, lines, caption, frozenset((i, k - 1) for i, k in bold), records)
    folded = (saturated_tasks(overview), UNFOLD) if fold else ()
    notes = [*filter(None, (*folded, *((marks, str(pool)) if how else ())))]
    title = f"{shown} of {len(overview.tasks)} boards" if fold else describe_count(shown, "board")
    overall = over_all(overview) if len(overview.tasks) > 1 else ""
    return Table(title, head, lines, "", bold, records, answer=overall, prose=frozenset({0, 1}), notes=notes)


def _median_text(cell: Row | None, power: int, intervals: bool) -> str:
    """Return the median of a cell, or its state; an untrusted one is said to be so."""
    return median_cell(cell, power, intervals) + f" ({UNTRUSTED})" * bool(cell and cell.untrusted)


def _score_cells(line: ModelLine) -> tuple[str, str]:
    """Return a line's score and mean rank, or why there is none."""
    if line.rank is None:
        return f"{DASH} ({line.why})", DASH
    return estimate(line.score), estimate(line.rank, 1)
