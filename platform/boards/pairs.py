"""Pairs of rows that tests tell apart by themselves: what ranks among any choice of a board's rows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longwave.platform.boards.row import Row
from longwave.platform.statistics.ranking import raw_p_values
from longwave.platform.statistics.stats import Summary, direction, summary

LEVEL = 0.05
"""Holm's adjustment lowers no p-value, and the overview's level is lower still: pairs above this decide nothing."""
Pair = tuple[int, int, float]


def pairs(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return for each board of ``rows``, in their order, the p-values of its pairs up to ``LEVEL``, not adjusted.

    That is all it takes to rank any choice of the rows: Holm's family are all pairs of those chosen with a std, for a
    row without one (n = 1) burdens nobody, and every pair that is not here is told apart by no choice.

    Returns:
        JSON data: ``task``, ``variant``; ``pairs``: [i, j, p] with i < j, places in ``rows``, of ranked rows;
        ``lost``, for the overview, in which a diverged seed counts as the worst of all chosen, or as the best trivial
        predictor where that is worse: for each value that this can be, larger being better, ``worst`` and ``pairs`` of
        rows of which one has a diverged seed.
    """
    boards: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        boards.setdefault((row.task, row.variant), []).append(place)
    return [
        {"task": task, "variant": variant, "pairs": _ranked(rows, places), "lost": _lost(rows, places)}
        for (task, variant), places in boards.items()
    ]


def _ranked(rows: Sequence[Row], places: Sequence[int]) -> list[Pair]:
    ours = [k for k in places if rows[k].current and rows[k].mean is not None]
    return _apart(ours, [Summary(rows[k].mean or 0.0, rows[k].std, rows[k].n) for k in ours])


def _lost(rows: Sequence[Row], places: Sequence[int]) -> list[dict[str, Any]]:
    """Return the pairs of rows of which one has a diverged seed, for each value that such a seed can count as."""
    sign = direction(rows[places[0]].goal)
    ours = [k for k in places if rows[k].current and rows[k].n + rows[k].diverged]
    if not any(rows[k].diverged for k in ours):
        return []
    scores = {k: [sign * score for score in rows[k].scores] for k in ours}
    zero = max((sign * (rows[k].mean or 0.0) for k in places if rows[k].trivial), default=None)
    lowest = {min(found) for found in scores.values() if found}
    worst = {low for low in lowest if zero is None or low < zero} | ({zero} if zero is not None else set())
    found = []
    for value in sorted(worst):
        told = _apart(ours, [summary([*scores[k], *[value] * rows[k].diverged]) for k in ours])
        mixed = [(i, j, p) for i, j, p in told if rows[i].diverged or rows[j].diverged]
        if mixed := [(i, j, p) for i, j, p in mixed if rows[i].model != rows[j].model]:
            found.append({"worst": value, "pairs": mixed})
    return found


def _apart(places: Sequence[int], means: Sequence[Summary]) -> list[Pair]:
    """Return the pairs of places, in order, whose means are told apart by themselves, with their p-values."""
    import numpy as np

    table = raw_p_values(means)
    told = zip(*np.nonzero(np.triu(table <= LEVEL, 1)), strict=True)
    return [(places[i], places[j], float(table[i, j])) for i, j in told]
