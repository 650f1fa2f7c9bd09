"""Comparison of two models, or two rows, board by board."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from longwave.platform.boards.compare import Comparison, Contest
from longwave.platform.boards.printed import write_ratio
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, counted, estimate, metric_words
from longwave.platform.render.board import median_cell
from longwave.platform.render.export import Format
from longwave.platform.render.fit import lines_beneath
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import print_tables
from longwave.platform.statistics.stats import arrow

FEW = 3
"""Most lines of differing settings that a terminal shows."""


def print_comparison(comparison: Comparison, format: Format) -> None:
    """Print the comparison of two models, or two rows, with the verdict."""
    table = comparison_table(comparison)
    if format is Format.table and len(lines_beneath(table)) > FEW:
        columns, lines = table.columns[:-1], [line[:-1] for line in table.lines]
        notes = [*table.notes, "Settings that differ on a board: add --task TASK."]
        table = replace(table, columns=columns, lines=lines, beneath=frozenset(), notes=notes)
    print_tables([table], format, comparison.to_dict())


def comparison_table(comparison: Comparison) -> Table:
    """Return the comparison as a table, with the verdict as its caption."""
    estimates = ("P(better) [95 %]", "ratio of errors (95 %)")
    head = ("board", comparison.a, comparison.b, *estimates, "verdict", "settings that differ")
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


def _contest_line(line: Contest, board: str) -> tuple[str, ...]:
    result = line.contrast
    decision = line.word + (f" ({line.hint})" if line.hint else "")
    return (
        f"{board}: {metric_words(line.a.metric)} {arrow(line.a.goal)}",
        _seeds_cell(line.a),
        _seeds_cell(line.b),
        estimate(result.improvement if result else None),
        write_ratio(line.to_dict()) or DASH,
        decision,
        "; ".join(f"{name} {_short_value(a)} against {_short_value(b)}" for name, (a, b) in line.differs.items())
        or "none",
    )


def _seeds_cell(row: Row) -> str:
    """Return one side of a comparison: the median with its interval, and the number of seeds."""
    return f"{median_cell(row)} ({counted(row)})" if row.seed_count else median_cell(row)


def _short_value(value: Any) -> str:
    return DASH if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
