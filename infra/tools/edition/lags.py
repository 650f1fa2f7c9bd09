"""How far models remember: for each board that measures scores by length or lag, a figure and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from edition.folders import EditionFolders
from longwave.platform.boards.numbers import number_text, score_text
from longwave.platform.boards.row import Row
from longwave.platform.figures.lag import LagScore, against_lag, scores_by_lag
from longwave.platform.records.stored import Trial

WIDTH = 720
"""Of a figure, in pixels."""
BEST = 3
"""Models that a sentence names, and those with the same median as the last of them."""


def draw_lags(rows: Sequence[Row], trials: Sequence[Trial], folders: EditionFolders) -> list[str]:
    """Write the figure of each board, remove those of boards that are gone, and return their part of the report.

    Args:
        rows: Of all boards, one board after the other.
        trials: Their retrainings.
        folders: Of the edition.
    """
    lines, written = list[str](), set[str]()
    for place, group in groupby(rows, key=lambda row: row.place):
        board = list(group)
        scores = scores_by_lag(board, trials)
        if figure := against_lag(scores, log=board[0].goal == "min"):
            path = folders.lag_figure(place)
            path.write_text(figure.svg(WIDTH), encoding="utf-8")
            written.add(path.name)
            lines += [f"**{board[0].board}**: {describe_ends(scores)}", ""]
            lines += [f"![{figure.title}](../{path.name})", ""]
    for old in folders.board.glob(folders.lag_figure("*").name):
        if old.name not in written:
            old.unlink()
    return lines[:-1]


def describe_ends(scores: Sequence[LagScore]) -> str:
    """Return the best models at the smallest and at the largest length or lag, in a sentence."""
    lags, largest_first = [score.x for score in scores], scores[0].row.goal == "max"
    ends = []
    for x in (min(lags), max(lags)):
        here = sorted(
            (score for score in scores if score.x == x), key=lambda score: score.median, reverse=largest_first
        )
        last = here[:BEST][-1].median
        named = [score for k, score in enumerate(here) if k < BEST or score.median == last]
        best = ", ".join(f"{score.name} {_median_text(score)}" for score in named)
        place = f"at length {x:g}" if scores[0].axis == "length" else f"{x:g} step{'s' * (x != 1)} ahead"
        ends.append(f"{place}: {best}")
    return f"best medians {'; '.join(ends)}."


def _median_text(score: LagScore) -> str:
    perfect = score.row.scale.perfect
    return score_text(score.median, perfect) if score.row.goal == "max" else number_text(score.median)
