"""Epochs that a sweep still has to train; successive halving and divergences end many trials early."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from longwave.platform.records.stored import EpochCounts
from longwave.platform.records.trial import Phase
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.stops import Halving
from longwave.platform.training.stopping import rungs

PhaseOfCell = tuple[int, Phase]
"""The trials of one phase of a cell, by its index."""


def remaining_epochs_of_cell(file: SweepFile, epochs: int, search: EpochCounts, again: EpochCounts) -> int:
    """Return how many epochs a cell still has to train if no further trial of it diverges.

    Args:
        file: The sweep.
        epochs: Epochs of a trial of the cell that is trained to its end.
        search, again: Epochs trained so far in its search, and in its retrainings.
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
    """Return the sizes of all cohorts of successive halving; a round is one cohort if pack size is automatic."""
    sizes = [len(range(k, file.trials, file.rounds)) for k in range(file.rounds)]
    sizes += [file.searched - file.trials]
    pack = file.pack if file.pack != "auto" else None
    most = (file.halving and file.halving.cohort) or pack or max(sizes)
    return [min(most, size - k) for size in sizes for k in range(0, size, most)]


def epochs_with_halving(trials: int, epochs: int, halving: Halving) -> int:
    """Return the epochs of all trials of one cohort: at each rung a share of 1/η continues, rounded up."""
    total, before = 0, 0
    for rung in [*rungs(halving.first, halving.eta, epochs), epochs]:
        total += trials * (rung - before)
        trials, before = math.ceil(trials / halving.eta), rung
    return total


def remaining_epochs(file: SweepFile, epochs: Sequence[int], done: Mapping[PhaseOfCell, EpochCounts]) -> int:
    """Return how many epochs all cells still have to train.

    Args:
        file: The sweep.
        epochs: For each cell, in order, the epochs of a trial that is trained to its end.
        done: Epochs trained so far.
    """
    none = EpochCounts()
    parts = [(each, done.get((k, "search"), none), done.get((k, "retrain"), none)) for k, each in enumerate(epochs)]
    return sum(remaining_epochs_of_cell(file, *part) for part in parts)
