"""Which model is best on a board, and how certain that is: one sentence per board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from longwave.platform.boards.overview import Overview
from longwave.platform.boards.row import Row, named
from longwave.platform.boards.separation import Separation, count_words, separation
from longwave.platform.boards.texts import estimate, listed, listed_of, median, plain
from longwave.platform.statistics.stats import Estimate
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.wording import describe_count

TRUSTED_BY = "Rank all with longwave board --trust BUNDLE, or one by running longwave reproduce ROW --keep twice."
"""What to do about untrusted rows."""
NO_ROW = "No retrained row is shown here."


@dataclass(frozen=True)
class Leading:
    """The best rows of one board.

    Attributes:
        leaders: Rows of the best tie group, best first, provisional ones last; empty if no row is ranked.
        unbeaten: These, and other rows that no row significantly beats, in the same order.
        ranked: Number of ranked rows.
        separation: Whether the board separates networks from trivial predictors.
        not_worse: Number of other rows that are not significantly worse than the best row.
        passed_over: Whether a provisional row has a better median than the best row.
        why: Reservations, such as few seeds; empty if there are none.
    """

    leaders: Sequence[Row]
    unbeaten: Sequence[Row]
    ranked: int
    separation: Separation
    not_worse: int = 0
    passed_over: bool = False
    why: str = ""

    @property
    def first(self) -> str:
        """Name of the best row, marked provisional if it has too few seeds; empty if none is ranked."""
        best = self.leaders[0] if self.leaders else None
        return "" if best is None else best.label + (" (provisional)" if best.provisional else "")

    @property
    def sure(self) -> str:
        """How certain that is: which rows are not significantly worse than the best one, and reservations."""
        names = [row.label for row in self.leaders]
        if not names:
            return "no row is ranked yet"
        if self.ranked == 1:
            tested = "no other row to compare with"
        else:
            others = f", of {describe_count(self.ranked - 1, 'other')}" if len(names) > 1 else ""
            tested = self._compared() + others
        return ". ".join(filter(None, (tested, self.why.rstrip(".")))) + "."

    @property
    def sentence(self) -> str:
        """Whether the board separates models; then which row is best, by how much, and how certain that is."""
        if not self.leaders:
            return self.why or "No row is ranked here yet: a rank takes two seeds."
        names = [row.label for row in self.leaders]
        best = self.leaders[0]
        of_ranked = f" of {self.ranked} ranked rows" if self.ranked > 1 else ""
        of_ranked = f" of the rows with {ENOUGH} seeds or more" if self.passed_over else of_ranked
        equal = sum(1 for _ in takewhile(lambda row: row.median == best.median, self.leaders))
        ahead = [row.label for row in self.leaders[:equal] if (row.rank_high or 1) <= equal]
        if 0 < len(ahead) < equal:
            others = "one" if self.ranked == equal + 1 else str(self.ranked - equal)
            verb = "is" if len(ahead) == 1 else "are"
            suffix = f"; only {listed(ahead)} {verb} significantly better than the other {others}"
        else:
            suffix = f", {self._compared(equal)}" if self.ranked > equal else ""
        value = median(best) if equal == 1 else f"each {median(best).partition(' [')[0]}"
        best_text = f"Best median{of_ranked}: {listed(names[:equal])}, {value}{suffix}."
        return " ".join(filter(None, (self.separation.sentence, best_text, self.why)))

    def _compared(self, equal: int = 1) -> str:
        """Return how the best row compares with the other ranked ones, without the first ``equal``, which it ties."""
        if not (not_worse := self.not_worse - equal + 1):
            return "significantly better than all others"
        names = [row.label for row in self.unbeaten[equal:]]
        return f"not significantly better than {listed_of(names, not_worse)}"


def answer(rows: Sequence[Row]) -> Leading:
    """Return the best rows of one board, with reservations.

    A provisional row comes first only if all leaders are provisional.
    """
    ranked = [row for row in rows if row.rank_low is not None]
    with_few_seeds = [row for row in ranked if row.provisional]
    leaders = sorted((row for row in ranked if row.leads), key=lambda row: row.provisional)
    unbeaten = [*leaders, *(row for row in ranked if row.rank_low == 1 and not row.leads)]
    separated = separation(rows)
    why = [separated.why] if separated.word == "separates" and separated.why else []
    if separated.word != "saturated" and any(row.loses_to for row in leaders[:1]):
        why.append(f"It loses to a trivial predictor, {leaders[0].loses_to}.")
    current = [row for row in rows if row.current]
    if current and all(row.untrusted for row in current):
        why.append(f"No row is ranked here: all are imported and untrusted. {TRUSTED_BY}")
    if with_few_seeds:
        have = "has" if len(with_few_seeds) == 1 else "have"
        why.append(f"Provisional: {len(with_few_seeds)} of {len(ranked)} rows {have} fewer than {ENOUGH} seeds.")
    if not any(row.kind == "retrained" for row in rows):
        why.append(NO_ROW)
    best = leaders[0] if leaders else None
    passed_over = best is not None and best is not ranked[0]
    not_worse = (best.rank_high or 1) - 1 if best else 0
    return Leading(leaders, unbeaten, len(ranked), separated, not_worse, passed_over, " ".join(why))


def over_all(overview: Overview) -> str:
    """Return how many tasks separate models, which model is best over them, and how certain that is; or why none is
    ranked. It names tasks without a common score, and the score that counts as 1 if none is perfect.
    """
    counts = count_words(overview.separations)
    separating, counted = overview.of_word("separates"), overview.counted_tasks
    ranked = [(line.title, line.rank) for line in overview.lines if line.rank]
    if not ranked:
        requirement = f"two models or more with {ENOUGH} seeds on every separating board"
        why = f"that takes {requirement}" if separating else "none of these boards separates"
        return f"{counts} No model is ranked over all boards: {why}."
    best = [(title, rank) for title, rank in ranked if rank.value == ranked[0][1].value]
    sure = f"; {_describe_overlap(ranked, len(best))}" if len(best) < len(ranked) else ""
    titles = dict(zip(map(named, overview.tasks), overview.titles, strict=True))
    if len(counted) == 1:
        boards = f"the one separating board{' that counts' * (len(separating) > 1)}, {overview.titles[0]}"
    else:
        boards = f"{len(counted)} of the " * (len(counted) < len(separating)) or "the "
        boards += f"{len(separating)} separating boards"
    few = [titles[named(task)] for task in overview.too_few_models]
    unmeasured = {titles[task]: why for task, why in overview.left_out.items()}
    left_out = f"boards on which fewer than half of the models ran: {'; '.join(few)}"
    scored = [f" Ranks and scores leave out {left_out}."] if few else []
    scored += [f" Overall scores leave out {_with_reasons(unmeasured)}."] if unmeasured else []
    scored += [
        f" On {titles[task]} a gain of 1 is the best median here, {plain(top)}." for task, top in overview.tops.items()
    ]
    ranks = " and ".join(f"{title}, {estimate(rank, 1)}" for title, rank in best)
    first = f"Best mean rank of {len(ranked)} models on {boards}: {ranks}"
    return f"{counts} {first}{sure}.{''.join(scored)}"


def _describe_overlap(ranked: Sequence[tuple[str, Estimate]], best: int) -> str:
    """Return which of the ranked models, by title, may have the rank of the first ``best``, which share the lead."""
    reaches = [rank.high or 0.0 for _, rank in ranked[:best]]
    overlap_all, overlap_one = (
        [title for title, rank in ranked[best:] if rank.low is not None and rank.low <= reach]
        for reach in (min(reaches), max(reaches))
    )
    if not overlap_one:
        return "no other's range reaches that far"
    of_best = "the ranges of their ranks overlap" if best > 1 else "the range of its ranks overlaps"
    overlaps = of_best if overlap_all else "the range of one of them overlaps"
    titles = overlap_all or overlap_one
    return f"{overlaps} with {'those' if len(titles) > 1 else 'that'} of {listed(titles)}"


def _with_reasons(reasons: Mapping[str, str]) -> str:
    """Return each name with its reason in brackets."""
    named_reasons = [f"{name} ({why})" for name, why in reasons.items()]
    return listed(named_reasons, len(named_reasons))


def saturated_tasks(overview: Overview) -> str:
    """Return a sentence that names the saturated boards; empty if there are none."""
    count = len(overview.of_word("saturated"))
    if not count:
        return ""
    boards = describe_count(count, "board")
    return f"No model beats the best trivial predictor on {boards}: {'; '.join(overview.titles[-count:])}."
