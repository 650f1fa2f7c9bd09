"""Whether a board tells networks from trivial predictors. This is the one place that decides it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from longwave.platform.boards.numbers import number_text
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import listed, plain
from longwave.platform.statistics.sign import beats, fewest_seeds, seeds_better, surely_better
from longwave.platform.statistics.verdict import ENOUGH

TaskWord = Literal["separates", "open", "saturated"]
WORDS: tuple[TaskWord, ...] = ("separates", "open", "saturated")
"""In the order in which tasks stand."""


@dataclass(frozen=True)
class Separation:
    """What a board says of networks and its best trivial predictor.

    Networks are the ranked rows with at least ``ENOUGH`` seeds. One is told apart where a seed of it beats the
    predictor's score more often than not: the exact sign test of its seeds, adjusted over the board's networks by
    Hochberg at 5 % (``statistics.sign``). The board

    - ``separates`` if at least one network is told apart;
    - is ``saturated`` if none is, and no network's median is better than the predictor's score;
    - is ``open`` if neither is known: some median is better and no network is told apart, or there is no network with
      enough seeds, or no trivial predictor was scored.

    Attributes:
        word: One of the three.
        predictor: Row of the best trivial predictor; None where none was scored.
        better: Networks that are told apart from it, in the order of the board.
        why: What keeps an open board from being decided, a sentence; empty for the others.
    """

    word: TaskWord
    predictor: Row | None = None
    better: Sequence[Row] = ()
    why: str = ""

    @property
    def sentence(self) -> str:
        """The word, with what it rests on."""
        if self.predictor is None or self.word == "open":
            return f"Open: {self.why}"
        best = f"the best trivial predictor ({self.predictor.title}, {number_text(self.predictor.mean or 0.0)})"
        if self.word == "saturated":
            return f"No model beats {best}."
        names = [row.label for row in self.better]
        return f"{listed(names)} {'beats' if len(names) == 1 else 'beat'} {best}."


def separation(rows: Iterable[Row]) -> Separation:
    """Return what the rows of one board say of networks and its best trivial predictor."""
    rows = list(rows)
    simple = [row for row in rows if row.trivial and row.mean is not None]
    networks = [row for row in rows if row.rank_low is not None and not row.provisional]
    if not simple:
        return Separation("open", why="no trivial predictor was scored.")
    scale = networks[0].scale if networks else simple[0].scale
    predictor = min(simple, key=lambda row: scale.error(row.mean))
    level = predictor.mean or 0.0
    if not networks:
        return Separation("open", predictor, why=f"no network has {ENOUGH} seeds yet.")
    sure = surely_better([row.seeds for row in networks], level, scale)
    if any(sure):
        better = [row for row, told_apart in zip(networks, sure, strict=True) if told_apart]
        return Separation("separates", predictor, better)
    ahead = [row for row in networks if beats(row.median, level, scale)]
    if not ahead:
        return Separation("saturated", predictor)
    return Separation("open", predictor, why=_why_undecided(ahead[0], predictor, len(networks)))


def _why_undecided(row: Row, predictor: Row, networks: int) -> str:
    """Return why a row whose median is better than a predictor's score is not told apart from it."""
    wins = seeds_better(row.seeds, predictor.mean or 0.0, row.scale)
    least = fewest_seeds(networks)
    more = f"; one network of {networks} is told apart by {least} seeds or more" if row.seed_count < least else ""
    return (
        f"{wins} of {row.seed_count} seeds of {row.label} beat the best trivial predictor, {predictor.title} at "
        f"{plain(predictor.mean)}: too few to say that most seeds would{more}."
    )


def count_words(separations: Iterable[Separation]) -> str:
    """Return how many boards have each word: ``3 of 15 tasks separate networks from trivial predictors, ...``."""
    counts = Counter(each.word for each in separations)
    tasks = counts.total()
    verb = "separates" if counts["separates"] == 1 else "separate"
    others = ", ".join(f"{counts[word]} {word}" for word in WORDS[1:])
    boards = f"{counts['separates']} of {tasks} board{'s' * (tasks != 1)}"
    return f"{boards} {verb} networks from trivial predictors ({others})."
