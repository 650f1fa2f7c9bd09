"""Which model is best on a board, and how sure that is: one sentence a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longwave.platform.boards.overview import Overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.separation import Separation, count_words, separation
from longwave.platform.boards.texts import estimate, listed, median, plain
from longwave.platform.statistics.verdict import ENOUGH


@dataclass(frozen=True)
class Leading:
    """The best rows of one board.

    Attributes:
        leaders: Rows of the best tie group, best first, provisional ones last; none where no row is ranked.
        ranked: Rows that are ranked.
        separation: Whether the board tells networks from trivial predictors.
        why: What keeps it from being sure; empty where nothing does.
    """

    leaders: Sequence[Row]
    ranked: int
    separation: Separation
    why: str = ""

    @property
    def first(self) -> str:
        """Name of the best row, with the word provisional where it has too few seeds; empty where none is ranked."""
        best = self.leaders[0] if self.leaders else None
        return "" if best is None else best.label + (" (provisional)" if best.provisional else "")

    @property
    def sure(self) -> str:
        """How sure that is, in short: which rows are not told apart from the best one, and what else to know."""
        names = [row.label for row in self.leaders]
        if not names:
            return "no row is ranked yet"
        if self.ranked == 1:
            apart = "no other row to compare with"
        elif len(names) == 1:
            apart = "told apart from all others"
        else:
            apart = f"not told apart from {listed(names[1:])}, of {self.ranked - 1} others"
        return ". ".join(filter(None, (apart, self.why.rstrip(".")))) + "."

    @property
    def sentence(self) -> str:
        """Whether the board separates at all; then who is best, by how much, and how sure that is."""
        if not self.leaders:
            return "No row is ranked here yet."
        names = [row.label for row in self.leaders]
        best = self.leaders[0]
        rest = f" of {self.ranked} ranked rows" if self.ranked > 1 else ""
        apart = f"not told apart from {listed(names[1:])}" if len(names) > 1 else "told apart from all others"
        alone = f", {apart}" if self.ranked > 1 else ""
        first = f"Best median{rest}: {names[0]}, {median(best)}{alone}."
        return " ".join(filter(None, (self.separation.sentence, first, self.why)))


def answer(rows: Sequence[Row]) -> Leading:
    """Return which of the rows of one board are best, and what keeps that from being sure.

    A provisional row stands first only where all leaders are: else it is named as one that is not told apart.
    """
    ranked = [row for row in rows if row.rank_low is not None]
    few = [row for row in ranked if row.provisional]
    leaders = sorted((row for row in ranked if row.leads), key=lambda row: row.provisional)
    why, told = [], separation(rows)
    if told.word != "saturated" and any(row.loses_to for row in leaders[:1]):
        why.append(f"It loses to a trivial predictor, {leaders[0].loses_to}.")
    if few:
        why.append(f"Provisional: {len(few)} of {len(ranked)} rows have fewer than {ENOUGH} seeds.")
    return Leading(leaders, len(ranked), told, " ".join(why))


def over_all(overview: Overview) -> str:
    """Return how many tasks separate, and which model is best over those that do, and how sure that is.

    Where there is no ranking it says why. It names the tasks that no score counts, and what counts 1 where no score is
    perfect.
    """
    counts = count_words(overview.separations)
    separating = overview.of_word("separates")
    ranked = [line for line in overview.lines if line.rank]
    if not ranked:
        least = f"two models or more with {ENOUGH} seeds on every separating board"
        why = f"that takes {least}" if separating else "none of these boards separates"
        return f"{counts} No model is ranked over all boards: {why}."
    best, *others = ranked
    reach = best.rank.high if best.rank and best.rank.high is not None else 0.0
    near = [line.title for line in others if line.rank and line.rank.low is not None and line.rank.low <= reach]
    sure = f"the range of its ranks overlaps with that of {listed(near)}." if near else "no other's range reaches it."
    many = len(separating)
    where = f"the {many} separating boards" if many > 1 else f"the one separating board, {overview.titles[0]}"
    scored = [f" No score counts {task}: {why}." for task, why in overview.left_out.items()]
    scored += [f" On {task} a gain of 1 is the best median here, {plain(top)}." for task, top in overview.tops.items()]
    first = f"Best mean rank of {len(ranked)} models on {where}: {best.title}, {estimate(best.rank, 1)}"
    return f"{counts} {first}; {sure}{''.join(scored)}"


def saturated_tasks(overview: Overview) -> str:
    """Return a sentence that names the saturated boards; empty where there is none."""
    many = len(overview.of_word("saturated"))
    if not many:
        return ""
    boards = f"{many} board{'s' * (many > 1)}"
    return f"No model beats the best trivial predictor on {boards}: {'; '.join(overview.titles[-many:])}."
