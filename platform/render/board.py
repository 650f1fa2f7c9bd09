"""Boards, the overview of all tasks and comparisons as tables of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from longwave.platform.boards import columns
from longwave.platform.boards.answer import answer, over_all, saturated_tasks
from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.compare import Comparison, Contest
from longwave.platform.boards.numbers import column_power, power_text, three_digits
from longwave.platform.boards.overview import ModelLine, Overview, overviews, state
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row, group_by_board
from longwave.platform.boards.separation import TaskWord, count_words, separation
from longwave.platform.boards.texts import (
    DASH,
    WORSE,
    counted,
    estimate,
    judged,
    marked_median,
    protocol_parts,
    quoted,
    ratio,
    result,
)
from longwave.platform.boards.verification import HERE, MEANING
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render.export import Format, Table
from longwave.platform.render.fit import split_table
from longwave.platform.render.terminal import metric_label, print_beside, print_line, print_tables, table_width
from longwave.platform.statistics.advice import advice, luck_note, split_note
from longwave.platform.statistics.stats import Estimate, arrow, direction
from longwave.platform.statistics.verdict import ENOUGH

AHEAD = 3
"""Columns of an overview's numbers before its tasks."""
PASTED_FORMATS = (Format.markdown, Format.latex)
PASTED = ("title", "median", "mean", "rank_low")
"""Columns of a board in Markdown and LaTeX, by key."""
RANKED = f"Rank: the range that pairwise tests at 5 % allow. {WORSE}: a trivial predictor is better."
AGAIN = "Methods: longwave methods. Retrain a row: longwave reproduce ROW."
MATRIX = (
    f"Cells: rank of the median; bold: best group; {WORSE}: a trivial predictor is better. "
    "Numbers: --numbers. Methods: longwave methods."
)
SEPARATES: Mapping[TaskWord, str] = {"separates": "yes", "open": "open", "saturated": "no"}
OVERALL = (
    "A board separates if a network beats the best trivial predictor: exact sign test over its seeds, adjusted by "
    "Hochberg at 5 %. It is saturated if no network's median is better than that predictor, and open otherwise. Scores "
    f"and mean ranks use separating boards alone, and models with {ENOUGH} seeds on each of them. A cell is the median "
    "over all seeds of the model's row that validates best; a diverged seed counts as worst. Score: mean gain over the "
    "best trivial predictor, 0 where a seed does not beat it and 1 at a perfect score. Mean rank: of the medians, with "
    "the range that rank tests of all pairs allow, adjusted by Holm at 5 %. Models are scored only against models that "
    "share boards."
)
UNFOLD = "Show them with: longwave board --saturated"
"""How saturated tasks are seen that are named alone."""
SEARCHED = (
    "Expected best validation score of a search with k trials, over all subsets of the trials made; in brackets the "
    "range of 80 % of these subsets, which is no confidence interval. A search whose k trials all diverged finds "
    "nothing. Winners score worse on test data."
)


@dataclass(frozen=True)
class BoardOptions:
    """What a board shows beside what it always does.

    Attributes:
        notes: Per row how its training differs, what its verdicts rest on and why it gave way; and what the seeds of
            the board can tell.
        all: Superseded rows, too.
        columns: Keys of the columns; those that there is room for by default.
    """

    notes: bool = False
    all: bool = False
    columns: Sequence[str] = ()


def print_boards(rows: Sequence[Row], pool: Pool, format: Format, options: BoardOptions = BoardOptions()) -> None:
    """Print boards, one a task and variant; programs get all rows and all columns."""
    pasted = format in PASTED_FORMATS
    print_tables([board_table(theirs, pool, options, pasted) for theirs in group_by_board(rows).values()], format)


def print_overviews(
    rows: Sequence[Row], pool: Pool, format: Format, saturated: bool = False, numbers: bool = False
) -> None:
    """Print all boards at a glance: a line a board, then models by boards, side by side where there is room.

    Args:
        rows: Of all boards.
        pool: Which rows are ranked.
        format: How; in others than a table medians stand in place of ranks, and boards have no lines of their own.
        saturated: Whether models by boards show saturated tasks, which else are named alone.
        numbers: Whether a table shows medians with their intervals in place of ranks.
    """
    parts = overviews(rows)
    if numbers or format is not Format.table:
        last, pasted = len(parts) - 1, format in PASTED_FORMATS
        tables = [overview_table(one, pool, saturated, k == last, pasted) for k, one in enumerate(parts)]
        if format is Format.table:
            tables = [*chain(*(split_table(table, table_width(), AHEAD) for table in tables))]
        print_tables(tables, format)
        return
    numbered = {place: k for k, place in enumerate(chain(*(part.tasks for part in parts)), 1)}
    print_line(f"{count_words([word for part in parts for word in part.separations])}\n")
    print_beside(boards_table(rows, numbered), [matrix_table(part, numbered, saturated) for part in parts])
    print_line(" ".join(filter(None, (MATRIX, str(pool)))))


def print_comparison(comparison: Comparison, format: Format) -> None:
    """Print two models, or two rows, task by task, and the verdict."""
    print_tables([comparison_table(comparison)], format, comparison.to_dict())


def comparison_table(comparison: Comparison) -> Table:
    """Return two models, or two rows, task by task; the verdict stands below."""
    head = ("board", comparison.a, comparison.b, "P(better) [95 %]", "ratio of errors (95 %)", "verdict", "differs in")
    return Table(
        f"{comparison.a} against {comparison.b}",
        head,
        [_contest_line(line, name) for line, name in zip(comparison.contests, comparison.boards, strict=True)],
        f"{comparison.verdict} {comparison.how}",
        frozenset((k, 1 if c.word == "better" else 2) for k, c in enumerate(comparison.contests) if c.decided),
        [line.to_dict() for line in comparison.contests],
        prose=frozenset({0, 1, 2, 5}),
        drop=(3, 4),
        beneath=frozenset({6}),
    )


def print_budgets(curves: Sequence[SearchCurve], format: Format) -> None:
    """Print what searches of 1, 2, 4, … trials are expected to find, one table a board; last, which have no curve."""
    by_board: dict[tuple[str, str], list[SearchCurve]] = {}
    for budget in curves:
        if budget.curve or format is not Format.table:
            by_board.setdefault((budget.row.task, budget.row.variant), []).append(budget)
    print_tables([_budget_table(theirs) for theirs in by_board.values()], format)
    if format is Format.table:
        if by_board:
            print_line(SEARCHED)
        for why, boards in _without_curve(curves).items():
            print_line(f"No curve: {why}. {'; '.join(boards)}.")


def _without_curve(curves: Sequence[SearchCurve]) -> dict[str, list[str]]:
    """Return by reason the boards with models that have no curve, each with their number."""
    reasons: dict[str, dict[str, int]] = {}
    for budget in curves:
        if not budget.curve:
            counts = reasons.setdefault(budget.why, {})
            counts[budget.row.board] = counts.get(budget.row.board, 0) + 1
    return {
        why: [f"{board} ({count} model{'s' * (count > 1)})" for board, count in counts.items()]
        for why, counts in reasons.items()
    }


def advise(rows: Sequence[Row]) -> str:
    """Return whether the seeds of a board can rank its rows, what they hide, and what another split would change.

    See ``advice``, ``luck_note`` and ``split_note``.
    """
    family = [row.seeds for row in rows if row.rank_low is not None and row.seed_count > 1]
    can = advice(len(family), min(map(len, family), default=1))
    best = next((row for row in rows if row.rank_low is not None and row.median is not None), None)
    split = ""
    if best and best.median is not None and best.unit == "%" and best.floor:
        split = split_note(best.median, round(50 / best.floor))
    return " ".join(filter(None, (can, luck_note(family, rows[0].scale) if family else "", split)))


def board_table(
    rows: Sequence[Row], pool: Pool = EVERYBODY, options: BoardOptions = BoardOptions(), pasted: bool = False
) -> Table:
    """Return one board, given its rows.

    Args:
        rows: All of them.
        pool: Which are ranked.
        options: What it shows besides.
        pasted: Whether it goes into a paper: model, median, mean and rank, with a caption of one sentence.
    """
    shown = list(rows) if options.all else _leave_out(rows)
    power = column_power(shown)
    stand = columns.named_columns(options.columns or PASTED) if options.columns or pasted else _shown_columns(shown)
    keys = [column.key for column in stand]
    written: dict[str, Callable[[Row], str]] = {
        "median": partial(marked_median, power=power),
        "mean": partial(result, power=power),
    }
    metric = metric_label(rows[0].metric, rows[0].unit, rows[0].goal) + (f", × {power_text(power)}" if power else "")
    notes = [] if pasted else [*_board_notes(rows, shown, options), f"{RANKED} {AGAIN}", str(pool)]
    return Table(
        "" if pasted else f"{rows[0].board}: {metric}",
        [column.heading for column in stand],
        [[written.get(column.key, column.text)(row) for column in stand] for row in shown],
        " ".join(filter(None, (_paper_caption(shown, metric), str(pool)))) if pasted else "",
        frozenset((k, keys.index("median")) for k, row in enumerate(shown) if row.shines and "median" in keys),
        [columns.record(row) for row in rows],
        frozenset(k for k, column in enumerate(stand) if column.align == "right"),
        answer="" if pasted else answer(rows).sentence,
        prose=frozenset(k for k, column in enumerate(stand) if column.prose),
        drop=[]
        if options.columns
        else sorted((k for k, c in enumerate(stand) if c.leaves), key=lambda k: stand[k].leaves),
        notes=[*filter(None, notes)],
    )


def _leave_out(rows: Sequence[Row]) -> list[Row]:
    """Return rows without superseded ones, if there are others, and without trivial predictors but the best one."""
    current = [row for row in rows if not row.superseded] or list(rows)
    best = separation(rows).predictor or next((row for row in rows if row.trivial), None)
    return [row for row in current if not row.trivial or row is best]


def _shown_columns(rows: Sequence[Row]) -> list[columns.Column]:
    """Return the columns of a board in a terminal, without those that say the same of all rows, which a note says."""
    shared = _shared_texts(rows)
    return [column for column in columns.standing("terminal", rows) if column.heading not in shared]


def _shared_texts(rows: Sequence[Row]) -> dict[str, str]:
    """Return by heading what all retrained rows have in common, of how retrainings ended and how they are verified."""
    shared = {}
    for column in columns.named_columns(("n", "verification")):
        said = {column.text(row) for row in rows if row.kind == "reproduced"}
        if len(said) == 1:
            shared[column.heading] = said.pop()
    return shared


def _paper_caption(rows: Sequence[Row], metric: str) -> str:
    """Return the caption of a board in a paper, one sentence."""
    ended = _shared_texts(rows).get("seeds", "")
    of = f" over {ended.partition(' ')[0]} seeds" if ended.endswith(" ok") and "," not in ended else ""
    return (
        f"{rows[0].board}: test {metric}, median{of} with its 95 % interval, mean ± standard deviation, and the range "
        f"of ranks that pairwise tests allow at 5 %; bold: best group; {WORSE}: a trivial predictor is better."
    )


def _board_notes(rows: Sequence[Row], shown: Sequence[Row], options: BoardOptions) -> Iterator[str]:
    """Yield what stands beneath a board: the protocol that rows share, what was left out, and notes if asked for."""
    trained = [row for row in shown if row.kind == "reproduced"]
    parts = {row.key: protocol_parts(row) for row in trained}
    shared = [part for part in next(iter(parts.values()), ()) if all(part in mine for mine in parts.values())]
    shared += [f"{heading}: {text}" for heading, text in _shared_texts(shown).items() if text != HERE]
    if shared:
        yield f"All rows: {'; '.join(shared)}."
    own = {row.label: [part for part in parts[row.key] if part not in shared] for row in trained}
    if options.notes:
        yield from (f"{label}: {'; '.join(of)}." for label, of in _by_text(own))
        for row in trained:
            yield from (f"{row.label} beside {quoted(number)}: {judged(number)}." for number in row.published)
        yield from (f"{row.label}: {row.superseded}." for row in shown if row.superseded)
        yield from filter(None, (advise(rows), verdict_share(rows)))
        if any(row.verification not in ("", HERE) for row in shown):
            yield MEANING
    if not options.notes and (any(own.values()) or any(row.published for row in trained)):
        yield "Protocols of the rows and reasons for their verdicts: --notes."
    if left := [row for row in rows if row not in shown]:
        old = sum(bool(row.superseded) for row in left)
        counts = [(old, "superseded row"), (len(left) - old, "other trivial predictor")]
        yield f"{' and '.join(f'{n} {what}' + 's' * (n > 1) for n, what in counts if n)}: --all."


def _by_text(own: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield labels, those with equal texts together, with these texts; those without any are left out."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for label, parts in own.items():
        if parts:
            labels.setdefault(tuple(parts), []).append(label)
    return ((", ".join(theirs), parts) for parts, theirs in labels.items())


def boards_table(rows: Sequence[Row], numbered: Mapping[tuple[str, str], int]) -> Table:
    """Return a line a board: its number, which network is best, how many are not told apart from it, and its word."""
    by_board, lines = group_by_board(rows), []
    for place, number in numbered.items():
        theirs = by_board[place]
        leading = answer(theirs)
        tied = f"{len(leading.leaders)}/{leading.ranked}" if leading.leaders else DASH
        separates = SEPARATES[leading.separation.word]
        lines.append((str(number), theirs[0].board, leading.first or DASH, tied, separates))
    head = ("", "board", "best network", "tied", "separates")
    return Table("", head, lines, right=frozenset({0}), prose=frozenset({1, 2}))


def matrix_table(overview: Overview, numbered: Mapping[tuple[str, str], int], saturated: bool = False) -> Table:
    """Return models by boards, which are named by their numbers: the rank of each model's median.

    Saturated boards are left out, unless there are no others or ``saturated`` asks for them.
    """
    shown = _shown_tasks(overview, saturated)
    ranks = [_cell_ranks([line.cells[k] for line in overview.lines]) for k in range(shown)]
    lines = [
        (line.title, f"{line.rank.value:.1f}" if line.rank else DASH, *(ranks[k][i] for k in range(shown)))
        for i, line in enumerate(overview.lines)
    ]
    bold = frozenset(
        (i, 2 + k) for i, line in enumerate(overview.lines) for k in range(shown) if (c := line.cells[k]) and c.shines
    )
    head = ("model", "mean", *(str(numbered[place]) for place in overview.tasks[:shown]))
    return Table("", head, lines, bold=bold, right=frozenset(range(1, len(head))))


def _shown_tasks(overview: Overview, saturated: bool) -> int:
    """Return how many of an overview's tasks are shown: those that are not saturated, or all."""
    shown = len(overview.of_word("separates", "open"))
    return shown if shown and not saturated else len(overview.tasks)


def _cell_ranks(cells: Sequence[Row | None]) -> list[str]:
    """Return the rank of each median among the models of a board: ``3``, ``3†``; a state where no seed ended."""
    sign = direction(next(cell.goal for cell in cells if cell))
    values = [-sign * cell.median if cell and cell.median is not None else math.inf for cell in cells]
    return [
        f"{1 + sum(other < value for other in values)}{WORSE * bool(cell.loses_to)}"
        if cell and cell.seed_count
        else DASH
        for cell, value in zip(cells, values, strict=True)
    ]


def overview_table(
    overview: Overview, pool: Pool = EVERYBODY, saturated: bool = False, how: bool = True, pasted: bool = False
) -> Table:
    """Return models by boards with their medians; the caption names saturated boards, unless there are no others.

    Args:
        overview: What is shown.
        pool: Which rows are ranked.
        saturated: Whether saturated tasks have columns, too.
        how: Whether the caption says what signs mean.
        pasted: Whether it goes into a paper: medians without intervals, with a caption of one sentence.
    """
    shown = _shown_tasks(overview, saturated)
    fold = shown < len(overview.tasks)
    powers = [column_power(filter(None, (line.cells[k] for line in overview.lines))) for k in range(shown)]
    head = ["model", "score", "mean rank"]
    for title, told, power in zip(overview.titles, overview.separations, powers, strict=False):
        word = "" if told.word == "separates" else f" ({told.word})"
        head.append(f"{title}{word}" + (f", × {power_text(power)}" if power else ""))
    lines = [
        (line.title, *_score_cells(line), *(_median_cell(line.cells[k], powers[k], not pasted) for k in range(shown)))
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
        left = f" ({len(overview.tasks) - shown} saturated boards are left out)" if fold else ""
        caption = " ".join(filter(None, (f"Median test score of each model{left}; {marks}", str(pool) if how else "")))
        names = ["model", "mean rank", *(name.replace(", ", ",\n") for name in head[AHEAD:])]
        lines = [
            (line[0], estimate(one.rank, 1), *line[AHEAD:]) for line, one in zip(lines, overview.lines, strict=True)
        ]
        return Table("", names, lines, caption, frozenset((i, k - 1) for i, k in bold), records)
    folded = (saturated_tasks(overview), UNFOLD) if fold else ()
    notes = [*filter(None, (*folded, *((marks, str(pool)) if how else ())))]
    title = f"{shown} of {len(overview.tasks)} boards" if fold else f"{shown} board{'s' * (shown != 1)}"
    said = over_all(overview) if len(overview.tasks) > 1 else ""
    return Table(title, head, lines, "", bold, records, answer=said, prose=frozenset({0, 1}), notes=notes)


def _score_cells(line: ModelLine) -> tuple[str, str]:
    """Return a line's score and mean rank, or why there is none."""
    if line.rank is None:
        return f"{DASH} ({line.why})", DASH
    return estimate(line.score), estimate(line.rank, 1)


def _median_cell(cell: Row | None, power: int = 0, intervals: bool = True) -> str:
    """Return one model on one task: the median, if asked for with its interval; its state if no seed ended."""
    if not cell or not cell.seed_count:
        return state(cell)
    return marked_median(cell, power, intervals)


def _budget_answer(curves: Sequence[SearchCurve]) -> str:
    """Return which model would have won with half of the trials, and how much the second half brought it."""
    known = [budget for budget in curves if len(budget.curve) > 1]
    if not known:
        return ""
    row, sign = known[0].row, direction(known[0].row.goal)
    power = column_power([budget.row for budget in known])

    def best(at: Callable[[SearchCurve], int]) -> tuple[str, str]:
        first = max(known, key=lambda budget: sign * budget.curve[at(budget)].value)
        return first.row.label, three_digits(first.curve[at(first)].value, power)

    half, whole = best(lambda budget: len(budget.curve) // 2 - 1), best(lambda budget: -1)
    unit = f" × {power_text(power)}" if power else ""
    return (
        f"With half of the trials {half[0]} is expected to be best ({row.metric.replace('_', ' ')} {half[1]}{unit} on "
        f"validation), with all of them {whole[0]} ({whole[1]}{unit})."
    )


def _budget_table(curves: Sequence[SearchCurve]) -> Table:
    longest = max(len(budget.curve) for budget in curves)
    sizes = [2**k for k in range(max(1, longest.bit_length()))]
    lines = []
    for budget in curves:
        points = [_expected_best(e, lost) for e, lost in zip(budget.curve, budget.lost, strict=True)]
        cells = [points[k - 1] if k <= len(points) else DASH for k in sizes]
        trials = str(len(points)) if points else budget.why
        lines.append((budget.row.label, trials, estimate(budget.diverged), f"{budget.seconds:.3g}", *cells))
    row = curves[0].row
    return Table(
        f"{row.board}: expected best validation {row.metric.replace('_', ' ')} {arrow(row.goal)} of k search trials",
        ("model", "trials", "share diverged [95 %]", "seconds a trial", *(f"k = {k}" for k in sizes)),
        lines,
        answer=_budget_answer(curves),
        records=[record for budget in curves for record in budget.to_dict()],
        prose=frozenset({0, 1}),
        drop=(3, 2, *range(5, 3 + len(sizes)), 1),
    )


def _expected_best(best: Estimate, lost: float) -> str:
    """Return what searches of one size find: ``0.3 [0.2, 0.5]``, and how many of them find nothing, if any."""
    nothing = f", {lost:.2g} find nothing" if lost else ""
    value, low, high = map(three_digits, (best.value, best.low or 0.0, best.high or 0.0))
    return f"{value} [{low}, {high}]{nothing}"


def _contest_line(line: Contest, board: str) -> tuple[str, ...]:
    both = line.contrast
    decision = line.word + (f" ({line.hint})" if line.hint else "")
    return (
        f"{board}: {line.a.metric.replace('_', ' ')} {arrow(line.a.goal)}",
        _seeds_cell(line.a),
        _seeds_cell(line.b),
        estimate(both.improvement if both else None),
        ratio(line.to_dict()) or DASH,
        decision,
        "; ".join(f"{name} {_short_value(a)} against {_short_value(b)}" for name, (a, b) in line.differs.items())
        or "nothing",
    )


def _seeds_cell(row: Row) -> str:
    """Return one side of a comparison: the median with its interval, and how many seeds ended."""
    return f"{_median_cell(row)} ({counted(row)})" if row.seed_count else _median_cell(row)


def _short_value(value: Any) -> str:
    return DASH if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
