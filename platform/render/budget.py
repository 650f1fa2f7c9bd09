"""Median results of searches with fewer trials, one table per board."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longwave.platform.boards.answer import NO_ROW
from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.numbers import column_power, number_text, power_text, score_text
from longwave.platform.boards.texts import DASH, estimate, listed, metric_words
from longwave.platform.render.export import Format
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import print_line, print_tables
from longwave.platform.statistics.stats import Estimate, arrow, direction
from longwave.platform.wording import describe_count

SEARCHED = (
    "Median best validation score of a search with k trials, over all subsets of the trials made; in brackets the "
    "range of 80 % of these subsets, which is no confidence interval. A search whose k trials all diverged finds "
    "nothing. A trial that was stopped early counts with its best score until then, although the search could not "
    "choose it. Winners usually score worse on test data."
)


def print_budgets(curves: Sequence[SearchCurve], format: Format) -> None:
    """Print the median best of searches of 1, 2, 4, … trials, one table per board, then searches without a curve."""
    by_board: dict[tuple[str, str], list[SearchCurve]] = {}
    for budget in curves:
        if budget.curve or format is not Format.table:
            by_board.setdefault((budget.row.task, budget.row.variant), []).append(budget)
    print_tables([_budget_table(board_curves) for board_curves in by_board.values()], format)
    if format is Format.table:
        if not curves:
            print_line(NO_ROW)
        if by_board:
            print_line(SEARCHED)
        for why, boards in _without_curve(curves).items():
            print_line(f"No curve: {why}. {'; '.join(boards)}.")


def _without_curve(curves: Sequence[SearchCurve]) -> dict[str, list[str]]:
    """Return by reason the boards with models that have no curve, and their numbers."""
    reasons: dict[str, dict[str, int]] = {}
    for budget in curves:
        if not budget.curve:
            counts = reasons.setdefault(budget.why, {})
            counts[budget.row.board] = counts.get(budget.row.board, 0) + 1
    return {
        why: [f"{board} ({describe_count(count, 'model')})" for board, count in counts.items()]
        for why, counts in reasons.items()
    }


def _budget_answer(curves: Sequence[SearchCurve]) -> str:
    """Return whose median search wins with half of the trials, and with all."""
    with_curve = [budget for budget in curves if len(budget.curve) > 1]
    if not with_curve:
        return ""
    row, sign = with_curve[0].row, direction(with_curve[0].row.goal)
    perfect = row.scale.perfect if row.goal == "max" else None
    power = column_power([budget.row for budget in with_curve])

    def best(index: Callable[[SearchCurve], int]) -> tuple[list[str], str]:
        values = {budget.row.label: budget.curve[index(budget)].value for budget in with_curve}
        highest = max(values.values(), key=lambda value: sign * value)
        winners = [label for label, value in values.items() if value == highest]
        return winners, score_text(highest, perfect, power)

    half, full = best(lambda budget: len(budget.curve) // 2 - 1), best(lambda budget: -1)
    unit = f" × {power_text(power)}" if power else ""
    have = "has" if len(half[0]) == 1 else "have"
    return (
        f"With half of the trials {listed(half[0])} {have} the best median search ({metric_words(row.metric)} "
        f"{half[1]}{unit} on validation), with all of them {listed(full[0])} ({full[1]}{unit})."
    )


def _budget_table(curves: Sequence[SearchCurve]) -> Table:
    longest = max(len(budget.curve) for budget in curves)
    sizes = [2**k for k in range(max(1, longest.bit_length()))]
    lines = []
    for budget in curves:
        perfect = budget.row.scale.perfect if budget.row.goal == "max" else None
        points = [_median_best(e, lost, perfect) for e, lost in zip(budget.curve, budget.lost, strict=True)]
        cells = [points[k - 1] if k <= len(points) else DASH for k in sizes]
        trials = str(len(points)) if points else budget.why
        lines.append((budget.row.label, trials, estimate(budget.diverged), f"{budget.seconds:.3g}", *cells))
    row = curves[0].row
    return Table(
        f"{row.board}: median best validation {metric_words(row.metric)} {arrow(row.goal)} of k search trials",
        ("model", "trials", "share diverged [95 %]", "seconds a trial", *(f"k = {k}" for k in sizes)),
        lines,
        answer=_budget_answer(curves),
        records=[record for budget in curves for record in budget.to_dict()],
        prose=frozenset({0, 1, *range(4, 4 + len(sizes))}),
        drop=(3, 2, *range(5, 3 + len(sizes)), 1),
    )


def _median_best(best: Estimate, lost: float, perfect: float | None) -> str:
    """Return the median best of searches of one size: ``0.3 [0.2, 0.5]``, and the share that find nothing."""
    nothing = f" ({100 * lost:.3g} % find nothing)" if lost else ""
    ends = (best.value, best.low or 0.0, best.high or 0.0)
    value, low, high = (number_text(end) if perfect is None else score_text(end, perfect) for end in ends)
    return f"{value} [{low}, {high}]{nothing}"
