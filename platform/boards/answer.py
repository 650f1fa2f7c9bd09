"""Which model is best on a board, and how sure that is: one sentence a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longwave.platform.boards.overview import Overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import estimate, median, plain
from longwave.platform.statistics.stats import direction
from longwave.platform.statistics.verdict import ENOUGH


@dataclass(frozen=True)
class Leading:
    """The best rows of one board.

    Attributes:
        leaders: Rows of the best tie group, best first, provisional ones last; none where no row is ranked.
        ranked: Rows that are ranked.
        why: What keeps it from being sure; empty where nothing does.
    """

    leaders: Sequence[Row]
    ranked: int
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
            separation = "no other row to compare with"
        elif len(names) == 1:
            separation = "told apart from all others"
        else:
            separation = f"not told apart from {_listed(names[1:])}, of {self.ranked - 1} others"
        return ". ".join(filter(None, (separation, self.why.rstrip(".")))) + "."

    @property
    def sentence(self) -> str:
        """Who is best, by how much, and how sure that is."""
        if not self.leaders:
            return "No row is ranked here yet."
        names = [row.label for row in self.leaders]
        best = self.leaders[0]
        rest = f" of {self.ranked} ranked rows" if self.ranked > 1 else ""
        separation = f"not told apart from {_listed(names[1:])}" if len(names) > 1 else "told apart from all others"
        alone = f", {separation}" if self.ranked > 1 else ""
        return f"Best median{rest}: {names[0]}, {median(best)}{alone}." + (f" {self.why}" if self.why else "")


def answer(rows: Sequence[Row]) -> Leading:
    """Return which of the rows of one board are best, and what keeps that from being sure.

    A provisional row stands first only where all leaders are: else it is named as one that is not told apart.
    """
    ranked = [row for row in rows if row.rank_low is not None]
    few = [row for row in ranked if row.provisional]
    leaders = sorted((row for row in ranked if row.leads), key=lambda row: row.provisional)
    why = []
    if any(row.loses_to for row in leaders[:1]):
        why.append(f"It loses to a trivial predictor, {leaders[0].loses_to}.")
    if few:
        why.append(f"Provisional: {len(few)} of {len(ranked)} rows have fewer than {ENOUGH} seeds.")
    return Leading(leaders, len(ranked), " ".join(why))


def against_trivial(rows: Sequence[Row]) -> str:
    """Return which ranked rows of one board its best trivial predictor does not reach, and to which it is better.

    It does not reach a row all of whose median's interval, of 94 % or more, is better. Empty where none was measured.
    """
    simple = [row for row in rows if row.trivial and row.mean is not None]
    ranked = [row for row in rows if row.rank_low is not None]
    if not simple or not ranked:
        return ""
    sign = direction(rows[0].goal)
    best = max(simple, key=lambda row: sign * (row.mean or 0.0))
    level = sign * (best.mean or 0.0)
    better = [r.label for r in ranked if _wholly(r) and sign * (r.median_worst or 0.0) > level]
    worse = [r.label for r in ranked if r.loses_to]
    beginning = (
        f"Better than the best trivial predictor, {best.title} at {plain(best.mean)}, with their whole interval: "
    )
    lose = f"; it is better than {_listed(worse)}" if worse else ""
    return f"{beginning}{_listed(better, len(better)) if better else 'none'}{lose}."


def _wholly(row: Row) -> bool:
    """Return whether both ends of a row's interval are numbers, and it has seeds enough for one to be worth a claim."""
    return row.median_worst is not None and not row.provisional


def over_all(overview: Overview) -> str:
    """Return which model is best over all tasks, and how sure that is; or why there is no ranking over all."""
    ranked = [line for line in overview.lines if line.rank]
    if not ranked:
        return (
            f"No model is ranked over all tasks: that takes two models or more with {ENOUGH} seeds on every task. Each "
            "board answers for itself."
        )
    best, *others = sorted(ranked, key=lambda line: line.rank.value if line.rank else 0.0)
    reach = best.rank.high if best.rank and best.rank.high is not None else 0.0
    near = [line.title for line in others if line.rank and line.rank.low is not None and line.rank.low <= reach]
    sure = f"The range of its ranks overlaps with that of {_listed(near)}." if near else "No other's range reaches it."
    tasks = f"{len(overview.tasks)} task{'s' if len(overview.tasks) > 1 else ''}"
    return f"Best mean rank over {tasks} of {len(ranked)} models: {best.title}, {estimate(best.rank, 1)}. {sure}"


def _listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as a list in a sentence."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
