"""What a sweep still has to train, in epochs: successive halving ends most of a search early, and so do divergences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from longwave.platform.records.stored import EpochCounts
from longwave.platform.records.trial import Phase
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.stops import Halving
from longwave.platform.training.stopping import rungs

PhaseOfCell = tuple[int, Phase]
"""A part of a sweep: the trials of one phase of a cell."""


def remaining_epochs_of_cell(file: SweepFile, epochs: int, search: EpochCounts, again: EpochCounts) -> int:
    """Return how many epochs a cell has yet to train, as far as that is known: no trial of it is known to diverge.

    Args:
        file: The sweep.
        epochs: Of a trial of the cell that is trained to its end.
        search, again: What there is of its search, and of its retrainings.
    """
    if search.ended >= file.searched:
        left = 0
    elif file.halving:
        left = (
            sum(epochs_with_halving(n, epochs, file.halving) for n in cohort_sizes(file))
            - search.trained
            - search.reached
        )
    else:
        left = (file.searched - search.ended) * epochs - search.reached
    return max(left, 0) + max((file.retrain - again.ended) * epochs - again.reached, 0)


def cohort_sizes(file: SweepFile) -> list[int]:
    """Return how many trials compete with each other in successive halving; those of a round, if packs decide it."""
    sizes = [len(range(k, file.trials, file.rounds)) for k in range(file.rounds)]
    sizes += [file.searched - file.trials]
    pack = file.pack if file.pack != "auto" else None
    most = (file.halving and file.halving.cohort) or pack or max(sizes)
    return [min(most, size - k) for size in sizes for k in range(0, size, most)]


def epochs_with_halving(trials: int, epochs: int, halving: Halving) -> int:
    """Return the epochs that trials of one cohort train in all: at each rung a share of 1/η stays, rounded up."""
    total, before = 0, 0
    for rung in [*rungs(halving.first, halving.eta, epochs), epochs]:
        total += trials * (rung - before)
        trials, before = math.ceil(trials / halving.eta), rung
    return total


def remaining_epochs(file: SweepFile, epochs: Sequence[int], done: Mapping[PhaseOfCell, EpochCounts]) -> int:
    """Return how many epochs all cells have yet to train.

    Args:
        file: The sweep.
        epochs: Of each cell, in order, the epochs of a trial that is trained to its end.
        done: What there is of each part.
    """
    none = EpochCounts()
    parts = [(each, done.get((k, "search"), none), done.get((k, "retrain"), none)) for k, each in enumerate(epochs)]
    return sum(remaining_epochs_of_cell(file, *part) for part in parts)
