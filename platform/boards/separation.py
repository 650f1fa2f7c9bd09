"""Whether a board separates networks from trivial predictors; decided only here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import listed, median, plain
from longwave.platform.statistics.sign import beats, fewest_seeds, seeds_better, surely_better
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.wording import describe_count

TaskWord = Literal["separates", "open", "saturated"]
WORDS: tuple[TaskWord, ...] = ("separates", "open", "saturated")
"""In display order of tasks."""


@dataclass(frozen=True)
class Separation:
    """Comparison of a board's networks with its best trivial predictor.

    Networks are the ranked rows with at least ``ENOUGH`` seeds. A network is significantly better if most of its seeds
    beat the predictor's score, by the exact sign test of its seeds, adjusted over the board's networks by Hochberg at 5
    % (``statistics.sign``). The board

    - ``separates`` if at least one network is significantly better;
    - is ``saturated`` if none is, and no ranked row's median is better than the predictor's score;
    - is ``open`` otherwise: some median is better but no network significantly so, or no network has enough seeds, or
      no trivial predictor was scored.

    Attributes:
        word: One of the three.
        predictor: Row of the best trivial predictor; None if none was scored.
        better: Networks that are significantly better, in the order of the board.
        why: Why the network with the best median is not significantly better though that median is, or why else an
            open board is undecided, a sentence; else empty.
    """

    word: TaskWord
    predictor: Row | None = None
    better: Sequence[Row] = ()
    why: str = ""

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        if self.predictor is None or self.word == "open":
            return f"Open: {self.why}"
        best = f"the best trivial predictor ({self.predictor.title}, {median(self.predictor)})"
        if self.word == "saturated":
            return f"No model beats {best}."
        names = [row.label for row in self.better]
        return f"{listed(names)} {'beats' if len(names) == 1 else 'beat'} {best}."


def separation(rows: Iterable[Row]) -> Separation:
    """Return whether the rows of one board separate networks from its best trivial predictor."""
    rows = list(rows)
    trivials = [row for row in rows if row.trivial and row.mean is not None]
    ranked = [row for row in rows if row.rank_low is not None]
    networks = [row for row in ranked if not row.provisional]
    if not trivials:
        return Separation("open", why="no trivial predictor was scored.")
    scale = networks[0].scale if networks else trivials[0].scale
    predictor = min(trivials, key=lambda row: scale.error(row.mean))
    predictor_score = predictor.mean or 0.0
    if not networks:
        return Separation("open", predictor, why=f"no network has {ENOUGH} seeds yet.")
    ahead = [row for row in networks if beats(row.median, predictor_score, scale)]
    if not ahead:
        few = [row for row in ranked if beats(row.median, predictor_score, scale)]
        return Separation("open", predictor, why=_why_too_few(few[0])) if few else Separation("saturated", predictor)
    significant = surely_better([row.seeds for row in networks], predictor_score, scale)
    better = [row for row, is_better in zip(networks, significant, strict=True) if is_better]
    why = "" if ahead[0] in better else _why_undecided(ahead[0], predictor, len(networks))
    return Separation("separates" if better else "open", predictor, better, why)


def _why_too_few(row: Row) -> str:
    """Return why a board is open where only rows of few seeds have a better median than the predictor."""
    return f"only rows of fewer than {ENOUGH} seeds beat the best trivial predictor, such as {row.label}."


def _why_undecided(row: Row, predictor: Row, networks: int) -> str:
    """Return why a row whose median beats a predictor's score is not significantly better."""
    wins = seeds_better(row.seeds, predictor.mean or 0.0, row.scale)
    needed = fewest_seeds(networks)
    condition = ""
    if row.seed_count < needed:
        condition = f"; a single one of {networks} networks needs {needed} seeds or more for that"
    elif networks > 1:
        condition = f", with {networks} networks tested at once"
    return (
        f"{wins} of {row.seed_count} seeds of {row.label} beat the best trivial predictor, {predictor.title} at "
        f"{plain(predictor.mean)}: too few to say that most seeds would{condition}."
    )


def count_words(separations: Iterable[Separation]) -> str:
    """Return how many boards have each word: ``3 of 15 tasks separate networks from trivial predictors, ...``."""
    counts = Counter(part.word for part in separations)
    tasks = counts.total()
    verb = "separates" if 1 in (counts["separates"], tasks) else "separate"
    others = ", ".join(f"{counts[word]} {word}" for word in WORDS[1:])
    boards = f"{counts['separates']} of {describe_count(tasks, 'board')}"
    return f"{boards} {verb} networks from trivial predictors ({others})."
