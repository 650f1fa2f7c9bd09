"""Reference lines of a board: its best row, baselines, best printed number and best trivial predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longwave.platform.boards.answer import answer
from longwave.platform.boards.overview import best_on_validation
from longwave.platform.boards.printed import quote_number
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, median, plain, rank, searched
from longwave.platform.statistics.stats import direction
from longwave.platform.wording import describe_count

BASELINES = ("lstm", "gru")
"""Models that every board shows for comparison, whatever its filters hide."""
EQUAL_WITHIN = 1.25
"""Factor within which a board's filters count sizes, and search budgets, as equal."""


@dataclass(frozen=True)
class Landmark:
    """A reference line of a board, as texts; a dash where a field does not apply.

    Attributes:
        what: ``best``, ``baseline`` or both, ``best published`` or ``best trivial``.
        name: Model or predictor.
        value: Its median with the interval, or the number as printed.
        rank, parameters, searched: As in the board's columns.
    """

    what: str
    name: str
    value: str
    rank: str = DASH
    parameters: str = DASH
    searched: str = DASH


def landmarks(rows: Sequence[Row]) -> list[Landmark]:
    """Return the landmarks that a board has, the best row first."""
    lines: dict[str, list[str]] = {}
    trained = {row.key: row for row in rows if row.current and row.seed_count}
    for row in answer(rows).leaders[:1]:
        lines.setdefault(row.key, []).append("best")
    for name in BASELINES:
        if model_rows := [row for row in trained.values() if row.model == name]:
            lines.setdefault(best_on_validation(model_rows).key, []).append("baseline")
    marks = [_trained(", ".join(roles), trained[key]) for key, roles in lines.items()]
    sign = direction(rows[0].goal) if rows else 1
    numbers = [(row, number) for row in rows if row.trivial is False for number in row.published]
    if numbers:
        row, number = max(numbers, key=lambda pair: sign * float(pair[1]["value"]))
        marks.append(
            Landmark("best published", _printed(row), quote_number(number), parameters=plain(number["parameters"]))
        )
    if simple := [row for row in rows if row.trivial and row.mean is not None]:
        best = max(simple, key=lambda row: sign * (row.mean or 0.0))
        marks.append(Landmark("best trivial", best.title, plain(best.mean)))
    return marks


def _trained(role: str, row: Row) -> Landmark:
    suffix = f", {describe_count(row.seed_count, 'seed')}: provisional" if row.provisional else ""
    return Landmark(role, row.label, median(row) + suffix, rank(row), plain(row.parameters), searched(row))


def _printed(row: Row) -> str:
    return row.title.partition(" (")[0] if row.kind == "retrained" else row.label
