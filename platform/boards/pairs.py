"""All pairs of rows of a board: which differ significantly, the probability of being better, the ratio of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from longwave.platform.boards.row import Row
from longwave.platform.statistics.contrast import improvement, ratio
from longwave.platform.statistics.ranking import apart
from longwave.platform.statistics.stats import Estimate

PairWord = Literal["better", "worse", "undecided"]
WORDS: dict[int, PairWord] = {1: "better", -1: "worse", 0: "undecided"}


@dataclass(frozen=True)
class Pair:
    """One row compared with another of its board.

    Attributes:
        a, b: The rows.
        word: Result of the board's test: the guarded rank test of all pairs of its ranked rows, by Holm at 5 %.
        better: Probability that a seed of the first is better than one of the second.
        ratio: Error of the first over that of the second; None if the metric has no positive scale.
    """

    a: Row
    b: Row
    word: PairWord
    better: Estimate
    ratio: Estimate | None


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a board that are tested and ranked, in order."""
    return [row for row in rows if row.rank_low is not None]


def pairs(rows: Sequence[Row], shown: Sequence[Row]) -> list[Pair]:
    """Return each ordered pair of ``shown``, row by row.

    Args:
        rows: Rows of one board; the ranked ones are the family of tests.
        shown: Some of the ranked rows.
    """
    family = ranked(rows)
    if not family:
        return []
    decisions = apart([row.seeds for row in family], family[0].scale)
    index = {row.key: k for k, row in enumerate(family)}
    return [
        Pair(
            a,
            b,
            WORDS[int(decisions[index[a.key], index[b.key]])],
            improvement(a.seeds, b.seeds, a.scale),
            ratio(a.seeds, b.seeds, a.scale),
        )
        for a in shown
        for b in shown
        if a.key != b.key
    ]
