"""Boards, the overview of all tasks and comparisons as tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from longwave.platform.boards import columns
from longwave.platform.boards.answer import answer, over_all, saturated_tasks
from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.compare import Comparison, Contest
from longwave.platform.boards.overview import ModelLine, Overview, state
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row, named
from longwave.platform.boards.texts import DASH, counted, estimate, lost, median, ratio
from longwave.platform.boards.verification import MEANING
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render.export import Format, Table
from longwave.platform.render.fit import split_table
from longwave.platform.render.terminal import metric_label, print_tables, table_width
from longwave.platform.statistics.advice import advice, luck_note, split_note
from longwave.platform.statistics.overall import FEWEST_TASKS
from longwave.platform.statistics.stats import Estimate, arrow
from longwave.platform.statistics.verdict import ENOUGH

AHEAD = 3
"""Columns of the overview before its tasks."""
RANKED = (
    "rows stand by their median over all seeds, a diverged seed worst. A rank claims a typical seed: one of the better "
    "row beats one of the other more often than not; nothing is claimed about means. Guarded rank tests of all pairs, "
    "adjusted by Holm at 5 %; rows that share a letter are not told apart. Published numbers and trivial predictors "
    "are not ranked. mean ± std (n − 1): of the seeds that ended, each scored at its best epoch on validation, or its "
    f"last where the protocol says so. Provisional: fewer than {ENOUGH} seeds."
)
HOW = "How this is computed, and how often it is wrong: longwave methods."
OLD = "Superseded rows stand last and are ranked with nobody; each says why: a newer version, or a search that went on."
AGAIN = "A row is trained once more with: longwave reproduce ROW"
OVERALL = (
    "A task separates where a network is told apart from the best trivial predictor, by an exact sign test of its "
    "seeds adjusted by Hochberg at 5 %; it is saturated where no network's median is better than that predictor, and "
    "open else. Scores and mean ranks are over separating tasks alone. Models stand by mean rank. Each cell is the "
    "model's row that is best on validation, of equal ones the one of fewest parameters: its median over all seeds, a "
    "diverged one worst, with an interval of 94–95 % unless it says otherwise; bold in the best group of its board, "
    "where that is less than half of the board. Score: mean gain over tasks, a seed's gain being 0 at the best trivial "
    "predictor, below it and where it diverged, and 1 at a perfect score, or at the best median where none is perfect; "
    f"with a 95 % interval from {FEWEST_TASKS} tasks on. Mean rank: of the medians, with the range that guarded rank "
    "tests of all pairs allow, adjusted by Holm at 5 % over all tasks; with "
    f"{ENOUGH} seeds and many tasks it is nearly always full, and ten seeds narrow it. Score and rank are of models "
    f"with {ENOUGH} seeds on every separating task, among themselves; boards that share no model stand apart."
)
UNFOLD = "Shown in full by: longwave board --saturated"
"""How saturated tasks are seen that are named alone."""
SEARCHED = (
    "Mean of the best over all subsets of k of the trials made, and the band in which 80 % of those subsets lie: how "
    "far such searches spread. The band is no interval of the mean, and too narrow as k nears the number of trials, "
    "where all subsets hold much the same. A diverged trial is worse than any other and has no number: where all k "
    "diverged nothing is found, how often stands behind, and mean and band are of the other subsets. Share diverged: "
    "of the trials, by Clopper and Pearson. Validation metrics of a search are better than what its winner scores on "
    "test."
)


def print_boards(rows: Sequence[Row], pool: Pool, format: Format) -> None:
    """Print boards, one a task and variant."""
    by_board: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_board.setdefault((row.task, row.variant), []).append(row)
    print_tables([board_table(theirs, pool) for theirs in by_board.values()], format)


def print_overviews(overviews: Sequence[Overview], pool: Pool, format: Format, saturated: bool = False) -> None:
    """Print overviews of several tasks; in a terminal, as many tasks at a time as there is room for.

    Args:
        overviews: One a set of boards that share models.
        pool: Which rows are ranked.
        format: How.
        saturated: Whether the cells of saturated tasks are shown, which else are named alone.
    """
    last = len(overviews) - 1
    tables = [overview_table(one, pool, saturated, how=k == last) for k, one in enumerate(overviews)]
    if format is Format.table:
        tables = [*chain(*(split_table(table, table_width(), AHEAD) for table in tables))]
    print_tables(tables, format)


def print_comparison(comparison: Comparison, format: Format) -> None:
    """Print two models, or two rows, task by task, and the verdict."""
    print_tables([comparison_table(comparison)], format, comparison.to_dict())


def comparison_table(comparison: Comparison) -> Table:
    """Return two models, or two rows, task by task; the verdict stands below."""
    head = ("task", comparison.a, comparison.b, "P(better) [95 %]", "ratio of errors (95 %)", "verdict", "differs in")
    return Table(
        f"{comparison.a} against {comparison.b}",
        head,
        [_contest_line(line) for line in comparison.contests],
        f"{comparison.verdict} {comparison.how}",
        frozenset((k, 1 if c.word == "better" else 2) for k, c in enumerate(comparison.contests) if c.decided),
        [line.to_dict() for line in comparison.contests],
        prose=frozenset({0, 1, 2, 5}),
        drop=(3, 4),
        beneath=frozenset({6}),
    )


def print_budgets(curves: Sequence[SearchCurve], format: Format) -> None:
    """Print what searches of 1, 2, 4, … trials are expected to find, one table a task and variant."""
    by_board: dict[tuple[str, str], list[SearchCurve]] = {}
    for budget in curves:
        by_board.setdefault((budget.row.task, budget.row.variant), []).append(budget)
    print_tables([_budget_table(board, theirs) for board, theirs in by_board.items()], format)


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


def board_table(rows: Sequence[Row], pool: Pool = EVERYBODY) -> Table:
    """Return one board, given its rows."""
    metric = metric_label(rows[0].metric, rows[0].unit, rows[0].goal)
    stand = columns.standing("terminal", rows)
    keys = [column.key for column in stand]
    bold = frozenset((k, keys.index("median")) for k, row in enumerate(rows) if row.shines)
    more = (
        advise(rows),
        verdict_share(rows),
        MEANING if "verification" in keys else "",
        OLD if "superseded" in keys else "",
        str(pool),
        HOW,
        AGAIN,
    )
    return Table(
        f"{rows[0].place}: {metric}",
        [column.heading for column in stand],
        [[column.text(row) for column in stand] for row in rows],
        " ".join(filter(None, (f"Test {metric}:", RANKED, *more))),
        bold,
        [columns.record(row) for row in rows],
        frozenset(k for k, column in enumerate(stand) if column.align == "right"),
        answer=answer(rows).sentence,
        prose=frozenset(k for k, column in enumerate(stand) if column.prose),
        drop=sorted((k for k, column in enumerate(stand) if column.leaves), key=lambda k: stand[k].leaves),
        beneath=frozenset(k for k, column in enumerate(stand) if column.beneath),
        named=[keys.index("title"), keys.index("config")],
        heirs={keys.index("mean"): keys.index("median")},
    )


def overview_table(overview: Overview, pool: Pool = EVERYBODY, saturated: bool = False, how: bool = True) -> Table:
    """Return an overview as one table; saturated tasks are named in its caption, unless there are no others.

    Args:
        overview: What is shown.
        pool: Which rows are ranked.
        saturated: Whether saturated tasks have columns, too.
        how: Whether the caption says how numbers are computed.
    """
    shown = overview.of_word("separates", "open")
    fold = bool(shown) and not saturated and len(shown) < len(overview.tasks)
    if not fold:
        shown = list(overview.tasks)
    head = ("model", "score", "mean rank", *(_task_heading(overview, k) for k in range(len(shown))))
    lines = [(line.title, *_score_cells(line), *map(_median_cell, line.cells[: len(shown)])) for line in overview.lines]
    bold = frozenset(
        (i, AHEAD + j)
        for i, line in enumerate(overview.lines)
        for j, cell in enumerate(line.cells[: len(shown)])
        if cell is not None and cell.shines
    )
    folded = (saturated_tasks(overview), UNFOLD) if fold else ()
    caption = " ".join(filter(None, (*folded, *((OVERALL, str(pool)) if how else ()))))
    title = f"{len(shown)} of {len(overview.tasks)} tasks" if fold else f"{len(shown)} task{'s' * (len(shown) != 1)}"
    answer = over_all(overview) if len(overview.tasks) > 1 else ""
    return Table(title, head, lines, caption, bold, overview.to_dict(), answer=answer, prose=frozenset({0, 1}))


def saturated_table(overview: Overview) -> Table:
    """Return models by saturated tasks alone, which count in no score."""
    places = overview.of_word("saturated")
    start = len(overview.tasks) - len(places)
    lines = [(line.title, *map(_median_cell, line.cells[start:])) for line in overview.lines]
    return Table("Saturated tasks", ("model", *map(named, places)), lines, saturated_tasks(overview))


def _task_heading(overview: Overview, k: int) -> str:
    """Return the name of a task, and its word where that is not the one that counts."""
    word = overview.separations[k].word
    return named(overview.tasks[k]) + ("" if word == "separates" else f" ({word})")


def _score_cells(line: ModelLine) -> tuple[str, str]:
    """Return a line's score and mean rank, or why there is none."""
    if line.rank is None:
        return f"{DASH} ({line.why})", DASH
    return estimate(line.score), estimate(line.rank, 1)


def _median_cell(cell: Row | None) -> str:
    """Return one model on one task: the median with its interval, and to what it loses; its state if no seed ended."""
    return "; ".join([median(cell), *lost(cell)]) if cell and cell.seed_count else state(cell)


def _budget_table(board: tuple[str, str], curves: Sequence[SearchCurve]) -> Table:
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
        f"{named(board)}: expected best validation {row.metric} {arrow(row.goal)} of k search trials",
        ("model", "trials", "share diverged [95 %]", "seconds a trial", *(f"k = {k}" for k in sizes)),
        lines,
        SEARCHED,
        records=[record for budget in curves for record in budget.to_dict()],
        prose=frozenset({0, 1}),
        drop=(3, 2, *range(5, 3 + len(sizes)), 1),
    )


def _expected_best(best: Estimate, lost: float) -> str:
    """Return what searches of one size find: ``0.3 [0.2, 0.5]``, and how many of them find nothing, if any."""
    nothing = f", {lost:.2g} find nothing" if lost else ""
    return f"{best.value:.4g} [{best.low:.4g}, {best.high:.4g}]{nothing}"


def _contest_line(line: Contest) -> tuple[str, ...]:
    both = line.contrast
    decision = line.word + (f" ({line.hint})" if line.hint else "")
    return (
        f"{line.place}: {line.a.metric} {arrow(line.a.goal)}",
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
