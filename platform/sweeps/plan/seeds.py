"""Seeds of a sweep: of draws, search trials, races and retrainings. No later part uses a seed of an earlier one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count, islice

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.file.schema import SweepFile

MAX_CHOOSING = 1000
"""Greatest number of retrainings that chose a row, whose seeds are not used again."""


def draw_seed(file: SweepFile, cell: TrialConfig, index: int) -> int:
    """Return the seed of the draws of a cell's round, given any trial of the cell."""
    return derive_seed("draw", *_source(file, cell), index)


def search_seeds(file: SweepFile, cell: TrialConfig) -> list[int]:
    """Return the seeds of a cell's search trials, in order, given any trial of the cell."""
    return [derive_seed("search", *_source(file, cell), k) for k in range(file.searched)]


def race_seeds(file: SweepFile, cell: TrialConfig) -> list[int]:
    """Return the seeds of a cell's race: those of the first heat, then of the second; none without a race."""
    race = file.race_settings
    if race is None:
        return []
    return list(islice(_fresh_seeds("race", _source(file, cell), search_seeds(file, cell)), race.seeds + race.more))


def retraining_seeds(file: SweepFile, winner: TrialConfig) -> list[int]:
    """Return the seeds of a winner's retrainings, which follow from its configuration.

    If earlier retrainings chose the winner, their seeds are not used again.
    """
    source = (seed_key(winner),)
    if file.instead_of:
        return list(islice(_fresh_seeds("again", source, _first_retraining_seeds(source)), file.retrain))
    used = {*search_seeds(file, winner), *race_seeds(file, winner)}
    return list(islice(_fresh_seeds("retrain", source, used), file.retrain))


def _first_retraining_seeds(source: tuple[object, ...]) -> set[int]:
    """Return the seeds that a configuration's earlier retrainings can have had, of at most ``MAX_CHOOSING``."""
    return set(islice(_fresh_seeds("retrain", source, ()), MAX_CHOOSING))


def _source(file: SweepFile, cell: TrialConfig) -> tuple[object, ...]:
    """Return what the seeds of a search follow from. The cells of a model's grid share their draws.

    Under rule 1 a model has the same draws on every task, so that a lucky draw is lucky everywhere.
    """
    return (file.seed, cell.task, cell.variant, cell.model) if file.rule == 2 else (file.seed, cell.model)


def _fresh_seeds(name: str, source: tuple[object, ...], used: Collection[int]) -> Iterator[int]:
    return (seed for k in count() if (seed := derive_seed(name, *source, k)) not in used)
