"""Accuracies converted to errors, so that a logarithmic axis shows the remaining room for improvement."""

from __future__ import annotations

from dataclasses import replace

from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.row import Row
from longwave.platform.statistics.stats import Estimate


def has_errors(row: Row) -> bool:
    """Return whether a row's metric is maximised and has a perfect score, such as an accuracy in %."""
    return row.goal == "max" and row.scale.perfect is not None


def to_error(row: Row, score: float) -> float:
    """Return the distance of a score in a row's metric from the perfect one; that of a row without errors unchanged."""
    return row.scale.perfect - score if row.goal == "max" and row.scale.perfect is not None else score


def curve_in_errors(search: SearchCurve) -> SearchCurve:
    """Return a search whose scores are distances from the perfect one, as ``in_errors`` returns a row."""
    row = search.row
    if not has_errors(row):
        return search
    curve = [
        Estimate(to_error(row, e.value), _error_if_known(row, e.high), _error_if_known(row, e.low))
        for e in search.curve
    ]
    return replace(search, row=in_errors(row), curve=curve)


def in_errors(row: Row) -> Row:
    """Return a row with its numbers as distances from the perfect score, in the same unit; other rows unchanged."""
    if not has_errors(row):
        return row
    return replace(
        row,
        metric="error" if row.metric == "accuracy" else f"{row.scale.perfect:g} − {row.metric}",
        goal="min",
        scores=[to_error(row, score) for score in row.scores],
        published=[{**number, "value": to_error(row, float(number["value"]))} for number in row.published],
        low=_error_if_known(row, row.high),
        high=_error_if_known(row, row.low),
        mean=_error_if_known(row, row.mean),
        median=_error_if_known(row, row.median),
        median_best=_error_if_known(row, row.median_best),
        median_worst=_error_if_known(row, row.median_worst),
        valid=_error_if_known(row, row.valid),
    )


def _error_if_known(row: Row, score: float | None) -> float | None:
    """Return ``to_error`` of a score that a row may lack."""
    return None if score is None else to_error(row, score)
