"""Accuracies converted to errors, so that a logarithmic axis shows the remaining room for improvement."""

from __future__ import annotations

from dataclasses import replace

from longwave.platform.boards.row import Row


def has_errors(row: Row) -> bool:
    """Return whether a row's metric is maximised and has a perfect score, such as an accuracy in %."""
    return row.goal == "max" and row.scale.perfect is not None


def to_error(row: Row, score: float) -> float:
    """Return the distance of a score in a row's metric from the perfect one; that of a row without errors unchanged."""
    return row.scale.perfect - score if row.goal == "max" and row.scale.perfect is not None else score


def in_errors(row: Row) -> Row:
    """Return a row with its numbers as distances from the perfect score, in the same unit; other rows unchanged."""
    if not has_errors(row):
        return row

    def error(value: float | None) -> float | None:
        return None if value is None else to_error(row, value)

    return replace(
        row,
        metric="error" if row.metric == "accuracy" else f"{row.scale.perfect:g} − {row.metric}",
        goal="min",
        scores=[to_error(row, score) for score in row.scores],
        published=[{**number, "value": to_error(row, float(number["value"]))} for number in row.published],
        low=error(row.high),
        high=error(row.low),
        mean=error(row.mean),
        median=error(row.median),
        median_best=error(row.median_best),
        median_worst=error(row.median_worst),
        valid=error(row.valid),
    )
