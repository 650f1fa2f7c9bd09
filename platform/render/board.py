"""Boards, the overview of all tasks and comparisons as tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longwave.platform.boards import columns
from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.compare import Comparison, Contest
from longwave.platform.boards.overview import ModelLine, Overview, state
from longwave.platform.boards.row import Row, named
from longwave.platform.boards.texts import DASH, MINUS, estimate, shown
from longwave.platform.boards.verification import MEANING
from longwave.platform.records.group import Pool
from longwave.platform.render.export import Format, Table
from longwave.platform.render.terminal import measured, show
from longwave.platform.statistics.stats import Estimate, arrow
from longwave.platform.statistics.verdict import ENOUGH

ABREAST = 5
"""Tasks side by side in a terminal; more stand below."""
RANKED = (
    "mean ± std (n − 1) of the test metric over n retrainings with fresh seeds, each scored at its best epoch on "
    "validation. Ranks that Welch tests of all pairs, adjusted by Holm at 5 %, allow; rows that share a letter are not "
    f"told apart. Provisional: n < {ENOUGH}. Published numbers and trivial predictors are not ranked."
)
OLD = "Superseded rows stand last and are ranked with nobody: an older version trained them, and they say which."
AGAIN = "A row is trained once more with: longwave reproduce ROW"
OVERALL = (
    "Each cell is the model's row that is best on validation: mean ± std (n) of the test metric. Score: mean over "
    "tasks, 0 at the best trivial predictor or worse and 1 at the best mean, with its 95 % interval by a stratified "
    "bootstrap; a diverged seed counts 0, and in ranks as the worst of all. Rank: mean over tasks, and the range that "
    "Welch tests of all pairs allow, adjusted by Holm at 5 % over all tasks. Both are of models that ran on every task "
    "shown, among themselves."
)


def boards(rows: Sequence[Row], pool: Pool, format: Format) -> None:
    """Print boards, one a task and variant."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.task, row.variant), []).append(row)
    show([_board(place, theirs, pool) for place, theirs in found.items()], format)


def overview(found: Overview, pool: Pool, format: Format) -> None:
    """Print the overview of several tasks; in a terminal, a few tasks at a time."""
    step = ABREAST if format is Format.table else max(1, len(found.tasks))
    parts = range(0, max(1, len(found.tasks)), step)
    show([_overview(found, k, k + step, pool, last=k + step >= len(found.tasks)) for k in parts], format)


def comparison(found: Comparison, format: Format) -> None:
    """Print two models, or two rows, task by task, and the verdict."""
    head = ("task", found.a, found.b, "gain [95 %]", "P(better) [95 %]", "verdict", "differs in")
    caption = f"{found.verdict} {found.how}"
    made = Table(
        f"{found.a} against {found.b}",
        head,
        [_contest(line) for line in found.contests],
        caption,
        frozenset((k, 1 if c.word == "better" else 2) for k, c in enumerate(found.contests) if c.decided),
        [line.to_dict() for line in found.contests],
    )
    show([made], format, found.to_dict())


def budgets(found: Sequence[SearchCurve], format: Format) -> None:
    """Print what searches of 1, 2, 4, … trials are expected to find, one table a task and variant."""
    places: dict[tuple[str, str], list[SearchCurve]] = {}
    for budget in found:
        places.setdefault((budget.row.task, budget.row.variant), []).append(budget)
    show([_budgets(place, theirs) for place, theirs in places.items()], format)


def _board(place: tuple[str, str], rows: Sequence[Row], pool: Pool) -> Table:
    metric = measured(rows[0].metric, rows[0].unit, rows[0].goal)
    stand = columns.standing("terminal", rows)
    keys = [column.key for column in stand]
    bold = frozenset((k, keys.index("mean")) for k, row in enumerate(rows) if row.leads)
    more = (MEANING if "verification" in keys else "", OLD if "superseded" in keys else "", str(pool), AGAIN)
    return Table(
        f"{named(place)}: {metric}",
        [column.heading for column in stand],
        [[column.text(row) for column in stand] for row in rows],
        " ".join(filter(None, (f"Test {metric}:", RANKED, *more))),
        bold,
        [columns.record(row) for row in rows],
        frozenset(k for k, column in enumerate(stand) if column.align == "right"),
    )


def _overview(found: Overview, start: int, end: int, pool: Pool, last: bool) -> Table:
    tasks = found.tasks[start:end]
    head = ("model", "score [95 %]", "mean rank", *(named(place) for place in tasks))
    lines = [
        (line.title, *_overall(line, len(found.tasks)), *(_cell(cell) for cell in line.cells[start:end]))
        for line in found.lines
    ]
    bold = frozenset(
        (i, 3 + j)
        for i, line in enumerate(found.lines)
        for j, cell in enumerate(line.cells[start:end])
        if cell is not None and cell.leads
    )
    caption = " ".join(filter(None, (OVERALL, str(pool)))) if last else ""
    title = f"{len(found.tasks)} tasks" if len(found.tasks) > 1 else "1 task"
    return Table(title, head, lines, caption, bold, found.to_dict())


def _overall(line: ModelLine, tasks: int) -> tuple[str, str]:
    """Return a line's score and mean rank, or on how many tasks it ran."""
    if line.rank is None:
        return f"{DASH} ({line.ran} of {tasks} tasks)", DASH
    return estimate(line.score), estimate(line.rank, 1)


def _cell(cell: Row | None) -> str:
    """Return one model on one task: ``mean ± std (n)``, or the state it is in."""
    if cell is None or cell.mean is None:
        return state(cell)
    lost = cell.diverged + cell.failed + cell.missing
    return f"{shown(cell.mean, cell.std)} ({cell.n}{f' of {cell.n + lost}' if lost else ''})"


def _budgets(place: tuple[str, str], found: Sequence[SearchCurve]) -> Table:
    most = max(len(budget.curve) for budget in found)
    sizes = [2**k for k in range(max(1, most.bit_length()))]
    lines = []
    for budget in found:
        points = [f"{e.value:.4g} [{e.low:.4g}, {e.high:.4g}]" for e in budget.curve[:most]]
        cells = [points[k - 1] if k <= len(points) else DASH for k in sizes]
        lines.append((budget.row.title, str(len(points)) if points else budget.why, f"{budget.seconds:.3g}", *cells))
    row = found[0].row
    return Table(
        f"{named(place)}: expected best validation {row.metric} {arrow(row.goal)} of k search trials",
        ("model", "trials", "seconds a trial", *(f"k = {k}" for k in sizes)),
        lines,
        "Mean of the best over all subsets of k trials, and the band in which 80 % of them lie. A diverged trial "
        "counts as the worst. Validation metrics of a search are better than what its winner scores on test.",
        records=[record for budget in found for record in budget.to_dict()],
    )


def _contest(line: Contest) -> tuple[str, ...]:
    both = line.contrast
    decision = line.word + (f" ({line.hint})" if line.hint else "")
    gain = DASH if both is None else _gain(both.gain)
    return (
        f"{line.place}: {line.a.metric} {arrow(line.a.goal)}",
        _cell(line.a),
        _cell(line.b),
        gain,
        estimate(both.improvement if both else None),
        decision,
        "; ".join(f"{name} {_short(a)} against {_short(b)}" for name, (a, b) in line.differs.items()) or "nothing",
    )


def _gain(gain: Estimate) -> str:
    ends = "" if gain.low is None or gain.high is None else f" [{gain.low:+.3g}, {gain.high:+.3g}]"
    return f"{gain.value:+.3g}{ends}".translate(MINUS)


def _short(value: Any) -> str:
    return DASH if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
