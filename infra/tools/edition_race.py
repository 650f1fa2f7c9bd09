"""What the race changed: winners of races that were not the best settings of their searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import plain
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.race import Ends, choose_by_race, list_finalists
from longwave.platform.sweeps.plan.trials import group_by_cell

HEAD = ("place in the search", "best of the search: search", "race", "winner of the race: search", "race")
"""Columns after the row: the winner's place, and the scores of both settings in the search and in the race."""


@dataclass(frozen=True)
class Raced:
    """Validation scores of one setting: the best one in the search, and the median over its trainings in the race."""

    search: Score
    race: Score


@dataclass(frozen=True)
class RaceChoice:
    """The winner of a race, beside the setting that the search alone would have chosen.

    Attributes:
        row: Row of the winner.
        place: Its place in the search, from 1.
        first, winner: The best setting of the search, and the winner.
        was_lucky: Whether the best setting of the search is worse in the race than in the search.
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
    for cell, planned in zip(sweep.cells, group_by_cell(sweep, store.planned(name)), strict=True):
        if {"race", "retrain"} <= {a.phase for a in planned}:
            trials = store.trials_by_id([a.id for a in planned if a.phase != "retrain"])
            ends = {trial.config.id: trial.run for trial in trials if trial.run}
            yield _choice(cell, [trial.config for trial in trials], ends)


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
    lucky = cell.scale.error(first.race) > cell.scale.error(first.search)
    return RaceChoice(winner.row, 1 + finalists.index(winner), first, chosen, lucky)


def _raced(scale: Scale, search: Score, race: Sequence[Score]) -> Raced:
    return Raced(search, scale.score(median(scale.errors(race))))


def describe_choices(choices: Iterable[RaceChoice], rows: Sequence[Row]) -> tuple[str, Mapping[str, Sequence[str]]]:
    """Return a sentence on what races changed, empty without a race, and the cells of a table, ``HEAD``, by key of
    each row whose race chose another setting than the best one of its search. Choices without a row in ``rows`` are
    left out.
    """
    keys = {row.key for row in rows}
    shown = {choice.row: choice for choice in choices if choice.row in keys}
    changed = {key: choice for key, choice in shown.items() if choice.place > 1}
    lucky = sum(choice.was_lucky for choice in shown.values())
    sentence = (
        f"In {len(changed)} of {len(shown)} rows the race chose another setting than the best one of the search. Of "
        f"the {len(shown)} settings that were best in their search, {lucky} have a worse median validation score in "
        "the race, with fresh seeds; about half would if no score of a search were lucky. Scores below are of "
        "validation; those of a race are medians over its trainings of the setting."
    )
    cells = {
        key: [str(c.place), *(plain(score) for score in (c.first.search, c.first.race, c.winner.search, c.winner.race))]
        for key, c in changed.items()
    }
    return sentence if shown else "", cells
