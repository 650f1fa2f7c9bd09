"""Which model is best on a board, and how sure that is: one sentence a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import median
from longwave.platform.statistics.verdict import ENOUGH


@dataclass(frozen=True)
class Leading:
    """The best rows of one board.

    Attributes:
        leaders: Rows of the best tie group, best first; none where no row is ranked.
        ranked: Rows that are ranked.
        why: What keeps it from being sure; empty where nothing does.
    """

    leaders: Sequence[Row]
    ranked: int
    why: str = ""

    @property
    def sentence(self) -> str:
        """Who is best, by how much, and how sure that is."""
        if not self.leaders:
            return "No row is ranked here yet."
        names = list(dict.fromkeys(row.title for row in self.leaders))
        best = self.leaders[0]
        rest = f" of {self.ranked} ranked rows" if self.ranked > 1 else ""
        told = f"not told apart from {_listed(names[1:])}" if len(names) > 1 else "told apart from all others"
        alone = f", {told}" if self.ranked > 1 else ""
        return f"Best median{rest}: {names[0]}, {median(best)}{alone}." + (f" {self.why}" if self.why else "")


def answer(rows: Sequence[Row]) -> Leading:
    """Return which of the rows of one board are best, and what keeps that from being sure."""
    ranked = [row for row in rows if row.rank_low is not None]
    leaders = [row for row in ranked if row.leads]
    few = [row for row in ranked if row.provisional]
    why = []
    if any(row.loses_to for row in leaders[:1]):
        why.append(f"It loses to a trivial predictor, {leaders[0].loses_to}.")
    if few:
        why.append(f"Provisional: {len(few)} of {len(ranked)} rows have fewer than {ENOUGH} seeds.")
    return Leading(leaders, len(ranked), " ".join(why))


def _listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as a list in a sentence."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
