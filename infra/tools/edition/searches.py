"""The parts of an edition's report on its searches: winners at an edge, races, second searches, retrainings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median as middle

from markdown_parts import table

from longwave.platform.boards.row import SHORT, Row
from longwave.platform.boards.texts import median, plain
from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.race import Ends, choose_by_race, list_finalists
from longwave.platform.sweeps.plan.range_edges import AtEdge
from longwave.platform.sweeps.plan.trials import group_by_cell

OF_A_SECOND_SEARCH = (
    "A second search continued the first over wider ranges and chose these configurations by validation score. Both "
    "winners were retrained, and the medians are over the retrainings; the first is superseded even if it is better on "
    "test data. Unchanged winners, and those that the retrainings rejected, are not listed."
)
OF_RETRAININGS = (
    "Where both winners of a model had been retrained ten times, the one with the better median validation score was "
    "chosen; test scores were not used. Below are the models for which the winner of the first search was better. The "
    "ten retrainings that selected it are not counted: its row shows ten others, with new seeds."
)
Board = tuple[str, Sequence[Row], Mapping[str, str]]
"""Name, rows, and a link to each row by key."""

HEAD = ("row", "place in the search", "best of the search: search", "race", "winner of the race: search", "race")
"""Columns of the table of races: the winner's place, then scores of both settings, in the search and in the race."""


@dataclass(frozen=True)
class Raced:
    """Validation scores of one setting: the best one in the search, and the geometric mean in the race.

    The mean is over the trainings of the race that did not diverge.
    """

    search: Score
    race: Score


@dataclass(frozen=True)
class RaceChoice:
    """The winner of a race, beside the setting that the search alone would have chosen.

    Attributes:
        row: Row of the winner.
        place: Its place in the search, from 1.
        first, winner: The best setting of the search, and the winner.
        was_lucky: Whether the best setting of the search has a worse median in the race than in the search.
    """

    row: str
    place: int
    first: Raced
    winner: Raced
    was_lucky: bool


def list_choices(sweep: Sweep, store: Store, name: str) -> Iterator[RaceChoice]:
    """Yield the choice of each race of a sweep that is over.

    Args:
        sweep: The sweep.
        store: Where its trials are.
        name: Of the sweep in the store; for an imported one it may differ from its file's.
    """
    for cell, trials in retrained_cells(sweep, store, name):
        chosen_from = [trial.config for trial in trials if trial.config.phase != "retrain"]
        if any(config.phase == "race" for config in chosen_from):
            yield _choice(cell, chosen_from, {trial.config.id: trial.run for trial in trials if trial.run})


def retrained_cells(sweep: Sweep, store: Store, name: str) -> Iterator[tuple[CellPlan, list[Trial]]]:
    """Yield each cell whose winner is retrained, with its trials. The arguments are those of ``list_choices``."""
    for cell, planned in zip(sweep.cells, group_by_cell(sweep, store.planned(name)), strict=True):
        if any(trial.phase == "retrain" for trial in planned):
            yield cell, store.trials_by_id([trial.id for trial in planned])


def _choice(cell: CellPlan, trials: Sequence[TrialConfig], ends: Ends) -> RaceChoice:
    search, raced = ([c for c in trials if (c.phase == "race") == race] for race in (False, True))
    finalists = list_finalists(cell.scale, search, ends)
    winner = choose_by_race(cell.scale, search, raced, ends)
    assert winner
    scores = {
        config.row: [ends[c.id].valid if ends[c.id].status == "ok" else None for c in raced if c.row == config.row]
        for config in finalists
    }
    first, chosen = (_raced(cell.scale, ends[c.id].valid, scores[c.row]) for c in (finalists[0], winner))
    median_error = middle(cell.scale.errors(scores[finalists[0].row]))
    return RaceChoice(
        winner.row, 1 + finalists.index(winner), first, chosen, median_error > cell.scale.error(first.search)
    )


def _raced(scale: Scale, search: Score, race: Sequence[Score]) -> Raced:
    return Raced(search, scale.geometric_mean([score for score in race if score is not None]))


def describe_races(boards: Sequence[Board], choices: Iterable[RaceChoice]) -> list[str]:
    """Return what races changed, and the winners that were not the best of their search, board by board. Choices
    without a row on the boards are left out.
    """
    keys = {row.key for _, rows, _ in boards for row in rows}
    shown = {choice.row: choice for choice in choices if choice.row in keys}
    changed = {key: choice for key, choice in shown.items() if choice.place > 1}
    equal = sum(choice.first.search == choice.winner.search for choice in changed.values())
    lucky = sum(choice.was_lucky for choice in shown.values())
    lines = [
        f"In {len(changed)} of {len(shown)} rows the race chose another setting than the best one of the search, "
        f"{equal} of them with the same score there. Of the {len(shown)} settings that were best in their search, "
        f"{lucky} have a worse median validation score in the race, with fresh seeds; about half would if no score of "
        "a search were lucky. Scores below are of validation. Those of a race are geometric means of the errors over "
        "its trainings of the setting: among the settings with the most trainings and the fewest diverged ones, the "
        "race chooses the smallest."
    ]
    for name, rows, links in boards:
        cells = [
            [links[row.key], str(c.place), *map(plain, (c.first.search, c.first.race, c.winner.search, c.winner.race))]
            for row in rows
            if (c := changed.get(row.key))
        ]
        lines += board_table(name, HEAD, cells)
    return lines if shown else []


def describe_edges(boards: Iterable[Board], edges: Sequence[AtEdge]) -> list[str]:
    """Return the hyper-parameters of winners at an edge of what was searched, board by board."""
    lines = []
    for name, rows, links in boards:
        cells = [
            [links[row.key], edge.name, f"{edge.value:.3g}", f"{edge.low:g} to {edge.high:g}", edge.end]
            for row in rows
            for edge in dict.fromkeys(edge for edge in edges if edge.row == row.key)
        ]
        lines += board_table(name, ["row", "hyper-parameter", "winner", "searched", "end"], cells)
    intro = (
        "Each is in the outer 5 % of the range searched: a better value may lie outside. If a second search used wider "
        "ranges, for all models alike, the ranges are those of the second search, and rows say so under search."
    )
    return [intro, *lines] if lines else []


def describe_replaced(boards: Iterable[Board], why: str, intro: str) -> list[str]:
    """Return each row that was superseded for a reason, with the row that replaced it."""
    lines = []
    for name, rows, links in boards:
        named = {why.format(row.key[:SHORT]): row for row in rows}
        cells = [
            [links[first.key], median(first), links[last.key], median(last), plain(first.valid), plain(last.valid)]
            for first in rows if (last := named.get(first.superseded))
        ]  # fmt: skip
        head = ["row", "median", "replaced by", "its median", "validation before", "validation after"]
        lines += board_table(name, head, cells)
    return [intro, *lines] if lines else []


def board_table(board: str, head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table under its board's name; none without cells."""
    return ["", f"### {board}", "", *table(head, cells).splitlines()] if cells else []
