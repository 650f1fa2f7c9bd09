"""Seeds of a sweep: of draws, search trials, races and retrainings. None of a later part is one of an earlier."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count, islice

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.file.schema import SweepFile


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
    """Return the seeds of a winner's retrainings, which follow from its configuration."""
    used = {*search_seeds(file, winner), *race_seeds(file, winner)}
    return list(islice(_fresh_seeds("retrain", (seed_key(winner),), used), file.retrain))


def _source(file: SweepFile, cell: TrialConfig) -> tuple[object, ...]:
    """Return what the seeds of a search follow from: the cells of a grid over one model share their draws.

    Under rule 1 a model had the same draws on every task, so that a lucky one was lucky everywhere.
    """
    return (file.seed, cell.task, cell.variant, cell.model) if file.rule == 2 else (file.seed, cell.model)


def _fresh_seeds(name: str, source: tuple[object, ...], used: Collection[int]) -> Iterator[int]:
    return (seed for k in count() if (seed := derive_seed(name, *source, k)) not in used)
